/* SPDX-License-Identifier: Apache-2.0 */
// Z_q[x]/(x^n + 1) by definition, for the harnesses: what the hardware must compute, by a different
// algorithm. n = 2^LOG2_N and the width of the primes, WIDTH, come as macros.
#ifndef CM_RTL_HARNESS_RING_H
#define CM_RTL_HARNESS_RING_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace
{

using word = uint64_t;
using wide = unsigned __int128;
using polynomial = std::vector<word>;

constexpr unsigned N = 1u << LOG2_N;

std::mt19937_64 random_bits;

struct ring {
    word q;
    word psi; // a primitive 2n-th root of unity
};

word multiply(word a, word b, word q)
{
    return static_cast<word>(static_cast<wide>(a) * b % q);
}

word power(word base, word exponent, word q)
{
    word result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1) {
            result = multiply(result, base, q);
        }
        base = multiply(base, base, q);
    }
    return result;
}

bool is_prime(word q)
{
    for (word base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
        if (q % base == 0) {
            return false;
        }
        word odd = q - 1;
        while (odd % 2 == 0) {
            odd /= 2;
        }
        word x = power(base, odd, q);
        while (odd != q - 1 && x != 1 && x != q - 1) {
            x = multiply(x, x, q);
            odd *= 2;
        }
        if (x != q - 1 && odd % 2 == 0) {
            return false;
        }
    }
    return true;
}

ring random_ring()
{
    ring r;
    do {
        r.q = ((word{1} << (WIDTH - 1)) + random_bits() % (word{1} << (WIDTH - 1))) / (2 * N) * (2 * N) + 1;
    } while (r.q >> (WIDTH - 1) != 1 || !is_prime(r.q));
    do {
        r.psi = power(random_bits() % r.q, (r.q - 1) / (2 * N), r.q);
    } while (power(r.psi, N, r.q) != r.q - 1);
    return r;
}

unsigned bit_reverse(unsigned i)
{
    unsigned reversed = 0;
    for (unsigned b = 0; b < LOG2_N; b++) {
        reversed |= (i >> b & 1u) << (LOG2_N - 1 - b);
    }
    return reversed;
}

// Cyclic transform by decimation in time of a(psi x): a different algorithm from the hardware's.
polynomial transform(const polynomial &a, const ring &r)
{
    polynomial x(N);
    for (unsigned i = 0; i < N; i++) {
        x[bit_reverse(i)] = multiply(a[i], power(r.psi, i, r.q), r.q);
    }
    for (unsigned length = 2; length <= N; length *= 2) {
        const word root = power(r.psi, 2 * N / length, r.q);
        for (unsigned start = 0; start < N; start += length) {
            word w = 1;
            for (unsigned j = start; j < start + length / 2; j++) {
                const word even = x[j];
                const word odd = multiply(x[j + length / 2], w, r.q);
                x[j] = (even + odd) % r.q;
                x[j + length / 2] = (even + r.q - odd) % r.q;
                w = multiply(w, root, r.q);
            }
        }
    }
    polynomial result(N);
    for (unsigned i = 0; i < N; i++) {
        result[i] = x[bit_reverse(i)];
    }
    return result;
}

polynomial pointwise(const polynomial &a, const polynomial &b, const ring &r)
{
    polynomial product(N);
    for (unsigned i = 0; i < N; i++) {
        product[i] = multiply(a[i], b[i], r.q);
    }
    return product;
}

polynomial scaled(polynomial a, word factor, const ring &r)
{
    for (word &x : a) {
        x = multiply(x, factor, r.q);
    }
    return a;
}

polynomial random_polynomial(const ring &r)
{
    polynomial a(N);
    for (word &x : a) {
        const word choice = random_bits() % 8;
        x = choice == 0 ? 0 : choice == 1 ? r.q - 1 : random_bits() % r.q;
    }
    return a;
}

// R of cmi_montgomery_multiply, modulo q.
word montgomery_r(const ring &r)
{
    constexpr unsigned words = (WIDTH + LOG2_N) / (LOG2_N + 1);
    constexpr unsigned bits = (WIDTH + words - 1) / words;
    return power(2, words * bits, r.q);
}

void require(bool right, const char *what)
{
    if (!right) {
        std::fprintf(stderr, "%s: the hardware differs from the model\n", what);
        std::exit(1);
    }
}

} // namespace

#endif
