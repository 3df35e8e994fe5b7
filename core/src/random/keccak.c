/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Keccak permutation and SHAKE256 (FIPS 202) of short messages. Lane (x, y) of the state is word x + 5 y.
 *
 * Only exclusive ors, ands and rotations by constants: time depends on lengths alone.
 */
#include "random/keccak.h"
#include "common/bytes.h"
#include "random/xof.h"

#if CM_CONFIG_SEAL_XOFS

#define SHAKE256_RATE_BYTES 136

#if !CM_ARMV7EM

#define KECCAK_ROUNDS 24

static inline uint64_t keccak_rotate(uint64_t lane, unsigned bits)
{
    return lane << bits | lane >> (64 - bits);
}

/* The chi step on one row. */
static void keccak_row(uint64_t out[5], uint64_t b0, uint64_t b1, uint64_t b2, uint64_t b3, uint64_t b4)
{
    out[0] = b0 ^ (~b1 & b2);
    out[1] = b1 ^ (~b2 & b3);
    out[2] = b2 ^ (~b3 & b4);
    out[3] = b3 ^ (~b4 & b0);
    out[4] = b4 ^ (~b0 & b1);
}

/* One round, from one state into another: rho and pi then need no shuffling in place. */
static void keccak_round(uint64_t out[25], const uint64_t in[25], uint64_t round_constant)
{
    uint64_t parity[5], d[5];
    for (unsigned x = 0; x < 5; x++) {
        parity[x] = in[x] ^ in[x + 5] ^ in[x + 10] ^ in[x + 15] ^ in[x + 20];
    }
    d[0] = parity[4] ^ keccak_rotate(parity[1], 1);
    d[1] = parity[0] ^ keccak_rotate(parity[2], 1);
    d[2] = parity[1] ^ keccak_rotate(parity[3], 1);
    d[3] = parity[2] ^ keccak_rotate(parity[4], 1);
    d[4] = parity[3] ^ keccak_rotate(parity[0], 1);

    /* pi: lane (x, y) of the result comes from lane (x + 3 y mod 5, x), rotated by that lane's rho offset. */
    keccak_row(out, in[0] ^ d[0], keccak_rotate(in[6] ^ d[1], 44), keccak_rotate(in[12] ^ d[2], 43),
               keccak_rotate(in[18] ^ d[3], 21), keccak_rotate(in[24] ^ d[4], 14));
    keccak_row(out + 5, keccak_rotate(in[3] ^ d[3], 28), keccak_rotate(in[9] ^ d[4], 20),
               keccak_rotate(in[10] ^ d[0], 3), keccak_rotate(in[16] ^ d[1], 45),
               keccak_rotate(in[22] ^ d[2], 61));
    keccak_row(out + 10, keccak_rotate(in[1] ^ d[1], 1), keccak_rotate(in[7] ^ d[2], 6),
               keccak_rotate(in[13] ^ d[3], 25), keccak_rotate(in[19] ^ d[4], 8),
               keccak_rotate(in[20] ^ d[0], 18));
    keccak_row(out + 15, keccak_rotate(in[4] ^ d[4], 27), keccak_rotate(in[5] ^ d[0], 36),
               keccak_rotate(in[11] ^ d[1], 10), keccak_rotate(in[17] ^ d[2], 15),
               keccak_rotate(in[23] ^ d[3], 56));
    keccak_row(out + 20, keccak_rotate(in[2] ^ d[2], 62), keccak_rotate(in[8] ^ d[3], 55),
               keccak_rotate(in[14] ^ d[4], 39), keccak_rotate(in[15] ^ d[0], 41),
               keccak_rotate(in[21] ^ d[1], 2));
    out[0] ^= round_constant;
}

void cmi_keccak_permute(uint64_t state[25])
{
    static const uint64_t round_constants[KECCAK_ROUNDS] = {
        0x0000000000000001u, 0x0000000000008082u, 0x800000000000808Au, 0x8000000080008000u,
        0x000000000000808Bu, 0x0000000080000001u, 0x8000000080008081u, 0x8000000000008009u,
        0x000000000000008Au, 0x0000000000000088u, 0x0000000080008009u, 0x000000008000000Au,
        0x000000008000808Bu, 0x800000000000008Bu, 0x8000000000008089u, 0x8000000000008003u,
        0x8000000000008002u, 0x8000000000000080u, 0x000000000000800Au, 0x800000008000000Au,
        0x8000000080008081u, 0x8000000000008080u, 0x0000000080000001u, 0x8000000080008008u,
    };
    uint64_t other[25];
    for (unsigned i = 0; i < KECCAK_ROUNDS; i += 2) {
        keccak_round(other, state, round_constants[i]);
        keccak_round(state, other, round_constants[i + 1]);
    }
}

#endif

void cmi_keccak_f1600(uint64_t state[25])
{
    for (unsigned i = 0; i < 25; i++) {
        state[i] = cmi_keccak_enter(state[i], i);
    }
    cmi_keccak_permute(state);
    for (unsigned i = 0; i < 25; i++) {
        state[i] = cmi_keccak_leave(state[i], i);
    }
}

void cmi_shake256(uint8_t *out, size_t length, const uint8_t *message, size_t message_bytes)
{
    uint64_t state[25] = {0};
    for (size_t i = 0; i < message_bytes; i++) {
        state[i / 8] |= (uint64_t)message[i] << (8 * (i % 8));
    }
    /* SHAKE's suffix 1111 and the padding's first 1; the padding's last 1 ends the rate. */
    state[message_bytes / 8] ^= (uint64_t)0x1F << (8 * (message_bytes % 8));
    state[SHAKE256_RATE_BYTES / 8 - 1] ^= (uint64_t)1 << 63;
    for (unsigned i = 0; i < SHAKE256_RATE_BYTES / 8; i++) {
        state[i] = cmi_keccak_enter(state[i], i);
    }

    while (length > 0) {
        cmi_keccak_permute(state);
        for (unsigned i = 0; i < SHAKE256_RATE_BYTES / 8 && length > 0; i++) {
            const size_t bytes = length < 8 ? length : 8;
            cmi_store64_first(out, cmi_keccak_leave(state[i], i), bytes);
            out += bytes;
            length -= bytes;
        }
    }
}

#endif
