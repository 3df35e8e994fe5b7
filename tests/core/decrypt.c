/* SPDX-License-Identifier: Apache-2.0 */
#include "decrypt.h"

#include <string.h>

/* No set up to TEST_N has more data primes than this. */
#define MOST_PRIMES (TEST_N / 1024u)

static uint32_t phase[MOST_PRIMES * TEST_N]; /* [prime][n]: c0 + c1 s, in NTT form */
static uint32_t secret[TEST_N];              /* s at secret_prime, in NTT form */
static uint32_t roots[TEST_N];               /* roots[i] = psi^bitrev(i) at that prime */
static uint32_t terms[TEST_N];               /* intermediate residues */
static double coefficients[TEST_N];
static uint32_t integers[TEST_N];

static const cm_params *params;
static const uint8_t *packed;
static bool in_ntt_form;
static unsigned secret_prime;
static size_t taken;
static bool in_range;

static size_t ring_degree(void)
{
    return (size_t)1 << params->log2_n;
}

static uint32_t multiply(uint32_t a, uint32_t b, uint32_t q)
{
    return (uint32_t)((uint64_t)a * b % q);
}

static uint32_t power(uint32_t a, uint32_t exponent, uint32_t q)
{
    uint32_t result = 1;
    for (; exponent > 0; exponent /= 2) {
        result = exponent % 2 == 1 ? multiply(result, a, q) : result;
        a = multiply(a, a, q);
    }
    return result;
}

static uint32_t inverse(uint32_t a, uint32_t q)
{
    return power(a, q - 2, q);
}

static size_t bit_reversed(size_t x)
{
    size_t reversed = 0;
    for (unsigned bit = 0; bit < params->log2_n; bit++) {
        reversed = 2 * reversed + (x >> bit) % 2;
    }
    return reversed;
}

static void find_roots(const cm_prime *prime)
{
    uint32_t root = 1;
    for (size_t exponent = 0; exponent < ring_degree(); exponent++) {
        roots[bit_reversed(exponent)] = root;
        root = multiply(root, prime->psi, prime->q);
    }
}

/* x^(2h) - r^2 = (x^h - r)(x^h + r), until the factors are linear. */
static void transform(uint32_t *a, uint32_t q)
{
    for (size_t blocks = 1, half = ring_degree() / 2; half > 0; blocks *= 2, half /= 2) {
        for (size_t block = 0; block < blocks; block++) {
            uint32_t *low = a + 2 * half * block;
            for (size_t i = 0; i < half; i++) {
                const uint32_t product = multiply(low[half + i], roots[blocks + block], q);
                low[half + i] = (low[i] + q - product) % q;
                low[i] = (low[i] + product) % q;
            }
        }
    }
}

/*
 * The same steps backwards. As psi^n = -1, minus the inverse of a block's root is the root of the block at
 * the same distance from the level's end.
 */
static void transform_back(uint32_t *a, uint32_t q)
{
    const size_t n = ring_degree();
    for (size_t blocks = n / 2, half = 1; blocks > 0; blocks /= 2, half *= 2) {
        for (size_t block = 0; block < blocks; block++) {
            const uint32_t minus_inverse = roots[2 * blocks - 1 - block];
            uint32_t *low = a + 2 * half * block;
            for (size_t i = 0; i < half; i++) {
                const uint32_t difference = (low[half + i] + q - low[i]) % q;
                low[i] = (low[i] + low[half + i]) % q;
                low[half + i] = multiply(difference, minus_inverse, q);
            }
        }
    }
    const uint32_t scale = inverse((uint32_t)(n % q), q);
    for (size_t i = 0; i < n; i++) {
        a[i] = multiply(a[i], scale, q);
    }
}

static void prepare_secret(unsigned index)
{
    const cm_prime *prime = &params->primes[index];
    for (size_t i = 0; i < ring_degree(); i++) {
        secret[i] = (((uint32_t)packed[i / 4] >> 2 * (i % 4) & 3u) + prime->q - 1u) % prime->q;
    }
    find_roots(prime);
    transform(secret, prime->q);
    secret_prime = index;
}

void decrypt_open(const cm_params *set, const uint8_t *ternary, bool ntt_form)
{
    params = set;
    packed = ternary;
    in_ntt_form = ntt_form;
    secret_prime = CM_MAX_PRIMES;
    taken = 0;
    in_range = set->data_primes <= MOST_PRIMES;
    memset(phase, 0, sizeof phase);
}

void decrypt_residues(unsigned component, unsigned prime, size_t first, const uint32_t *residues,
                      size_t count)
{
    in_range = in_range && component < 2 && prime < params->data_primes && first + count <= ring_degree();
    if (!in_range) {
        return;
    }
    const uint32_t q = params->primes[prime].q;
    if (secret_prime != prime) {
        prepare_secret(prime);
    }
    for (size_t i = 0; i < count; i++) {
        in_range = in_range && residues[i] < q;
        terms[i] = residues[i] % q;
    }
    if (!in_ntt_form) {
        in_range = in_range && count == ring_degree();
        transform(terms, q);
    }
    uint32_t *sum = phase + prime * ring_degree() + first;
    for (size_t i = 0; i < count; i++) {
        const uint32_t term = component == 0 ? terms[i] : multiply(terms[i], secret[first + i], q);
        sum[i] = (sum[i] + term) % q;
    }
    taken += count;
}

/* Garner: the number below the primes' product with these residues, as d_0 + q_0 (d_1 + q_1 (d_2 + ..)). */
static double joined(uint32_t *residues, uint32_t inverses[][MOST_PRIMES])
{
    double value = 0;
    for (unsigned j = 0; j < params->data_primes; j++) {
        const uint32_t q = params->primes[j].q;
        for (unsigned i = 0; i < j; i++) {
            residues[j] = multiply((residues[j] + q - residues[i] % q) % q, inverses[i][j], q);
        }
    }
    for (unsigned j = params->data_primes; j-- > 0;) {
        value = value * params->primes[j].q + residues[j];
    }
    return value;
}

/* The one of the two numbers with these residues that is nearer to zero. */
static double centred(size_t place, uint32_t inverses[][MOST_PRIMES])
{
    uint32_t plus[MOST_PRIMES];
    uint32_t minus[MOST_PRIMES];
    for (unsigned i = 0; i < params->data_primes; i++) {
        const uint32_t q = params->primes[i].q;
        plus[i] = phase[i * ring_degree() + place];
        minus[i] = (q - plus[i]) % q;
    }
    const double positive = joined(plus, inverses);
    const double negative = joined(minus, inverses);
    return positive < negative ? positive : -negative;
}

bool decrypt_close(void)
{
    static uint32_t inverses[MOST_PRIMES][MOST_PRIMES]; /* [i][j]: of prime i modulo prime j */
    const size_t n = ring_degree();
    if (!in_range || taken != 2 * n * params->data_primes) {
        return false;
    }
    for (unsigned j = 0; j < params->data_primes; j++) {
        const cm_prime *prime = &params->primes[j];
        find_roots(prime);
        transform_back(phase + j * n, prime->q);
        for (unsigned i = 0; i < j; i++) {
            inverses[i][j] = inverse(params->primes[i].q % prime->q, prime->q);
        }
    }
    for (size_t i = 0; i < n; i++) {
        coefficients[i] = centred(i, inverses);
    }
    return true;
}

static test_complex product(test_complex a, test_complex b)
{
    const test_complex result = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return result;
}

/* exp(i pi exponent / n), for an exponent below 2n: the exponential series within a quadrant, then quarter
   turns. */
static test_complex root_of_unity(uint32_t exponent)
{
    const uint32_t quadrant = (uint32_t)ring_degree() / 2;
    const test_complex quarter_turn = {0, 1};
    const test_complex turn = {0, 3.14159265358979323846 * (exponent % quadrant) / (double)ring_degree()};
    test_complex term = {1, 0};
    test_complex sum = {0, 0};
    for (unsigned i = 1; i < 30; i++) {
        sum.re += term.re;
        sum.im += term.im;
        term = product(term, turn);
        term.re /= i;
        term.im /= i;
    }
    for (; exponent >= quadrant; exponent -= quadrant) {
        sum = product(sum, quarter_turn);
    }
    return sum;
}

test_complex decrypt_slot(uint32_t slot)
{
    const test_complex root = root_of_unity(power(3, slot, 2 * (uint32_t)ring_degree()));
    test_complex value = {0, 0};
    for (size_t i = ring_degree(); i-- > 0;) {
        value = product(value, root);
        value.re += coefficients[i];
    }
    return value;
}

const uint32_t *decrypt_integers(uint32_t t)
{
    double q = 1;
    for (unsigned j = 0; j < params->data_primes; j++) {
        q *= params->primes[j].q;
    }
    for (size_t i = 0; i < ring_degree(); i++) {
        const double scaled = t * (coefficients[i] / q) + t; /* above t/2 */
        integers[i] = (uint32_t)(scaled + 0.5) % t;
    }
    return integers;
}

/* The least root of unity of order 2n modulo t: SEAL's. */
static uint32_t least_root(unsigned log2_n, uint32_t t)
{
    uint32_t root = 2;
    while (root < t && power(root, (uint32_t)1 << log2_n, t) != t - 1) {
        root++;
    }
    return root;
}

uint32_t batched_value(const uint32_t *m, unsigned log2_n, uint32_t slot, uint32_t t)
{
    const uint32_t n = (uint32_t)1 << log2_n;
    const uint32_t exponent = power(3, slot % (n / 2), 2 * n);
    const uint32_t root = power(least_root(log2_n, t), slot < n / 2 ? exponent : 2 * n - exponent, t);
    uint32_t value = 0;
    for (size_t i = n; i-- > 0;) {
        value = (multiply(value, root, t) + m[i]) % t;
    }
    return value;
}
