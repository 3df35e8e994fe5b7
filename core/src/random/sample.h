/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samplers: uniform residues from a public seed, uniform ternary and centred binomial coefficients from a
 * secret stream.
 *
 * The secret ones read a fixed number of bytes and run in time that depends on nothing but the length.
 */
#ifndef CM_RANDOM_SAMPLE_H
#define CM_RANDOM_SAMPLE_H

#include <stdint.h>

#include "ciphermote/params.h"
#include "common/names.h"
#include "random/xof.h"

CMI_HIDDEN_BEGIN

/* First nonce word of every ChaCha20 stream: no two uses of one key ever share a stream. */
enum cmi_label {
    CM_LABEL_UNIFORM = 1, /* key: public seed; second word: prime */
    CM_LABEL_TERNARY = 2, /* key: secret seed */
    CM_LABEL_NOISE = 3,   /* key: secret seed; second word: component */
    CM_LABEL_DERIVE = 4,  /* key: device secret; second word and block counter: the ciphertext's counter */
    CM_LABEL_PUBLIC_SEED = 5, /* key: derived key xor randomness */
    CM_LABEL_SECRET_SEED = 6, /* key: derived key xor randomness */
    CM_LABEL_DRAW_CHECK = 7,  /* key: randomness */
    CM_LABEL_KEY_PUBLIC = 8,  /* key: key generation seed */
    CM_LABEL_KEY_SECRET = 9,  /* key: key generation seed */
    CM_LABEL_FLOOD = 10       /* key: secret seed */
};

/*
 * A whole polynomial of residues need not be held: they are read in blocks of this many, which divides every
 * n.
 */
#define CM_SAMPLE_BLOCK 32

/* Where a pointer would keep the prime's constants in RAM. */
#define CM_UNIFORM_KEEPS_Q (CM_PRIME_BITS != 0 && !CM_CONFIG_SEAL_XOFS)

/*
 * The expansion of a public seed into uniform residues, prime after prime.
 *
 * ChaCha20: prime i's stream is (key = seed, nonce = {UNIFORM, i, 0}), a string of bits, low bits first; it
 * is cut into fields of as many bits as q has, and a field that is not below q is skipped.
 * SHAKE256, BLAKE2Xb: as SEAL expands them (8 bytes a residue, prime-major, x mod q; x >= limit is replaced
 * by the next 8 bytes after the 8 * n * primes bulk bytes of the polynomial).
 */
typedef struct cmi_uniform {
#if CM_CONFIG_SEAL_XOFS
    cm_xof_kind kind : 8;
#endif
    const uint8_t *seed; /* the caller keeps it alive */
    uint8_t log2_n;
#if CM_UNIFORM_KEEPS_Q
    uint32_t q;
#else
    const cm_prime *prime;
#endif
#if CM_PRIME_BITS == 0
    uint8_t bits; /* ChaCha20: of q; at most 31 */
#endif
    uint8_t pending_bits;
    uint32_t pending; /* ChaCha20: drawn but not used, pending_bits of it */
    union {
        cmi_stream chacha;
#if CM_CONFIG_SEAL_XOFS
        cmi_seal_stream seal;
#endif
    } stream;
#if CM_CONFIG_SEAL_XOFS
    uint64_t limit;        /* reject x >= limit */
    uint64_t replacements; /* byte position of the next replacement */
#endif
} cmi_uniform;

static inline uint32_t cmi_uniform_q(const cmi_uniform *uniform)
{
#if CM_UNIFORM_KEEPS_Q
    return uniform->q;
#else
    return uniform->prime->q;
#endif
}

static inline unsigned cmi_uniform_bits(const cmi_uniform *uniform)
{
#if CM_PRIME_BITS != 0
    (void)uniform;
    return CM_PRIME_BITS;
#else
    return uniform->bits;
#endif
}

/* Start an expansion for polynomials of `primes` residues each. Then, for each prime in turn from 0:
   begin_prime, reads. */
void cmi_uniform_init(cmi_uniform *uniform, cm_xof_kind kind, const uint8_t *seed, unsigned log2_n,
                      unsigned primes);
void cmi_uniform_begin_prime(cmi_uniform *uniform, const cm_prime *prime, unsigned index);
/* The next count residues. More at a time take fewer calls of the XOF; the sequence is the same. */
void cmi_uniform_values(cmi_uniform *uniform, uint32_t *residues, uint32_t count);

/* The next CM_SAMPLE_BLOCK residues. */
static inline void cmi_uniform_read(cmi_uniform *uniform, uint32_t residues[CM_SAMPLE_BLOCK])
{
    cmi_uniform_values(uniform, residues, CM_SAMPLE_BLOCK);
}

/* A whole polynomial at one prime: begin_prime and n residues. */
static inline void cmi_uniform_polynomial(cmi_uniform *uniform, const cm_prime *prime, unsigned index,
                                          uint32_t *residues)
{
    cmi_uniform_begin_prime(uniform, prime, index);
    cmi_uniform_values(uniform, residues, (uint32_t)1 << uniform->log2_n);
}

/* n uniform ternary coefficients, packed as in ciphermote/keys.h. Reads n/2 bytes; docs/encoding.md, section
   6. */
void cmi_sample_ternary(cmi_stream *stream, uint8_t *packed, uint32_t n);

/*
 * CM_SAMPLE_BLOCK centred binomial coefficients, from CM_CBD_BLOCK_BYTES bytes; docs/encoding.md, section 6.
 */
#define CM_CBD_ETA 21
#define CM_CBD_BLOCK_BYTES 168
void cmi_sample_cbd(cmi_stream *stream, int8_t noise[CM_SAMPLE_BLOCK]);

/* The same coefficients, CM_SAMPLE_BLOCKS blocks at once: less time and more stack. */
#define CM_SAMPLE_BLOCKS 4
void cmi_sample_cbd_blocks(cmi_stream *stream, int8_t noise[CM_SAMPLE_BLOCKS * CM_SAMPLE_BLOCK]);

CMI_HIDDEN_END

#endif
