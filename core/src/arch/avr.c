/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for AVR around the assembly in arch/avr. */
#include "arch/backends.h"

#if CM_AVR

#include <string.h>

#include "ciphermote/frame.h"
#include "common/compiler.h"
#include "common/wipe.h"
#include "random/sample.h"
#include "ring/ring.h"

CMI_HIDDEN_BEGIN

/*
 * A level of the forward transform: blocks of 2 half signed values. *first is the first block's root; step[t]
 * leads from the root of block i to that of block i + 1, where i ends in t ones.
 */
void cmi_avr_forward_level26(uint32_t *a, uint16_t half, uint16_t blocks, const uint32_t *first,
                             const uint32_t *step);

/* Seven words into the counters that noise holds meanwhile, inverted or not. */
#define CBD_STEP 28
void cmi_avr_cbd_count(int8_t *noise, const uint8_t words[CBD_STEP], uint8_t inversion);
/* From counters to coefficients, less the centre. */
void cmi_avr_cbd_spread(int8_t *noise, uint8_t centre);

#define GROUP 4 /* residues */
#define GROUP_BYTES 13
void cmi_avr_pack26(uint8_t out[GROUP_BYTES], const uint32_t residues[GROUP]);

CMI_HIDDEN_END

/*
 * The assembly's values are signed, above -11 q (ring.S). To lift them over 0, 12 q is added to the first
 * coefficient alone, and through it to every result: the first value of a block is never multiplied.
 */
int cmi_avr_ntt_forward(uint32_t *a, const cmi_ring *ring)
{
    if (ring->prime->q != CM_AVR_Q) {
        return 0;
    }
    a[0] += 12u * CM_AVR_Q;
    for (unsigned level = ring->log2_tiles; level < ring->log2_n; level++) {
        cmi_avr_forward_level26(a, (uint16_t)1 << (ring->log2_n - level - 1u),
                                (uint16_t)1 << (level - ring->log2_tiles), &ring->first[level], ring->step);
    }
    return 1;
}

/* The minus words are inverted: their zeros make the sum the coefficient plus CM_CBD_ETA. */
void cmi_avr_sample_cbd(cmi_stream *stream, int8_t noise[CM_SAMPLE_BLOCK])
{
    uint8_t words[CBD_STEP];
    memset(noise, 0, CM_SAMPLE_BLOCK);
    for (uint8_t step = 0; step < CM_CBD_BLOCK_BYTES / CBD_STEP; step++) {
        cmi_avr_cbd_count(noise, cmi_stream_view(stream, words, sizeof words),
                          step < CM_CBD_BLOCK_BYTES / CBD_STEP / 2 ? 0 : 255);
    }
    cmi_avr_cbd_spread(noise, CM_CBD_ETA);
    cmi_wipe(words, sizeof words);
}

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
