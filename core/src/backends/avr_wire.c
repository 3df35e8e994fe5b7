/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for AVR, frames: around the assembly of this folder. */
#include "arch/backends.h"

#if CM_AVR

#include <string.h>

#include "common/compiler.h"
#include "wire/frame.h"

CMI_HIDDEN_BEGIN

#define GROUP 4 /* residues */
#define GROUP_BYTES 13
void cmi_avr_pack26(uint8_t out[GROUP_BYTES], const uint32_t residues[GROUP]);

CMI_HIDDEN_END

/* Out of line, where registers suffice. */
CM_NOINLINE int cmi_avr_pack(cm_status *status, cm_frame_writer *writer, const uint32_t *residues,
                             uint32_t count, unsigned bits)
{
    if (bits != 26u) {
        return 0;
    }
    *status = CM_OK;
    uint8_t *const piece = writer->piece;
    uint8_t filled = writer->filled;
    for (uint16_t left = (uint16_t)count / GROUP; left > 0; left--) {
        uint8_t bytes[GROUP_BYTES];
        cmi_avr_pack26(bytes, residues);
        residues += GROUP;
        const uint8_t room = (uint8_t)(CM_FRAME_PIECE_BYTES - filled);
        const uint8_t fitting = room < GROUP_BYTES ? room : GROUP_BYTES;
        memcpy(piece + filled, bytes, fitting);
        filled = (uint8_t)(filled + fitting);
        if (filled == CM_FRAME_PIECE_BYTES) {
            cmi_frame_fill(writer, piece + writer->filled, piece + filled);
            if (cmi_frame_send(writer) != CM_OK) {
                *status = CM_ERR_SINK;
                return 1;
            }
            filled = (uint8_t)(GROUP_BYTES - fitting);
            memcpy(piece, bytes + fitting, filled);
        }
    }
    cmi_frame_fill(writer, piece + writer->filled, piece + filled);
    return 1;
}

#endif
