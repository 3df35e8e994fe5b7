/* SPDX-License-Identifier: Apache-2.0 */
/* The library's back-end for the client engine: CM_ARCH_HEADER. */
#ifndef CLIENT_ARCH_H
#define CLIENT_ARCH_H

#include "arch/api.h"

int client_encrypt(cm_status *status, const void *key, bool public_key, const cm_encryptor_setup *setup,
                   const cm_message_source *source);

static const cmi_arch client_arch = {.encrypt = client_encrypt};
#define CM_ARCH client_arch

#endif
