/* SPDX-License-Identifier: Apache-2.0 */
/* A decryptor, for back-ends that gather its frames. */
#ifndef CM_PROTOCOL_DECRYPTOR_H
#define CM_PROTOCOL_DECRYPTOR_H

#include <stddef.h>
#include <stdint.h>

#include "ciphermote/decryptor.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/* cm_decryptor_feed in portable C. The status is also that of the decryption, which its end returns. */
CM_MUST_CHECK cm_status cmi_decryptor_feed(cm_decryptor *decryptor, const uint8_t *bytes, size_t length);

CMI_HIDDEN_END

#endif
