/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for AVR, frames: around the assembly in arch/avr. */
#include "arch/backends.h"

#if CM_AVR

#include "ciphermote/frame.h"
#include "common/compiler.h"

CMI_HIDDEN_BEGIN

#define GROUP 4 /* residues */
#define GROUP_BYTES 13
void cmi_avr_pack26(uint8_t out[GROUP_BYTES], const uint32_t residues[GROUP]);

CMI_HIDDEN_END

/* What lies from state->at on is new to the check sum. */
CM_NOINLINE static void sum_up(cmi_pack_state *state, uint8_t *to)
{
    state->crc = cm_crc32c(state->crc, state->at, (size_t)(to - state->at));
    state->at = to;
}

CM_NOINLINE static void send_piece(cmi_pack_state *state)
{
    sum_up(state, state->end);
    state->at = state->piece;
    state->refused =
        state->sink.write(state->sink.context, state->piece, (size_t)(state->end - state->piece)) != 0;
}

/* Out of line, where registers suffice. */
CM_NOINLINE int cmi_avr_pack(cmi_pack_state *state, const uint32_t *residues, uint32_t count, unsigned bits)
{
    if (bits != 26u) {
        return 0;
    }
    uint8_t *const end = state->end;
    uint8_t *at = state->at;
    for (uint16_t left = (uint16_t)count / GROUP; left > 0; left--) {
        uint8_t bytes[GROUP_BYTES];
        cmi_avr_pack26(bytes, residues);
        residues += GROUP;
        for (uint8_t i = 0; i < GROUP_BYTES; i++) {
            *at++ = bytes[i];
            if (at == end) {
                send_piece(state);
                if (state->refused) {
                    return 1;
                }
                at = state->piece;
            }
        }
    }
    sum_up(state, at);
    return 1;
}

#endif
