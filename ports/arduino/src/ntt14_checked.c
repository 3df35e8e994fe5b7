/* SPDX-License-Identifier: Apache-2.0 */
/* The transforms of ntt14.h behind a check of what they are given, and access to packed residues. */
#include "ntt14.h"

#if CM_AVR_MUL

#include <avr/pgmspace.h>

static uint16_t modulus(const cm_avr_ntt14 *table)
{
    return (uint16_t)((uint16_t)pgm_read_byte(&table->k) << 8 | 1u);
}

/* Whether all of a is below q, in a time that depends on n alone. As q < 2^15, bit 15 of a[i] or of q - 1 -
   a[i] is set otherwise. */
static cm_status check_residues(const uint16_t *a, const cm_avr_ntt14 *table)
{
    const uint16_t largest = (uint16_t)(modulus(table) - 1u);
    uint16_t bits = 0;
    for (uint16_t left = (uint16_t)1 << pgm_read_byte(&table->log2_n); left > 0; left--) {
        const uint16_t value = *a++;
        bits |= (uint16_t)((largest - value) | value);
    }
    return bits >> 15 ? CM_ERR_RESIDUE : CM_OK;
}

cm_status cm_ntt14_forward(uint16_t *a, const cm_avr_ntt14 *table)
{
    const cm_status status = check_residues(a, table);
    if (status == CM_OK) {
        cm_avr_ntt14_forward(a, table);
    }
    return status;
}

cm_status cm_ntt14_inverse(uint16_t *a, const cm_avr_ntt14 *table)
{
    const cm_status status = check_residues(a, table);
    if (status == CM_OK) {
        cm_avr_ntt14_inverse(a, table);
    }
    return status;
}

static cm_status check_both(const uint16_t *a, const uint16_t *b, const cm_avr_ntt14 *table)
{
    const cm_status status = check_residues(a, table);
    return status == CM_OK ? check_residues(b, table) : status;
}

cm_status cm_ntt14_multiply(uint16_t *a, const uint16_t *b, const cm_avr_ntt14 *table)
{
    const cm_status status = check_both(a, b, table);
    if (status == CM_OK) {
        cm_avr_ntt14_multiply(a, b, table);
    }
    return status;
}

cm_status cm_ntt14_product(uint16_t *a, uint16_t *b, const cm_avr_ntt14 *table)
{
    const cm_status status = a == b ? CM_ERR_ARGUMENT : check_both(a, b, table);
    if (status == CM_OK) {
        cm_avr_ntt14_forward(a, table);
        cm_avr_ntt14_forward(b, table);
        cm_avr_ntt14_multiply(a, b, table);
        cm_avr_ntt14_inverse(a, table);
    }
    return status;
}

#define GROUP 4
#define GROUP_BYTES 7

uint16_t cm_ntt14_packed_get(const uint8_t *packed, uint16_t index)
{
    const uint8_t *group = packed + index / GROUP * GROUP_BYTES;
    const uint8_t place = index % GROUP;
    const uint8_t upper = place < 3 ? group[4 + place] & 0x3F
                                    : (uint8_t)(group[4] >> 6 | (group[5] >> 6 << 2) | (group[6] >> 6 << 4));
    return (uint16_t)((uint16_t)upper << 8 | group[place]);
}

void cm_ntt14_packed_set(uint8_t *packed, uint16_t index, uint16_t residue)
{
    uint8_t *group = packed + index / GROUP * GROUP_BYTES;
    const uint8_t place = index % GROUP;
    const uint8_t upper = (uint8_t)(residue >> 8);
    group[place] = (uint8_t)residue;
    if (place < 3) {
        group[4 + place] = (uint8_t)((group[4 + place] & 0xC0) | upper);
        return;
    }
    for (uint8_t i = 0; i < 3; i++) {
        group[4 + i] = (uint8_t)((group[4 + i] & 0x3F) | (uint8_t)(upper >> 2 * i << 6));
    }
}

#endif
