/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for AVR, frames: around the assembly in arch/avr. */
#include "arch/backends.h"

#if CM_AVR

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
    uint8_t *const end = writer->piece + CM_FRAME_PIECE_BYTES;
    uint8_t *at = writer->piece + writer->filled;
    for (uint16_t left = (uint16_t)count / GROUP; left > 0; left--) {
        uint8_t bytes[GROUP_BYTES];
        cmi_avr_pack26(bytes, residues);
        residues += GROUP;
        for (uint8_t i = 0; i < GROUP_BYTES; i++) {
            *at++ = bytes[i];
            if (at == end) {
                cmi_frame_fill(writer, end);
                *status = cmi_frame_send(writer);
                if (*status != CM_OK) {
                    return 1;
                }
                at = writer->piece;
            }
        }
    }
    cmi_frame_fill(writer, at);
    *status = CM_OK;
    return 1;
}

#endif
