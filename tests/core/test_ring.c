/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic at one prime: transforms against their definition, products against schoolbook ones, and bounds
 * at their limits.
 */
#include <string.h>

#include "build.h"
#include "check.h"
#include "ring/prime.h"
#include "ring/ring.h"
#include "roots.h"

enum { N = 1024 };

static uint32_t a[1 << CM_CONFIG_MAX_LOG2_N];
static uint32_t b[N];
static uint32_t c[N];
static uint32_t d[N];

/* A tile of a ring, with a table of its roots if the build uses one. */
static void open_tile(cmi_ring *ring, const cm_prime *prime, unsigned log2_n, unsigned log2_tiles,
                      unsigned tile)
{
    const cm_params set = {.log2_n = (uint8_t)log2_n, .data_primes = 1, .primes = prime};
    cmi_ring_init(ring, prime, log2_n, test_roots(&set));
    cmi_ring_select_tile(ring, log2_tiles, tile);
}

static void open_ring(cmi_ring *ring, const cm_prime *prime, unsigned log2_n)
{
    open_tile(ring, prime, log2_n, 0, 0);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 4;
}

static void fill(uint32_t *poly, uint32_t n, uint32_t q, uint32_t seed)
{
    for (uint32_t i = 0; i < n; i++) {
        poly[i] = next_random(&seed) % q;
    }
}

static uint32_t power(uint32_t base, uint32_t exponent, uint32_t q)
{
    uint64_t result = 1;
    uint64_t square = base;
    for (; exponent; exponent >>= 1) {
        result = exponent & 1u ? result * square % q : result;
        square = square * square % q;
    }
    return (uint32_t)result;
}

static uint32_t bit_reversed(uint32_t x, unsigned bits)
{
    uint32_t reversed = 0;
    for (unsigned i = 0; i < bits; i++) {
        reversed |= (x >> i & 1u) << (bits - 1u - i);
    }
    return reversed;
}

static uint32_t evaluate(const uint32_t *poly, uint32_t n, uint32_t x, uint32_t q)
{
    uint64_t value = 0;
    for (uint32_t i = n; i-- > 0;) {
        value = (value * x + poly[i]) % q;
    }
    return (uint32_t)value;
}

/* Output i is a(psi^(2 bitrev(i) + 1)), at every set's first and last prime, checked in a few places. */
static void transform_evaluates_at_the_odd_powers_of_psi(void)
{
    const cm_params *sets[CM_PARAMS_COUNT];
    const unsigned count = build_sets(sets);
    for (unsigned s = 0; s < count; s++) {
        const cm_params *params = sets[s];
        const uint32_t n = (uint32_t)1 << params->log2_n;
        for (unsigned p = 0;
             p<params->key_primes; p += params->key_primes> 1 ? params->key_primes - 1u : 1u) {
            const cm_prime *prime = &params->primes[p];
            const uint32_t places[4] = {0, 1, n / 2 + 3, n - 1};
            uint32_t expected[4];
            cmi_ring ring;
            fill(a, n, prime->q, s + 1);
            for (unsigned i = 0; i < 4; i++) {
                uint32_t x = power(prime->psi, 2 * bit_reversed(places[i], params->log2_n) + 1, prime->q);
                expected[i] = evaluate(a, n, x, prime->q);
            }
            open_ring(&ring, prime, params->log2_n);
            cmi_ntt_forward(a, &ring);
            for (unsigned i = 0; i < 4; i++) {
                CHECK(cmi_reduce(a[places[i]], prime) == expected[i]);
            }
        }
    }
}

/* Coefficient i of a tile is the sum of a[j n/T + i] r^j. */
static void fold(uint32_t *out, const uint32_t *poly, const cmi_ring *ring)
{
    const uint32_t points = cmi_ring_points(ring);
    int32_t powers[CM_MAX_TILES];
    cmi_ring_fold_powers(ring, ring->prime->r1, powers);
    for (uint32_t i = 0; i < points; i++) {
        const int64_t q = ring->prime->q;
        int64_t sum = 0;
        for (unsigned j = 0; j < 1u << ring->log2_tiles; j++) {
            sum += cmi_montgomery_reduce_signed((int64_t)poly[j * points + i] * powers[j], ring->prime);
        }
        out[i] = (uint32_t)((sum % q + q) % q);
    }
}

/* At every set's last prime; the tiles of 2^k = 1 .. 16 come one after the other. */
static void tiles_transform_to_slices_of_the_whole(void)
{
    static uint32_t whole[1 << CM_CONFIG_MAX_LOG2_N];
    static uint32_t tile_points[1 << CM_CONFIG_MAX_LOG2_N];
    const cm_params *sets[CM_PARAMS_COUNT];
    const unsigned count = build_sets(sets);
    for (unsigned s = 0; s < count; s++) {
        const cm_params *params = sets[s];
        const cm_prime *prime = &params->primes[params->key_primes - 1];
        const uint32_t n = (uint32_t)1 << params->log2_n;
        cmi_ring ring;
        fill(a, n, prime->q, 31 + s);
        memcpy(whole, a, n * sizeof whole[0]);
        open_ring(&ring, prime, params->log2_n);
        cmi_ntt_forward(whole, &ring);
        for (unsigned log2_tiles = 0; log2_tiles <= CM_MAX_LOG2_TILES; log2_tiles++) {
            const uint32_t points = n >> log2_tiles;
            uint32_t wrong = 0;
            for (unsigned tile = 0; tile < 1u << log2_tiles; tile += log2_tiles < 2 ? 1u : 3u) {
                open_tile(&ring, prime, params->log2_n, log2_tiles, tile);
                fold(tile_points, a, &ring);
                cmi_ntt_forward(tile_points, &ring);
                for (uint32_t i = 0; i < points; i++) {
                    wrong += cmi_reduce(tile_points[i], prime) != cmi_reduce(whole[tile * points + i], prime);
                }
            }
            CHECK(wrong == 0);
        }
    }
}

static void inverse_transform_undoes_the_forward_one(void)
{
    const cm_params *sets[CM_PARAMS_COUNT];
    const unsigned count = build_sets(sets);
    for (unsigned s = 0; s < count; s++) {
        const cm_params *params = sets[s];
        const uint32_t n = (uint32_t)1 << params->log2_n;
        const cm_prime *prime = &params->primes[params->key_primes - 1];
        cmi_ring ring;
        open_ring(&ring, prime, params->log2_n);
        fill(a, n, prime->q, 77 + s);
        cmi_ntt_forward(a, &ring);
        for (uint32_t i = 0; i < n; i++) {
            a[i] = cmi_reduce(a[i], prime);
        }
        cmi_ntt_inverse(a, &ring);
        uint32_t seed = 77 + s;
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < n; i++) {
            wrong += a[i] != next_random(&seed) % prime->q;
        }
        CHECK(wrong == 0);
    }
}

/*
 * At every set's last prime, with 2^k = 1 .. 16 tiles: all of one or two, else every third, from the first
 * on.
 */
static void tiles_transform_back_to_the_folded_coefficients(void)
{
    static uint32_t folded[1 << CM_CONFIG_MAX_LOG2_N];
    static uint32_t exact[1 << CM_CONFIG_MAX_LOG2_N];
    static uint32_t lazy[1 << CM_CONFIG_MAX_LOG2_N];
    const cm_params *sets[CM_PARAMS_COUNT];
    const unsigned count = build_sets(sets);
    for (unsigned s = 0; s < count; s++) {
        const cm_params *params = sets[s];
        const cm_prime *prime = &params->primes[params->key_primes - 1];
        cmi_ring ring;
        fill(a, (uint32_t)1 << params->log2_n, prime->q, 131 + s);
        for (unsigned log2_tiles = 0; log2_tiles <= CM_MAX_LOG2_TILES; log2_tiles++) {
            const uint32_t points = (uint32_t)1 << (params->log2_n - log2_tiles);
            for (unsigned tile = 0; tile < 1u << log2_tiles; tile += log2_tiles < 2 ? 1u : 3u) {
                uint32_t wrong = 0;
                open_tile(&ring, prime, params->log2_n, log2_tiles, tile);
                fold(folded, a, &ring);
                memcpy(exact, folded, points * sizeof exact[0]);
                cmi_ntt_forward(exact, &ring);
                for (uint32_t i = 0; i < points; i++) {
                    exact[i] = cmi_reduce(exact[i], prime) + (i % 2u ? prime->q : 0u);
                }
                memcpy(lazy, exact, points * sizeof lazy[0]);
                cmi_ntt_inverse(exact, &ring);
                cmi_ntt_inverse_lazy(lazy, &ring);
                for (uint32_t i = 0; i < points; i++) {
                    const int64_t found = (int32_t)lazy[i];
                    const int64_t scaled = (int64_t)folded[i] * points;
                    wrong += exact[i] != folded[i] || found > 4 * (int64_t)prime->q ||
                             found < -4 * (int64_t)prime->q || (scaled - found) % (int64_t)prime->q != 0;
                }
                CHECK(wrong == 0);
            }
        }
    }
}

/* The largest sums that inputs within the contract give, at the build's largest n and prime. */
static void inverse_transform_takes_inputs_of_2q(void)
{
    static uint32_t other[1 << CM_CONFIG_MAX_LOG2_N];
    const cm_params *sets[CM_PARAMS_COUNT];
    const cm_params *params = sets[build_sets(sets) - 1u];
    const uint32_t n = (uint32_t)1 << params->log2_n;
    const cm_prime *prime = &params->primes[params->key_primes - 1];
    cmi_ring ring;
    open_ring(&ring, prime, params->log2_n);
    for (uint32_t i = 0; i < n; i++) {
        a[i] = 2u * prime->q;
        other[i] = 2u * prime->q - 1u;
    }
    cmi_ntt_inverse(a, &ring);
    cmi_ntt_inverse(other, &ring);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < n; i++) {
        wrong += a[i] != 0 || other[i] != (i == 0 ? prime->q - 1u : 0u);
    }
    CHECK(wrong == 0);
}

/*
 * The largest input the contract allows, at the build's largest n and prime, must not overflow 32 bits at any
 * level.
 */
static void forward_transform_takes_inputs_just_below_4q(void)
{
    const cm_params *sets[CM_PARAMS_COUNT];
    const cm_params *params = sets[build_sets(sets) - 1u];
    const uint32_t n = (uint32_t)1 << params->log2_n;
    const cm_prime *prime = &params->primes[params->key_primes - 1];
    cmi_ring ring;
    open_ring(&ring, prime, params->log2_n);
    const uint32_t places[3] = {0, 5, n - 1};
    uint32_t expected[3];
    for (uint32_t i = 0; i < n; i++) {
        a[i] = prime->q - 1;
    }
    for (unsigned i = 0; i < 3; i++) {
        uint32_t x = power(prime->psi, 2 * bit_reversed(places[i], params->log2_n) + 1, prime->q);
        expected[i] = evaluate(a, n, x, prime->q);
    }
    for (uint32_t i = 0; i < n; i++) {
        a[i] += 3 * prime->q;
    }
    cmi_ntt_forward(a, &ring);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cmi_reduce(a[places[i]], prime) == expected[i]);
    }
}

static void reduction_covers_all_32_bits(void)
{
    for (unsigned s = 0; s < CM_PARAMS_COUNT; s++) {
        const cm_prime *prime = &cm_params_all[s]->primes[0];
        const uint32_t q = prime->q;
        const uint32_t xs[] = {0, 1, q - 1, q, q + 1, 2 * q - 1, 2 * q, 31 * q, UINT32_MAX - 1, UINT32_MAX};
        for (unsigned i = 0; i < sizeof xs / sizeof xs[0]; i++) {
            CHECK(cmi_reduce(xs[i], prime) == xs[i] % q);
        }
    }
}

/* x^n = -1: the product through the transform equals the schoolbook one. */
static void products_are_negacyclic(void)
{
    const cm_prime *prime = &cm_n1024_q26.primes[0];
    const uint32_t q = prime->q;
    cmi_ring ring;
    open_ring(&ring, prime, 10);
    fill(a, N, q, 5);
    for (uint32_t i = 0; i < N; i++) {
        b[i] = 0;
    }
    b[0] = 3;
    b[1] = q - 1;
    b[N - 1] = 12345;
    for (uint32_t i = 0; i < N; i++) {
        uint64_t sum = 3 * (uint64_t)a[i];
        sum += i ? q - a[i - 1] : a[N - 1];
        sum += 12345 * (i == N - 1 ? (uint64_t)a[0] : (uint64_t)(q - a[i + 1]));
        d[i] = (uint32_t)(sum % q);
    }
    for (uint32_t i = 0; i < N; i++) {
        a[i] = (uint32_t)((uint64_t)a[i] * prime->r1 % q);
    }
    cmi_ntt_forward(a, &ring);
    cmi_ntt_forward(b, &ring);
    for (uint32_t i = 0; i < N; i++) {
        b[i] = cmi_reduce(b[i], prime);
    }
    cmi_multiply(c, a, b, N, prime);
    cmi_ntt_inverse(c, &ring);
    CHECK_BYTES(c, d, sizeof c);
}

/* Whether x 2^32 = y mod q, for a residue x. */
static bool is_montgomery_quotient(uint32_t x, uint64_t y, const cm_prime *prime)
{
    return x < prime->q && (uint64_t)x * prime->r1 % prime->q == y % prime->q;
}

/* Lazy values of every size times residues, the largest of both first, at odd and even counts. */
static void products_are_residues_at_any_count(void)
{
    enum { MOST = 37, GUARD = 4 };
    const cm_prime *primes[3] = {&cm_n1024_q26.primes[0], &cm_n4096_q26x3_p27.primes[2],
                                 &cm_std2018_n16384_q27x15_p27.primes[15]};
    for (unsigned p = 0; p < 3; p++) {
        const cm_prime *prime = primes[p];
        const uint32_t q = prime->q;
        for (uint32_t count = 0; count <= MOST; count++) {
            uint32_t seed = count;
            uint32_t wrong = 0;
            for (uint32_t i = 0; i < MOST + GUARD; i++) {
                a[i] = i == 0 ? 32u * q : next_random(&seed) % (32u * q) >> (i % 5u);
                b[i] = i < 2 ? q - 1 : next_random(&seed) % q;
                c[i] = i < 3 ? 32u * q : next_random(&seed) % (32u * q) >> (i % 3u);
                d[i] = c[i];
            }
            cmi_multiply_add(c, a, b, count, prime);
            for (uint32_t i = 0; i < MOST + GUARD; i++) {
                const uint64_t sum = (uint64_t)(d[i] % q) * prime->r1 + (uint64_t)(a[i] % q) * b[i];
                wrong += i < count ? !is_montgomery_quotient(c[i], sum, prime) : c[i] != d[i];
                d[i] = a[i];
            }
            cmi_multiply(a, a, b, count, prime);
            for (uint32_t i = 0; i < MOST + GUARD; i++) {
                const uint64_t product = (uint64_t)(d[i] % q) * b[i];
                wrong += i < count ? !is_montgomery_quotient(a[i], product, prime) : a[i] != d[i];
            }
            CHECK(wrong == 0);
        }
    }
}

static void double_product_transforms_u_and_multiplies(void)
{
    const cm_prime *prime = &cm_n1024_q26.primes[0];
    static uint8_t u[N / 4];
    static uint32_t e[N];
    uint32_t seed = 9;
    uint32_t wrong = 0;
    cmi_ring ring;
    open_ring(&ring, prime, 10);
    for (unsigned i = 0; i < sizeof u; i++) {
        u[i] = 0;
        for (unsigned j = 0; j < 4; j++) {
            u[i] = (uint8_t)(u[i] | next_random(&seed) % 3u << (2 * j));
        }
    }
    fill(a, N, prime->q, 1);
    fill(b, N, prime->q, 2);
    cmi_double_product(c, d, u, a, b, &ring);
    cmi_ternary_fold(e, u, 1, &ring);
    cmi_ntt_forward(e, &ring);
    for (uint32_t i = 0; i < N; i++) {
        const uint64_t x = cmi_reduce(e[i], prime);
        wrong += c[i] != x * a[i] % prime->q;
        wrong += d[i] != x * b[i] % prime->q;
    }
    CHECK(wrong == 0);
}

static void ternary_digits_are_minus_one_zero_and_one(void)
{
    const cm_prime *prime = &cm_n1024_q26.primes[0];
    static uint8_t u[N / 4];
    cmi_ring ring;
    open_ring(&ring, prime, 10);
    for (unsigned i = 0; i < sizeof u; i++) {
        u[i] = 0 | 1 << 2 | 2 << 4 | 0 << 6;
    }
    cmi_ternary_fold(a, u, 7, &ring);
    const uint32_t expected[4] = {prime->q - 7, 0, 7, prime->q - 7};
    for (unsigned i = 0; i < N; i++) {
        CHECK(a[i] < 4 * prime->q && cmi_reduce(a[i], prime) == expected[i % 4]);
    }
}

static void constants_found_from_a_prime_are_those_of_its_table(void)
{
    for (unsigned s = 0; s < CM_PARAMS_COUNT; s++) {
        const cm_params *params = cm_params_all[s];
        for (unsigned i = 0; i < params->key_primes; i++) {
            cm_prime found;
            CHECK(cmi_prime_init(&found, params->primes[i].q, params->log2_n, NULL));
            CHECK_BYTES(&found, &params->primes[i], sizeof found);
        }
    }
}

/* A ring of half the degree: its root has half the order, and its table half the entries. */
static void a_table_of_another_degree_is_not_taken(void)
{
    cm_prime smaller;
    cm_prime right;
    cm_prime found;
    CHECK(cmi_prime_init(&smaller, 40961, 10, NULL) && cmi_prime_init(&right, 40961, 11, NULL));
    const cm_root *const none = NULL;
    const cm_root_table tables[] = {{40961, smaller.psi, none}, {0, 0, none}};
    CHECK(cmi_prime_init(&found, 40961, 11, tables));
    CHECK_BYTES(&found, &right, sizeof found);
}

static void quotients_are_those_of_division(void)
{
    static const uint32_t divisors[] = {1, 2, 3, 40961, 0x7FFFFFFFu, 0x80000000u, UINT32_MAX};
    static const uint64_t numbers[] = {0,         1, 40960, UINT32_MAX, (uint64_t)1 << 32, (uint64_t)1 << 63,
                                       UINT64_MAX};
    for (unsigned i = 0; i < sizeof divisors / sizeof divisors[0]; i++) {
        for (unsigned j = 0; j < sizeof numbers / sizeof numbers[0]; j++) {
            uint32_t remainder;
            CHECK(cmi_quotient(numbers[j], divisors[i], &remainder) == numbers[j] / divisors[i]);
            CHECK(remainder == numbers[j] % divisors[i]);
        }
    }
}

static void numbers_without_a_transform_have_no_constants(void)
{
    /* small numbers; primes that are not 1 mod 2048; composites that are; a prime above 2^27 */
    const uint32_t refused[] = {0, 1, 2, 2047, 12281, 65521, 2049, 4097, 63489, 12289u * 10241u, 134246401};
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        cm_prime found;
        CHECK(!cmi_prime_init(&found, refused[i], 10, NULL));
    }
    cm_prime found;
    CHECK(cmi_prime_init(&found, 40961, 12, NULL) && !cmi_prime_init(&found, 40961, 13, NULL));
}

void test_ring(void)
{
    RUN(constants_found_from_a_prime_are_those_of_its_table);
    RUN(a_table_of_another_degree_is_not_taken);
    RUN(quotients_are_those_of_division);
    RUN(numbers_without_a_transform_have_no_constants);
    RUN(transform_evaluates_at_the_odd_powers_of_psi);
    RUN(tiles_transform_to_slices_of_the_whole);
    RUN(inverse_transform_undoes_the_forward_one);
    RUN(tiles_transform_back_to_the_folded_coefficients);
    RUN(inverse_transform_takes_inputs_of_2q);
    RUN(forward_transform_takes_inputs_just_below_4q);
    RUN(reduction_covers_all_32_bits);
    RUN(products_are_residues_at_any_count);
    RUN(products_are_negacyclic);
    RUN(double_product_transforms_u_and_multiplies);
    RUN(ternary_digits_are_minus_one_zero_and_one);
}
