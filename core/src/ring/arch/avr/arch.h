/* The back-end for AVR with a multiplier, at the prime 67043329 = 2^26 - 2^16 + 1 alone: ring/avr.c, and ring26.S here. */
#ifndef CM_RING_ARCH_AVR_ARCH_H
#define CM_RING_ARCH_AVR_ARCH_H

#include "ring/ring.h"

#if CM_AVR

/*
 * A level of the forward transform: blocks of 2 half signed values. *first is the first block's root; step[t] leads from
 * the root of block i to that of block i + 1, where i ends in t ones.
 */
void cm_avr_forward_level26(uint32_t *a, uint16_t half, uint16_t blocks, const uint32_t *first,
                            const uint32_t *step);

/* As cm_multiply and cm_multiply_add, for count > 0. */
void cm_avr_multiply26(uint32_t *out, const uint32_t *a, const uint32_t *b, uint16_t count);
void cm_avr_multiply_add26(uint32_t *out, const uint32_t *a, const uint32_t *b, uint16_t count);
void cm_avr_multiply_add26_flash(uint32_t *out, const uint32_t *a, const uint32_t *b, uint16_t count);

/* (start + the sum of w[j] p[j]) / 2^32 mod q, within q of 0, for start and a sum below 2^46 in magnitude. */
int32_t cm_avr_dot26(const uint16_t *w, const int32_t *p, uint8_t terms, const int64_t *start);

/* a[i] += noise[i] p mod q, from below 4q to below 2q, for noise within 21 of 0; factor holds the residues of p and -21 p. */
void cm_avr_noise_add26(uint32_t *a, const int8_t *noise, uint8_t count, const uint32_t factor[2]);

/* As the entries of cm_arch; they decline other primes. */
int cm_avr_ntt_forward(uint32_t *a, const cm_ring *ring);
int cm_avr_multiply(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                    const cm_prime *prime);
int cm_avr_multiply_add(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t count,
                        const cm_prime *prime);

#endif
#endif
