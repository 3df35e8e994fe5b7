/* SPDX-License-Identifier: Apache-2.0 */
/* How frames leave: for what packs residues. */
#ifndef CM_WIRE_FRAME_H
#define CM_WIRE_FRAME_H

#include <stdint.h>

#include "ciphermote/frame.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/* The piece is filled up to there, of which what lies behind `from` is new to the check sum. */
void cmi_frame_fill(cm_frame_writer *writer, const uint8_t *from, const uint8_t *to);

/* Send what the piece holds; it is in the check sum, or is the check sum. */
CM_MUST_CHECK cm_status cmi_frame_send(cm_frame_writer *writer);

CMI_HIDDEN_END

#endif
