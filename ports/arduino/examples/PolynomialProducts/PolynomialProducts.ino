/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long this board takes to transform polynomials modulo 12289 there and back, and to multiply two of them
 * modulo x^n + 1, for each size that fits: n up to 512 on an Uno, up to 1024 on a Mega. Every row has checked
 * its results. It needs no keys.
 */
#include <CiphermoteNtt.h>

#if CIPHERMOTE_NTT_HAS_8_KB
const uint16_t LARGEST = 1024, LARGEST_PRODUCT = 1024;
#else
const uint16_t LARGEST = 512, LARGEST_PRODUCT = 256;
#endif

static uint16_t memory[2 * LARGEST_PRODUCT >= LARGEST ? 2 * LARGEST_PRODUCT : LARGEST];

/* Coefficients that differ: any residues would do. */
static uint16_t coefficient(uint16_t i, uint16_t of)
{
    return (uint32_t)(i + 1) * (of + 7919) % 12289;
}

template <uint16_t n> static void fill(uint16_t (&a)[n], uint16_t of)
{
    for (uint16_t i = 0; i < n; i++) {
        a[i] = coefficient(i, of);
    }
}

/* Coefficient k of the product by definition: x^n is -1. */
static uint16_t expected(uint16_t n, uint16_t k)
{
    uint32_t sum = 0;
    for (uint16_t i = 0; i < n; i++) {
        const uint32_t term = (uint32_t)coefficient(i, 1) * coefficient((k - i) & (n - 1), 2) % 12289;
        sum += i <= k ? term : 12289 - term;
    }
    return sum % 12289;
}

static void print_milliseconds(uint32_t microseconds, uint16_t runs)
{
    Serial.print('\t');
    Serial.print(microseconds / 1000.0 / runs, 3);
}

template <uint16_t n> static bool transforms()
{
    uint16_t(&a)[n] = reinterpret_cast<uint16_t(&)[n]>(memory);
    const uint16_t runs = n < 64 ? 64 : 4;
    fill(a, 1);
    const uint32_t start = micros();
    for (uint16_t i = 0; i < runs; i++) {
        if (CiphermoteNtt<n>::forward(a) != CM_OK || CiphermoteNtt<n>::inverse(a) != CM_OK) {
            return false;
        }
    }
    print_milliseconds(micros() - start, runs);
    for (uint16_t i = 0; i < n; i++) {
        if (a[i] != coefficient(i, 1)) {
            return false;
        }
    }
    return true;
}

template <uint16_t n> static bool product()
{
    uint16_t(&a)[n] = reinterpret_cast<uint16_t(&)[n]>(memory);
    uint16_t(&b)[n] = reinterpret_cast<uint16_t(&)[n]>(memory[n]);
    fill(a, 1);
    fill(b, 2);
    const uint32_t start = micros();
    const cm_status status = CiphermoteNtt<n>::product(a, b);
    print_milliseconds(micros() - start, 1);
    return status == CM_OK && a[0] == expected(n, 0) && a[n / 2] == expected(n, n / 2) &&
           a[n - 1] == expected(n, n - 1);
}

static void end_row(bool right)
{
    Serial.println(right ? "" : "\tWRONG: the arithmetic of this board is faulty");
}

template <uint16_t n> static void row()
{
    Serial.print(n);
    const bool right = transforms<n>();
    end_row(product<n>() && right);
}

template <uint16_t n> static void row_of_transforms()
{
    Serial.print(n);
    end_row(transforms<n>());
}

void setup()
{
    Serial.begin(115200);
    Serial.println(F("n\ttransforms, ms\tproduct, ms"));
    row<1>();
    row<2>();
    row<4>();
    row<8>();
    row<16>();
    row<32>();
    row<64>();
    row<128>();
    row<256>();
#if CIPHERMOTE_NTT_HAS_8_KB
    row<512>();
    row<1024>();
#else
    row_of_transforms<512>();
#endif
    Serial.println(F("done"));
}

void loop()
{
}
