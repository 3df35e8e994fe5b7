/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the client engine the library's back-end: compile the library with
 * -DCM_ARCH_HEADER='"client_arch.h"' (docs/client-soc.md). */
#ifndef CLIENT_ARCH_H
#define CLIENT_ARCH_H

#include "arch/api.h"

int client_encrypt(cm_status *status, const void *key, bool public_key, const cm_encryptor_setup *setup,
                   const cm_message_source *source);
int client_decrypt_begin(cm_decryptor *decryptor, bool expected);
int client_decrypt_feed(cm_decryptor *decryptor, const uint8_t *bytes, size_t length);
int client_decrypt_end(cm_status *status, cm_decryptor *decryptor);
int client_names_key(const uint8_t *ternary);
int client_make_secret_key(cm_status *status, cm_device *device, const cm_params *params, uint8_t *ternary,
                           uint64_t *key_id);
int client_emit_public_key(cm_status *status, const cm_encryptor_setup *setup, const cm_params *params,
                           const uint8_t *ternary, uint64_t key_id);

static const cmi_arch client_arch = {.encrypt = client_encrypt,
                                     .decrypt_begin = client_decrypt_begin,
                                     .decrypt_feed = client_decrypt_feed,
                                     .decrypt_end = client_decrypt_end,
                                     .names_key = client_names_key,
                                     .make_secret_key = client_make_secret_key,
                                     .emit_public_key = client_emit_public_key};
#define CM_ARCH client_arch

#endif
