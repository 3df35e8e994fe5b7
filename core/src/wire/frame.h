/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, for the code that packs residues and for decryptors. */
#ifndef CM_WIRE_FRAME_H
#define CM_WIRE_FRAME_H

#include <stdint.h>

#include "ciphermote/frame.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/*
 * The piece is filled up to `to`; the bytes from `from` on are new to the checksum and to the tag. In a frame
 * with a tag they are a multiple of 16 bytes, unless they are the payload's last.
 */
void cmi_frame_fill(cm_frame_writer *writer, const uint8_t *from, const uint8_t *to);

/* Send what the piece holds, which is already in the checksum, or is the checksum. */
CM_MUST_CHECK cm_status cmi_frame_send(cm_frame_writer *writer);

/* Wipe what the reader knows of the current frame's tag. */
void cmi_frame_reader_wipe(cm_frame_reader *reader);

CMI_HIDDEN_END

#endif
