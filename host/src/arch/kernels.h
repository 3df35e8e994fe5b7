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
#include <span>
#include <string>

namespace ciphermote::arch
{

// A residue w modulo q, centred, and round(w 2^32 / q), or round(w 2^31 / q) for back-ends that want that:
// what a signed lazy product needs (Harvey, "Faster arithmetic for number-theoretic transforms", 2014).
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
    bool reduces;          // forward transforms after three levels: coefficients would grow out of a word
    bool small_sums;       // key switching's sums are within 3/2 q 2^32
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
    const std::uint32_t *key; // [n / lanes][stride][2][lanes], Montgomery form, centred
    unsigned stride;          // digits in the key
};

// The last step of key switching at a data prime: the rounding of the division by P, and what is added.
struct key_correction {
    const std::uint32_t *remainder[2]; // lazy values of the sum modulo P, centred
    std::int32_t factor;               // -1/P in Montgomery form, centred
    const std::uint32_t *addend[2];    // or null
};

struct kernels {
    const char *name;
    unsigned lanes;
    unsigned quotient_bits; // of factors: 32 or 31

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

    // [0, q) to (-q/2, q/2], signed, in place.
    void (*centre)(std::uint32_t *a, const prime &p);
    // Near v[0] / q_0 + v[1] / q_1 + ..., rounded, for up to 33 canonical v of any primes q_k and
    // reciprocals[k] = floor(2^(32 + bits) / q_k) below 2^31: the sum is short by at most count 2^-bits.
    void (*quotients)(std::uint32_t *out, const std::uint32_t *const *v, unsigned count,
                      const std::uint32_t *reciprocals, unsigned bits, std::size_t n);
    // For each target prime, v[0] weights[0] + v[1] weights[1] + ..., for up to 40 canonical v of any primes.
    // weights: [targets][count], modulo the target and in Montgomery form.
    void (*combine)(std::uint32_t *const *out, const prime *const *primes, unsigned targets,
                    const std::uint32_t *const *v, unsigned count, const std::uint32_t *weights);
    // a by - b, for lazy b.
    void (*scale_subtract)(std::uint32_t *out, const std::uint32_t *a, factor by, const std::uint32_t *b,
                           const prime &p);

    // Values to coefficients: of the number's centred mixed-radix digit v[count], given the ones before.
    // radix[j]: 1 / (the prime of v[j]), modulo this one. out may be values.
    void (*inverse_to_digit)(std::uint32_t *out, const std::uint32_t *values, const std::uint32_t *const *v,
                             unsigned count, const factor *radix, const prime &p);
    // The lazy values of v[0] + v[1] weights[0] + v[2] weights[1] + ..., modulo q; each product is below
    // 33/32 q in magnitude. out is none of v.
    void (*lift_to_values)(std::uint32_t *out, const std::uint32_t *const *v, unsigned count,
                           const factor *weights, const prime &p);

    // Key switching: both components' sums. key_finish's out may be the remainders.
    void (*key_sums)(std::uint32_t *const out[2], const struct key_sums &sums, const prime &p);
    void (*key_finish)(std::uint32_t *const out[2], const struct key_sums &sums,
                       const key_correction &correction, const prime &p);

    // out[i] = a[place of i]: vectors[v] says which vector of `lanes` and, in its last bits, which of the
    // in-vector permutations, [lanes][lanes].
    void (*permute)(std::uint32_t *out, const std::uint32_t *a, const std::uint32_t *vectors,
                    const std::uint32_t *in_vector, std::size_t n);

    // Residues that are packed in as many bits each as q has, low bits first, in words of which packed_slack
    // more can be read. False if one of them is not below q.
    bool (*unpack)(std::uint32_t *out, const std::uint32_t *packed, const prime &p);
    // What a public seed of 32 bytes expands to by ChaCha20, in its stream number `index`
    // (docs/wire-format.md). Time depends on the residues, which are public.
    void (*uniform)(std::uint32_t *out, const std::uint32_t seed[8], std::uint32_t index, const prime &p);
    // The same of a seed of 64 bytes as SEAL expands it, by SHAKE256 or BLAKE2Xb, from block `first` of its
    // stream on. False, about once in 2^37 residues, if SEAL would draw one of them again.
    bool (*uniform_of_seal)(std::uint32_t *out, bool shake256, const std::uint64_t seed[8],
                            std::uint64_t first, const prime &p);
};

extern const kernels portable, avx2, avx512, neon, wasm; // a build has those of its processor
constexpr std::size_t packed_slack = 17;                 // the most lanes, and one

extern const kernels portable;
#if defined(__x86_64__)
extern const kernels avx2, avx512;
#endif

// What this machine can run, the fastest first; portable C++ is the last.
std::span<const kernels *const> usable_kernels();
// The one of this name; null if there is none.
const kernels *kernels_by_name(const std::string &name);

} // namespace ciphermote::arch

#endif
