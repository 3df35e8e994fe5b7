/* SPDX-License-Identifier: Apache-2.0 */
/* The back-end for AVR, samplers: around the assembly of this folder. */
#include "arch/backends.h"

#if CM_AVR

#include <string.h>

#include "common/wipe.h"
#include "random/sample.h"

CMI_HIDDEN_BEGIN

/* Add words, inverted or not, to the counters that noise holds meanwhile. */
#if CM_AVR_MUL
#define CBD_STEP 28
#define ADD_WORDS cmi_avr_cbd_count
#else
#define CBD_STEP 4
#define ADD_WORDS cmi_avr_cbd_add
#endif
void ADD_WORDS(int8_t *noise, const uint8_t words[CBD_STEP], uint8_t inversion);
/* From counters to coefficients, less the centre. */
void cmi_avr_cbd_spread(int8_t *noise, uint8_t centre);

CMI_HIDDEN_END

/* The minus words are inverted: their zeros make the sum the coefficient plus CM_CBD_ETA. */
void cmi_avr_sample_cbd(cmi_stream *stream, int8_t noise[CM_SAMPLE_BLOCK])
{
    uint8_t words[CBD_STEP];
    memset(noise, 0, CM_SAMPLE_BLOCK);
    for (uint8_t step = 0; step < CM_CBD_BLOCK_BYTES / CBD_STEP; step++) {
#if CM_AVR_MUL
        const uint8_t *const next = cmi_stream_view(stream, words, sizeof words);
#else
        const uint8_t *const next = words;
        cmi_stream_read(stream, words, sizeof words);
#endif
        ADD_WORDS(noise, next, step < CM_CBD_BLOCK_BYTES / CBD_STEP / 2 ? 0 : 255);
    }
    cmi_avr_cbd_spread(noise, CM_CBD_ETA);
    cmi_wipe(words, sizeof words);
}

#endif
