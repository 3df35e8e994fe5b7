/* SPDX-License-Identifier: Apache-2.0 */
/* Leaks in the test's own code, which must be found: they show that memcheck and the marks work. */
#include "random/sample.h"
#include "watch.h"

static volatile uint32_t seen;
static const volatile uint32_t table[256];

static void a_branch_by_a_secret_is_found(void)
{
    uint8_t secret;
    draw_secret(&secret, 1);
    if (secret & 1u) {
        seen = 1;
    }
    CHECK(new_errors() > 0);
}

static void an_address_by_a_secret_is_found(void)
{
    uint8_t secret;
    draw_secret(&secret, 1);
    seen = table[secret];
    CHECK(new_errors() > 0);
}

/* The sampler of public residues branches on what it reads. */
static void a_secret_given_to_a_function_for_public_data_is_found(void)
{
    uint8_t seed[CM_SEED_BYTES];
    cmi_uniform uniform;
    draw_secret(seed, sizeof seed);
    cmi_uniform_init(&uniform, CM_XOF_CHACHA20, seed, 10, 1);
    cmi_uniform_polynomial(&uniform, cm_n1024_q26.primes, 0, words);
    CHECK(new_errors() > 0);
}

static void a_secret_that_is_emitted_without_a_declaration_is_found(void)
{
    draw_secret(words, sizeof words);
    seen = cm_crc32c(0, (const uint8_t *)words, sizeof words);
    CHECK(new_errors() > 0);
}

const behaviour planted_behaviours[] = {
    BEHAVIOUR_OF(a_branch_by_a_secret_is_found),
    BEHAVIOUR_OF(an_address_by_a_secret_is_found),
    BEHAVIOUR_OF(a_secret_given_to_a_function_for_public_data_is_found),
    BEHAVIOUR_OF(a_secret_that_is_emitted_without_a_declaration_is_found),
    {NULL, NULL},
};
