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

static const cmi_arch client_arch = {.encrypt = client_encrypt,
                                     .decrypt_begin = client_decrypt_begin,
                                     .decrypt_feed = client_decrypt_feed,
                                     .decrypt_end = client_decrypt_end};
#define CM_ARCH client_arch

#endif
