// SPDX-License-Identifier: Apache-2.0
// The hosted library's contract with its back-ends: tables of functions, one for each instruction set, chosen
// when the library first runs. All give the same residues, bit for bit.
//
// Polynomials are n words, aligned to 64 bytes. Residues are in [0, q) unless it says otherwise; values (that
// is, after a transform) are in bit-reversed order, as SEAL has them.
#ifndef CM_HOST_ARCH_KERNELS_H
#define CM_HOST_ARCH_KERNELS_H

#include <cstddef>
#include <cstdint>

namespace ciphermote::arch
{

// A residue w modulo q, centred, and round(w 2^32 / q): what a signed lazy product needs (Harvey, "Faster
// arithmetic for number-theoretic transforms", 2014).
struct factor {
    std::int32_t value;
    std::int32_t quotient;
};

// A prime below 2^27 at one degree, with its roots as a back-end wants them.
struct prime {
    std::uint32_t q;
    unsigned log2_n;
    std::uint32_t q_inv;   // mod 2^32
    unsigned shift;        // of Barrett's estimate: the bits of q, less 2
    std::uint32_t barrett; // floor(2^(bits + 31) / q)
    bool reduces;          // forward transforms halfway, because coefficients would grow out of a word
    factor one;
    factor n_inverse;
    factor last;                 // the root of the last level of the inverse, times 1/n
    const std::int32_t *roots;   // n of them at m + i, for block i of the level with m, and their quotients
    const std::int32_t *late;    // of the levels within `lanes` neighbours, as they are used
    const std::int32_t *inverse; // as roots
    const std::int32_t *late_inverse;
};

// Where key switching's digits, lazy values, and keys lie, for one modulus.
struct key_sums {
    const std::uint32_t *const *digits; // [digits]
    unsigned count;
    const std::uint32_t *key; // [n / lanes][stride][2][lanes], Montgomery form
    unsigned stride;          // digits in the key
};

// The last step of key switching at a data prime: the rounding of the division by P, and what is added.
struct key_correction {
    const std::uint32_t *remainder[2]; // lazy values of the sum modulo P, centred
    std::uint32_t factor;              // -1/P in Montgomery form
    const std::uint32_t *addend[2];    // or null
};

struct kernels {
    const char *name;
    unsigned lanes;

    // Coefficients to values and back, in place. Forward: see context.cpp for how large coefficients may be.
    void (*ntt_forward)(std::uint32_t *a, const prime &p);
    void (*ntt_forward_lazy)(std::uint32_t *a, const prime &p); // signed values, below 2^31 - q
    void (*ntt_inverse)(std::uint32_t *a, const prime &p);

    // out may be an operand.
    void (*add)(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, const prime &p);
    void (*subtract)(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, const prime &p);
    void (*negate)(std::uint32_t *out, const std::uint32_t *a, const prime &p);
    void (*multiply)(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, const prime &p);
    void (*scale)(std::uint32_t *out, const std::uint32_t *a, factor by, const prime &p);
    // (a - b) by, for lazy b.
    void (*subtract_scale)(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *b, factor by,
                           const prime &p);
    // (a0 b0, a0 b1 + a1 b0, a1 b1)
    void (*tensor)(std::uint32_t *const out[3], const std::uint32_t *const a[2],
                   const std::uint32_t *const b[2], const prime &p);

    // Mixed radix: centred digits v[0] .. v[count - 1] of the number with these residues, in their place.
    // radix[i][j]: 1/q_j modulo q_i.
    void (*garner)(std::uint32_t *const *v, unsigned count, const prime *const *primes,
                   const factor (*radix)[4]);
    // v[0] + v[1] weights[0] + v[2] weights[1] + ..., modulo q, signed and lazy: each product is within
    // (-q / 32, 33/32 q).
    void (*lift)(std::uint32_t *out, const std::uint32_t *const *v, unsigned count, const factor *weights,
                 const prime &p);

    // Key switching: both components' sums.
    void (*key_sums)(std::uint32_t *const out[2], const struct key_sums &sums, const prime &p);
    void (*key_finish)(std::uint32_t *const out[2], const struct key_sums &sums,
                       const key_correction &correction, const prime &p);

    // out[i] = a[place of i]: vectors[v] says which vector of `lanes` and, in its last bits, which of the
    // in-vector permutations, [lanes][lanes].
    void (*permute)(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *vectors,
                    const std::uint32_t *in_vector, std::size_t n);
};

extern const kernels portable;
#if defined(__x86_64__)
extern const kernels avx2, avx512;
#endif

// The fastest that this machine can run; or the one of this name, null if there is none.
const kernels &best_kernels();
const kernels *kernels_by_name(const char *name);

} // namespace ciphermote::arch

#endif
