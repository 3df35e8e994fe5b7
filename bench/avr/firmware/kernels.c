/* SPDX-License-Identifier: Apache-2.0 */
/* The library's steps as functions that machine.py can call: 16-bit arguments, and their own ring. */
#include "ring/ring.h"

/* What sets.c has for n = 1024, here so that the image holds no other set. */
static const cm_prime prime = {67043329u, 67043327u, 4194240u, 15994632u, 25439u, 66977857u};
static cmi_ring ring;

void kernel_select_tile(uint16_t log2_n, uint16_t log2_tiles, uint16_t tile);
void kernel_ntt_forward(uint32_t *a);

void kernel_select_tile(uint16_t log2_n, uint16_t log2_tiles, uint16_t tile)
{
    cmi_ring_init(&ring, &prime, log2_n, NULL);
    cmi_ring_select_tile(&ring, log2_tiles, tile);
}

void kernel_ntt_forward(uint32_t *a)
{
    cmi_ntt_forward(a, &ring);
}

int main(void)
{
    for (;;) {
    }
}
