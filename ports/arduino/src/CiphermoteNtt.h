/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Number-theoretic transforms and products of polynomials in a sketch, without encryption. All are
 * negacyclic: polynomials have n coefficients, n a power of two, and products are modulo x^n + 1 and a prime
 * q.
 *
 *     CiphermoteNtt<n>       q = 12289, words of 16 bits, n = 1 to 1024: assembly, for boards with 2 KB on
 *     CiphermotePackedNtt    1024 residues modulo 12289 in 1,792 bytes, so that an Uno transforms them
 *     CiphermoteRing<n>      any prime q below 2^27 that is 1 mod 2048, words of 32 bits, n = 2 to 1024
 *
 * Coefficients are residues, 0 to q - 1. Output i of a transform is the polynomial at psi^(2 bitrev(i) +
 * 1), psi the smallest primitive 2n-th root of unity mod q. Time, branches and addresses depend on n and q
 * alone. What a board's RAM has no room for does not compile. These primes are for schemes of their own:
 * the sets that Ciphermote encrypts with are in ciphermote/params.h.
 */
#ifndef CIPHERMOTE_NTT_H
#define CIPHERMOTE_NTT_H

#include <Arduino.h>

#include "ciphermote/status.h"
#include "ntt14.h"
#include "ntt27.h"

#define CIPHERMOTE_NTT_HAS_8_KB (RAMEND >= 0x1000)

/* The table of one n, where it is in flash. */
template <uint16_t n> struct CiphermoteNttTable;
#define CIPHERMOTE_NTT_TABLE(n) \
    template <> struct CiphermoteNttTable<n> { \
        static const cm_avr_ntt14 *header() \
        { \
            return &cm_avr_ntt14_q12289_n##n.header; \
        } \
    };
CIPHERMOTE_NTT_TABLE(1)
CIPHERMOTE_NTT_TABLE(2)
CIPHERMOTE_NTT_TABLE(4)
CIPHERMOTE_NTT_TABLE(8)
CIPHERMOTE_NTT_TABLE(16)
CIPHERMOTE_NTT_TABLE(32)
CIPHERMOTE_NTT_TABLE(64)
CIPHERMOTE_NTT_TABLE(128)
CIPHERMOTE_NTT_TABLE(256)
CIPHERMOTE_NTT_TABLE(512)
CIPHERMOTE_NTT_TABLE(1024)
#undef CIPHERMOTE_NTT_TABLE

/* Modulo 12289. Every function returns CM_ERR_RESIDUE, with nothing changed, if a value is 12289 or more. */
template <uint16_t n> class CiphermoteNtt
{
    static_assert(n >= 1 && n <= 1024 && (n & (n - 1)) == 0, "CiphermoteNtt<n> takes n = 1, 2, 4, .. 1024.");
    static_assert(n <= 512 || CIPHERMOTE_NTT_HAS_8_KB,
                  "1024 words take all of this board's RAM: use CiphermotePackedNtt.");

  public:
    static const uint16_t modulus = 12289;

    /* From coefficients to values at n points, and back, in place. */
    CM_MUST_CHECK static cm_status forward(uint16_t (&a)[n])
    {
        return cm_ntt14_forward(a, CiphermoteNttTable<n>::header());
    }
    CM_MUST_CHECK static cm_status inverse(uint16_t (&a)[n])
    {
        return cm_ntt14_inverse(a, CiphermoteNttTable<n>::header());
    }

    /* a[i] = a[i] b[i] mod 12289. b may be a. */
    CM_MUST_CHECK static cm_status multiply(uint16_t (&a)[n], const uint16_t (&b)[n])
    {
        return cm_ntt14_multiply(a, b, CiphermoteNttTable<n>::header());
    }

    /* a = a b, polynomials; b is transformed. CM_ERR_ARGUMENT if both are the same array. */
    CM_MUST_CHECK static cm_status product(uint16_t (&a)[n], uint16_t (&b)[n])
    {
        static_assert(
            n <= 256 || CIPHERMOTE_NTT_HAS_8_KB,
            "Two polynomials of this size do not fit in this board's RAM: products take n up to 256.");
        return cm_ntt14_product(a, b, CiphermoteNttTable<n>::header());
    }
};

/* 1024 residues modulo 12289, 14 bits each, all 0 at first. For static objects: a stack has no room. */
class CiphermotePackedNtt
{
  public:
    static const uint16_t size = 1024;
    static const uint16_t modulus = 12289;

    /* CM_ERR_ARGUMENT if index is not below 1024, CM_ERR_RESIDUE if value is not below 12289. */
    CM_MUST_CHECK cm_status set(uint16_t index, uint16_t value)
    {
        if (index >= size) {
            return CM_ERR_ARGUMENT;
        }
        if (value >= modulus) {
            return CM_ERR_RESIDUE;
        }
        cm_ntt14_packed_set(packed_, index, value);
        return CM_OK;
    }

    /* The residue at an index below 1024; modulus, which is no residue, at any other. */
    uint16_t get(uint16_t index) const
    {
        return index < size ? cm_ntt14_packed_get(packed_, index) : modulus;
    }

    void forward()
    {
        cm_avr_ntt14_forward_packed(packed_, CiphermoteNttTable<1024>::header());
    }
    void inverse()
    {
        cm_avr_ntt14_inverse_packed(packed_, CiphermoteNttTable<1024>::header());
    }

  private:
    uint8_t packed_[CM_AVR_NTT14_PACKED_BYTES] = {};
};

/* Modulo a prime that is chosen at run time. */
template <uint16_t n> class CiphermoteRing
{
    static_assert(n >= 2 && n <= 1024 && (n & (n - 1)) == 0, "CiphermoteRing<n> takes n = 2, 4, .. 1024.");
    static_assert(
        n <= 256 || CIPHERMOTE_NTT_HAS_8_KB,
        "A polynomial of this size does not fit in this board's RAM: 32-bit words take n up to 256.");

  public:
    CiphermoteRing() : ntt_()
    {
    }

    /* Must not be copied: it points into itself. */
    CiphermoteRing(const CiphermoteRing &) = delete;
    CiphermoteRing &operator=(const CiphermoteRing &) = delete;

    /* First of all. CM_ERR_PARAMS unless q is a prime below 2^27 and 1 mod 2048: 12289 is the smallest. */
    CM_MUST_CHECK cm_status begin(uint32_t q)
    {
        return cm_ntt27_init(&ntt_, q, log2(n));
    }

    /* As those of CiphermoteNtt, with CM_ERR_PARAMS before begin has returned CM_OK. */
    CM_MUST_CHECK cm_status forward(uint32_t (&a)[n]) const
    {
        return cm_ntt27_forward(a, &ntt_);
    }
    CM_MUST_CHECK cm_status inverse(uint32_t (&a)[n]) const
    {
        return cm_ntt27_inverse(a, &ntt_);
    }
    CM_MUST_CHECK cm_status multiply(uint32_t (&a)[n], const uint32_t (&b)[n]) const
    {
        return cm_ntt27_multiply(a, b, &ntt_);
    }
    CM_MUST_CHECK cm_status product(uint32_t (&a)[n], uint32_t (&b)[n]) const
    {
        static_assert(
            n <= (CIPHERMOTE_NTT_HAS_8_KB ? 512 : 128),
            "Two polynomials of this size do not fit in this board's RAM: 32-bit products take n up to "
            "128 in 2 KB, up to 512 in 8 KB.");
        return cm_ntt27_product(a, b, &ntt_);
    }

  private:
    static constexpr uint8_t log2(uint16_t points)
    {
        return points <= 1 ? 0 : 1 + log2(points / 2);
    }

    cm_ntt27 ntt_;
};

#endif
