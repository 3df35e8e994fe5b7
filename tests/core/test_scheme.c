/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices, seeds and encryption: what decrypts to what, what is refused before a byte is sent, and that seeds
 * never repeat.
 */
#include <string.h>

#include "build.h"
#include "check.h"
#include "encode/ckks.h"
#include "encrypting.h"
#include "platform.h"
#include "random/sample.h"
#include "ring/prime.h"
#include "roots.h"
#include "scheme/seeds.h"
#include "secret_key.h"

enum { N = 1024, SLOTS = N / 2, CALLS = 2 << BUILD_LOG2_TILES };

static const cm_params *const params = &cm_n1024_q26;
static const cm_xof_kind xofs[] = {CM_XOF_CHACHA20, CM_XOF_SHAKE256, CM_XOF_BLAKE2XB};
static const uint8_t key_seed[CM_SEED_BYTES] = {1, 2, 3, 4};

static uint64_t
    arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(N, CM_SLOTS_REAL, BUILD_PRECISION, BUILD_LOG2_TILES) / 8 + 1];
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static uint32_t public_words[2 * N];
static float floats[SLOTS];

/* An emitter that keeps what it receives, and can fail after some calls. */
typedef struct collector {
    cm_emitter emitter;
    uint32_t residues[2][N];
    unsigned calls;
    unsigned fails_at; /* 0: never */
    cm_status failure;
    bool begun;
    bool ended;
} collector;

static collector collected;

static cm_status collect_begin(cm_emitter *self, const cm_ciphertext_info *info)
{
    collector *c = (collector *)(void *)self;
    c->begun = true;
    return info->params ? CM_OK : CM_ERR_ARGUMENT;
}

static cm_status collect_residues(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                                  const uint32_t *residues)
{
    collector *c = (collector *)(void *)self;
    const size_t count = (size_t)N >> self->info.log2_tiles;
    if (++c->calls == c->fails_at) {
        return c->failure;
    }
    if (component < 2 && prime == 0) {
        memcpy(c->residues[component] + tile * count, residues, sizeof *residues * count);
    }
    return CM_OK;
}

static cm_status collect_end(cm_emitter *self)
{
    ((collector *)(void *)self)->ended = true;
    return CM_OK;
}

static cm_emitter *new_collector(void)
{
    memset(&collected, 0, sizeof collected);
    collected.emitter.begin = collect_begin;
    collected.emitter.residues = collect_residues;
    collected.emitter.end = collect_end;
    collected.emitter.expands_seed = true;
    collected.failure = CM_ERR_SINK;
    return &collected.emitter;
}

static cm_ckks_values some_values(void)
{
    cm_ckks_values values;
    memset(&values, 0, sizeof values);
    for (unsigned i = 0; i < SLOTS; i++) {
        floats[i] = (float)((int)(i * 37u % 101u) - 50) / 50;
    }
    values.data = floats;
    values.count = SLOTS;
    values.number = CM_FLOAT32;
    values.slots = CM_SLOTS_REAL;
    values.log2_scale = 18;
    values.precision = BUILD_PRECISION;
    values.largest = 1;
    return values;
}

static cm_secret_key secret_key(void)
{
    CHECK(cm_secret_key_generate(params, key_seed, ternary) == CM_OK);
    return test_secret_key(params, 42, ternary);
}

static cm_flat_public_key flat_key = {public_words, N};

static cm_public_key public_key(void)
{
    const uint8_t seed[CM_SEED_BYTES] = {9, 9};
    const cm_public_key key = {params, 42, cm_flat_public_key_polynomial, &flat_key, test_roots(params)};
    (void)secret_key();
    CHECK(cm_zero_encryption(params, ternary, seed, 0, public_words, public_words + N) == CM_OK);
    return key;
}

/* The largest |c0 + c1 s - m|, as an exact integer; leaves the phase of what was collected. */
static uint32_t largest_noise(const cm_ckks_values *values)
{
    static uint32_t phase[N];
    static uint32_t s[N];
    static uint64_t message_words[SLOTS];
    const cm_prime *prime = &params->primes[0];
    cmi_ckks_message message;
    cmi_ring ring;
    message.data = message_words;
    CHECK(cmi_ckks_encode(params, values, &message) == CM_OK);
    cmi_ring_init(&ring, prime, params->log2_n, NULL);
    CHECK(cm_secret_key_residues(params, ternary, 0, s) == CM_OK);
    for (unsigned i = 0; i < N; i++) {
        phase[i] =
            (uint32_t)((collected.residues[0][i] + (uint64_t)collected.residues[1][i] * s[i]) % prime->q);
    }
    cmi_ntt_inverse(phase, &ring);
    cmi_ckks_message_fold(&message, &ring, s);
    uint32_t largest = 0;
    for (unsigned i = 0; i < N; i++) {
        const uint32_t difference = (phase[i] + 2u * prime->q - s[i]) % prime->q;
        const uint32_t size = difference > prime->q / 2 ? prime->q - difference : difference;
        largest = size > largest ? size : largest;
    }
    return largest;
}

static void symmetric_ciphertexts_decrypt_to_the_message_and_21_units_of_noise_at_most(void)
{
    const cm_secret_key key = secret_key();
    const cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    for (unsigned i = 0; i < 3; i++) {
        const cm_status expected = build_has_xof(xofs[i]) ? CM_OK : CM_ERR_UNSUPPORTED;
        CHECK(test_ckks_symmetric(&device, &key, xofs[i], &values, arena, sizeof arena, new_collector()) ==
              expected);
        if (expected != CM_OK) {
            CHECK(!collected.begun);
            continue;
        }
        CHECK(collected.ended && collected.calls == CALLS);
        const uint32_t noise = largest_noise(&values);
        CHECK(noise > 3 && noise <= 21);
    }
}

static void asymmetric_ciphertexts_decrypt_within_their_noise_in_either_order(void)
{
    const cm_public_key key = public_key();
    const cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    for (unsigned order = 0; order < 2; order++) {
        cm_emitter *emitter = new_collector();
        emitter->component_major = order == 1;
        CHECK(test_ckks_asymmetric(&device, &key, &values, arena, sizeof arena, emitter) == CM_OK);
        CHECK(collected.ended && collected.calls == CALLS);
        const uint32_t noise = largest_noise(&values); /* deviation 3.24 sqrt(4n/3 + 1) = 120 */
        CHECK(noise > 200 && noise < 900);
    }
}

static void the_two_orders_of_emission_give_the_same_ciphertext(void)
{
    static uint32_t first[2][N];
    const cm_public_key key = public_key();
    const cm_ckks_values values = some_values();
    for (unsigned order = 0; order < 2; order++) {
        test_platform platform = {0};
        cm_device device;
        CHECK(test_device_start(&device, &platform) == CM_OK);
        cm_emitter *emitter = new_collector();
        emitter->component_major = order == 1;
        CHECK(test_ckks_asymmetric(&device, &key, &values, arena, sizeof arena, emitter) == CM_OK);
        if (order == 0) {
            memcpy(first, collected.residues, sizeof first);
        }
    }
    CHECK_BYTES(collected.residues, first, sizeof first);
}

static bool arena_is_wiped(void)
{
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof arena / 8; i++) {
        any |= arena[i];
    }
    return any == 0;
}

static void the_arena_is_wiped_whatever_the_outcome(void)
{
    const cm_secret_key key = secret_key();
    cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);

    memset(arena, 0x5A, sizeof arena);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_OK);
    CHECK(arena_is_wiped());

    memset(arena, 0x5A, sizeof arena);
    cm_emitter *emitter = new_collector();
    collected.fails_at = 1;
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena, emitter) ==
          CM_ERR_SINK);
    CHECK(arena_is_wiped() && !collected.ended);

    /* The emitter refuses the arena here, not the encryption. */
    memset(arena, 0x5A, sizeof arena);
    emitter = new_collector();
    collected.fails_at = 1;
    collected.failure = CM_ERR_ARENA;
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena, emitter) ==
          CM_ERR_ARENA);
    CHECK(arena_is_wiped());

    memset(arena, 0x5A, sizeof arena);
    floats[7] = 1000;
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_ERR_VALUE_RANGE);
    CHECK(arena_is_wiped() && !collected.begun);
}

static bool arena_is_untouched(void)
{
    const uint8_t *bytes = (const uint8_t *)arena;
    uint8_t any = 0;
    for (size_t i = 0; i < sizeof arena; i++) {
        any |= (uint8_t)(bytes[i] ^ 0x5A);
    }
    return any == 0;
}

/* The arena then does not belong to the encryptor. */
static void a_setup_that_is_refused_leaves_the_arena_alone_and_encrypts_nothing(void)
{
    const cm_secret_key key = secret_key();
    cm_secret_key no_params = key;
    const cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    no_params.params = NULL;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    memset(arena, 0x5A, sizeof arena);
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = new_collector(),
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = CM_XOF_CHACHA20};
    cm_encryptor_setup wrong = setup;
    cm_encryptor encryptor;
    CHECK(cm_encryptor_init_symmetric(&encryptor, NULL, &setup) == CM_ERR_ARGUMENT);
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, NULL) == CM_ERR_ARGUMENT);
    CHECK(cm_encryptor_init_symmetric(NULL, &key, &setup) == CM_ERR_ARGUMENT);
    CHECK(cm_encryptor_init_asymmetric(&encryptor, NULL, &setup) == CM_ERR_ARGUMENT);
    CHECK(cm_encryptor_init_symmetric(&encryptor, &no_params, &setup) == CM_ERR_PARAMS);
    wrong.xof = (cm_xof_kind)9;
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &wrong) == CM_ERR_ARGUMENT);
    wrong.xof = CM_XOF_NONE; /* component 1 is what a seed expands to */
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &wrong) == CM_ERR_ARGUMENT);
    wrong = setup;
    wrong.log2_tiles = CM_MAX_LOG2_TILES + 1;
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &wrong) == CM_ERR_ARGUMENT);
    wrong = setup;
    wrong.device = NULL;
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &wrong) == CM_ERR_ARGUMENT);
    wrong = setup;
    wrong.emitter = NULL;
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &wrong) == CM_ERR_ARGUMENT);
    CHECK(cm_ckks_encrypt(&encryptor, &values) == CM_ERR_ARGUMENT);
    CHECK(cm_ckks_encrypt(NULL, &values) == CM_ERR_ARGUMENT);
    const cm_public_key public = public_key();
    wrong = setup;
    wrong.xof = CM_XOF_CHACHA20; /* nothing is seeded under a public key */
    CHECK(cm_encryptor_init_asymmetric(&encryptor, &public, &wrong) == CM_ERR_ARGUMENT);
    CHECK(arena_is_untouched() && !collected.begun);
}

static void one_encryptor_encrypts_again_and_again(void)
{
    const cm_secret_key key = secret_key();
    const cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = new_collector(),
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = CM_XOF_CHACHA20,
                                      .log2_tiles = BUILD_LOG2_TILES};
    cm_encryptor encryptor;
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &setup) == CM_OK);
    uint64_t counters[3];
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cm_ckks_encrypt(&encryptor, &values) == CM_OK && collected.ended);
        counters[i] = collected.emitter.info.counter;
        CHECK(collected.emitter.info.xof == CM_XOF_CHACHA20);
    }
    CHECK(counters[1] == counters[0] + 1u && counters[2] == counters[1] + 1u);
}

static void a_key_wiped_after_the_setup_is_refused(void)
{
    cm_secret_key key = secret_key();
    static uint32_t words[N]; /* of either form */
    const cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    const cm_encryptor_setup setup = {.device = &device,
                                      .emitter = new_collector(),
                                      .arena = arena,
                                      .arena_bytes = sizeof arena,
                                      .xof = CM_XOF_CHACHA20,
                                      .log2_tiles = BUILD_LOG2_TILES};
    memcpy(words, CM_CONFIG_TRANSFORMED_SECRET ? (const void *)key.transformed : key.ternary,
           CM_CONFIG_TRANSFORMED_SECRET ? sizeof words : sizeof ternary);
    key.transformed = words;
    key.ternary = (const uint8_t *)words;
    cm_encryptor encryptor;
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &setup) == CM_OK);
    CHECK(cm_ckks_encrypt(&encryptor, &values) == CM_OK);
    memset(words, 0, sizeof words);
    (void)new_collector();
    CHECK(cm_ckks_encrypt(&encryptor, &values) == CM_ERR_ARGUMENT && !collected.begun);
    CHECK(test_emit_public_key(&device, params, key.ternary, 42, CM_XOF_CHACHA20, arena, sizeof arena,
                               new_collector()) == CM_ERR_ARGUMENT);
    CHECK(!collected.begun);
}

/* An emitter whose sink encrypts in the same arena, once: in begin, or with the first, second, ... tile. */
typedef struct arena_taker {
    cm_emitter emitter;
    cm_device device;
    cm_secret_key key;
    cm_ckks_values values;
    size_t bytes; /* of the arena */
    unsigned calls;
    unsigned takes_at; /* 0: in begin */
    bool ended;
} arena_taker;

static cm_status take_arena(arena_taker *taker)
{
    if (taker->calls++ == taker->takes_at) {
        CHECK(test_ckks_symmetric(&taker->device, &taker->key, CM_XOF_CHACHA20, &taker->values, arena,
                                  taker->bytes, new_collector()) == CM_OK);
    }
    return CM_OK;
}

static cm_status take_in_begin(cm_emitter *self, const cm_ciphertext_info *info)
{
    (void)info;
    return take_arena((arena_taker *)(void *)self);
}

static cm_status take_in_residues(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                                  const uint32_t *residues)
{
    (void)component;
    (void)prime;
    (void)tile;
    (void)residues;
    return take_arena((arena_taker *)(void *)self);
}

static cm_status note_the_end(cm_emitter *self)
{
    ((arena_taker *)(void *)self)->ended = true;
    return CM_OK;
}

/* The noise would come from a wiped key, and whoever knows the noise learns the secret key. */
static void a_sink_that_encrypts_in_the_same_arena_ends_the_encryption(void)
{
    enum { SYMMETRIC, ASYMMETRIC, PUBLIC_KEY, KINDS };
    const cm_secret_key key = secret_key();
    const cm_public_key public = public_key();
    const cm_ckks_values values = some_values();
    test_platform platforms[2] = {{.state = 1}, {.state = 2}};
    cm_device device;
    CHECK(test_device_start(&device, &platforms[0]) == CM_OK);
    for (unsigned kind = SYMMETRIC; kind < KINDS; kind++) {
        for (unsigned takes_at = 0; takes_at <= 2; takes_at++) {
            arena_taker taker = {.emitter = {.begin = take_in_begin,
                                             .residues = take_in_residues,
                                             .end = note_the_end,
                                             .expands_seed = true},
                                 .key = key,
                                 .values = values,
                                 .bytes = sizeof arena,
                                 .takes_at = takes_at};
            CHECK(test_device_start(&taker.device, &platforms[1]) == CM_OK);
            const cm_status status =
                kind == SYMMETRIC ? test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena,
                                                        sizeof arena, &taker.emitter)
                : kind == ASYMMETRIC
                    ? test_ckks_asymmetric(&device, &public, &values, arena, sizeof arena, &taker.emitter)
                    : test_emit_public_key(&device, params, ternary, 42, CM_XOF_CHACHA20, arena, sizeof arena,
                                           &taker.emitter);
            const bool last = kind == PUBLIC_KEY && takes_at == 2 && BUILD_LOG2_TILES == 0;
            CHECK(status == (last ? CM_OK : CM_ERR_ARENA));
            CHECK(taker.calls == (last ? 2 : takes_at + 1) && taker.ended == last);
            CHECK(arena_is_wiped());
        }
    }
}

static void values_inside_the_arena_but_not_at_its_start_are_refused(void)
{
    const cm_secret_key key = secret_key();
    cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    values.data = (const uint8_t *)arena + 4;
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_ERR_ARGUMENT);
    memcpy(arena, floats, sizeof floats);
    values.data = arena;
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_OK);
}

static void an_arena_too_small_or_misaligned_is_refused(void)
{
    const cm_secret_key key = secret_key();
    const cm_ckks_values values = some_values();
    const size_t needed = CM_CKKS_SYMMETRIC_ARENA_BYTES(N, CM_SLOTS_REAL, BUILD_PRECISION, BUILD_LOG2_TILES);
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    memset(arena, 0x5A, sizeof arena);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, needed - 1, new_collector()) ==
          CM_ERR_ARENA);
    CHECK(((uint8_t *)arena)[0] == 0 && ((uint8_t *)arena)[needed - 1] == 0x5A);
    memset(arena, 0x5A, sizeof arena);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, (uint8_t *)arena + 4, needed,
                              new_collector()) == CM_ERR_ARENA);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, NULL, needed, new_collector()) ==
          CM_ERR_ARENA);
    CHECK(((uint8_t *)arena)[0] == 0x5A && ((uint8_t *)arena)[needed - 1] == 0x5A);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, needed, new_collector()) ==
          CM_OK);
}

static void null_pointers_and_unknown_choices_are_refused(void)
{
    const cm_secret_key key = secret_key();
    cm_secret_key no_params = key;
    no_params.params = NULL;
    const cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(test_ckks_symmetric(NULL, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena, new_collector()) ==
          CM_ERR_ARGUMENT);
    CHECK(test_ckks_symmetric(&device, NULL, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_ERR_ARGUMENT);
    CHECK(test_ckks_symmetric(&device, &no_params, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_ERR_PARAMS);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, NULL, arena, sizeof arena, new_collector()) ==
          CM_ERR_ARGUMENT);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena, NULL) ==
          CM_ERR_ARGUMENT);
    CHECK(test_ckks_symmetric(&device, &key, (cm_xof_kind)9, &values, arena, sizeof arena, new_collector()) ==
          CM_ERR_ARGUMENT);
    cm_ckks_values forgotten = values;
    forgotten.precision = (cm_precision)0; /* not CM_ERR_ARENA, with an arena for 31 bits */
    const size_t smallest = CM_CKKS_SYMMETRIC_ARENA_BYTES(N, CM_SLOTS_REAL, CM_FIXED_31, BUILD_LOG2_TILES);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &forgotten, arena, smallest, new_collector()) ==
          CM_ERR_ARGUMENT);
    cm_device_wipe(&device);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_ERR_ARGUMENT);
}

static void a_secret_key_inside_the_arena_is_refused_and_kept(void)
{
    cm_secret_key key = secret_key();
    const cm_ckks_values values = some_values();
    const size_t room = sizeof arena - 64; /* less than the whole transformed key, in a small arena */
    const size_t whole =
        CM_CONFIG_TRANSFORMED_SECRET ? N * sizeof *key.transformed : (size_t)CM_TERNARY_BYTES(N);
    const size_t bytes = whole < room ? whole : room;
    const void *const from = CM_CONFIG_TRANSFORMED_SECRET ? (const void *)key.transformed : key.ternary;
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    uint8_t *const within = (uint8_t *)arena + 64;
    memcpy(within, from, bytes);
    key.ternary = within;
    key.transformed = (const uint32_t *)(const void *)within;
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_ERR_ARENA);
    CHECK(!collected.begun && memcmp(within, from, bytes) == 0);
    memcpy(within, ternary, sizeof ternary);
    CHECK(test_emit_public_key(&device, params, within, 42, CM_XOF_CHACHA20, arena, sizeof arena,
                               new_collector()) == CM_ERR_ARENA);
    CHECK(!collected.begun && memcmp(within, ternary, sizeof ternary) == 0);
}

static void an_object_of_the_setup_inside_the_arena_is_refused(void)
{
    const cm_secret_key key = secret_key();
    const cm_public_key public = public_key();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    const cm_encryptor_setup good = {.device = &device,
                                     .emitter = new_collector(),
                                     .arena = arena,
                                     .arena_bytes = sizeof arena,
                                     .xof = CM_XOF_CHACHA20,
                                     .log2_tiles = BUILD_LOG2_TILES};
    void *const within = (uint8_t *)arena + sizeof arena - 512;
    _Static_assert(sizeof device <= 512 && sizeof key <= 512 && sizeof public <= 512, "they fit");
    cm_encryptor encryptor;
    cm_encryptor_setup bad = good;
    cm_encryptor_setup unseeded = good;
    unseeded.xof = CM_XOF_NONE;
    bad.device = within;
    memcpy(within, &device, sizeof device);
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &bad) == CM_ERR_ARENA);
    bad.xof = CM_XOF_NONE;
    CHECK(cm_encryptor_init_asymmetric(&encryptor, &public, &bad) == CM_ERR_ARENA);
    bad.xof = CM_XOF_CHACHA20;
    CHECK(cm_device_emit_public_key(&bad, params, ternary, 42) == CM_ERR_ARENA);
    CHECK(memcmp(within, &device, sizeof device) == 0);
    bad = good;
    bad.emitter = within;
    memcpy(within, good.emitter, sizeof *good.emitter);
    CHECK(cm_encryptor_init_symmetric(&encryptor, &key, &bad) == CM_ERR_ARENA);
    bad.xof = CM_XOF_NONE;
    CHECK(cm_encryptor_init_asymmetric(&encryptor, &public, &bad) == CM_ERR_ARENA);
    bad.xof = CM_XOF_CHACHA20;
    CHECK(cm_device_emit_public_key(&bad, params, ternary, 42) == CM_ERR_ARENA);
    CHECK(memcmp(within, good.emitter, sizeof *good.emitter) == 0);
    memcpy(within, &key, sizeof key);
    CHECK(cm_encryptor_init_symmetric(&encryptor, within, &good) == CM_ERR_ARENA);
    memcpy(within, &public, sizeof public);
    CHECK(cm_encryptor_init_asymmetric(&encryptor, within, &unseeded) == CM_ERR_ARENA);
    CHECK(!collected.begun);
}

/* 0x55 in every byte is the key of zeros, under which the message leaves in the clear. */
static void a_secret_key_of_equal_coefficients_is_refused(void)
{
    static uint32_t words[2 * N];
    const uint8_t bytes[] = {0x00, 0x55, 0xAA, 0xFF};
    const cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        static uint8_t equal[CM_TERNARY_BYTES(N)];
        memset(equal, bytes[i], sizeof equal);
        const cm_secret_key key = {.params = params, .key_id = 42, .ternary = equal, .transformed = words};
        CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                                  new_collector()) == CM_ERR_ARGUMENT);
        CHECK(!collected.begun);
        CHECK(cm_secret_key_residues(params, equal, 0, words) == CM_ERR_ARGUMENT);
        CHECK(cm_secret_key_transform(params, equal, 0, words) == CM_ERR_ARGUMENT);
        CHECK(cm_zero_encryption(params, equal, key_seed, 0, words, words + N) == CM_ERR_ARGUMENT);
        CHECK(test_emit_public_key(&device, params, equal, 42, CM_XOF_CHACHA20, arena, sizeof arena,
                                   new_collector()) == CM_ERR_ARGUMENT);
    }
}

static void keys_that_were_never_filled_in_are_refused(void)
{
    const cm_ckks_values values = some_values();
    cm_secret_key key = secret_key();
    cm_public_key public = public_key();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    for (unsigned component = 0; component < 2; component++) {
        (void)public_key();
        memset(public_words + component * N, 0, sizeof *public_words * N);
        CHECK(test_ckks_asymmetric(&device, &public, &values, arena, sizeof arena, new_collector()) ==
              CM_ERR_ARGUMENT);
        CHECK(!collected.ended);
    }
    (void)public_key();
    memset(public_words, 0xFF, sizeof *public_words * N); /* erased flash */
    CHECK(test_ckks_asymmetric(&device, &public, &values, arena, sizeof arena, new_collector()) ==
          CM_ERR_ARGUMENT);
    static const uint32_t erased[N] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    cm_secret_key blank = secret_key();
    blank.ternary = (const uint8_t *)erased;
    blank.transformed = erased;
    CHECK(test_ckks_symmetric(&device, &blank, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_ERR_ARGUMENT);
    public = public_key();
    const cm_flat_public_key wider = {public_words, 2 * N};
    public.context = (void *)(uintptr_t)&wider;
    CHECK(test_ckks_asymmetric(&device, &public, &values, arena, sizeof arena, new_collector()) ==
          CM_ERR_ARGUMENT);
    public = public_key();
    public.key_id = 0;
    CHECK(test_ckks_asymmetric(&device, &public, &values, arena, sizeof arena, new_collector()) ==
          CM_ERR_ARGUMENT);
    key.key_id = 0;
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_ERR_ARGUMENT);
    CHECK(test_emit_public_key(&device, params, ternary, 0, CM_XOF_CHACHA20, arena, sizeof arena,
                               new_collector()) == CM_ERR_ARGUMENT);
}

static const uint32_t *no_polynomial(void *context, unsigned component, unsigned prime)
{
    (void)context;
    (void)component;
    (void)prime;
    return NULL;
}

static void a_public_key_that_cannot_be_had_ends_the_encryption(void)
{
    const cm_public_key key = {params, 42, no_polynomial, NULL, NULL};
    const cm_ckks_values values = some_values();
    test_platform platform = {0};
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    for (unsigned order = 0; order < 2; order++) {
        cm_emitter *emitter = new_collector();
        emitter->component_major = order == 1;
        CHECK(test_ckks_asymmetric(&device, &key, &values, arena, sizeof arena, emitter) == CM_ERR_ARGUMENT);
        CHECK(collected.calls == 0 && !collected.ended);
    }
}

static void a_failing_or_stuck_random_source_is_refused_before_a_byte_leaves(void)
{
    const test_random_mode modes[] = {RANDOM_FAILS, RANDOM_ZERO, RANDOM_STUCK_BYTE, RANDOM_EQUAL_HALVES};
    const cm_secret_key key = secret_key();
    const cm_ckks_values values = some_values();
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        test_platform platform = {0};
        cm_device device;
        platform.mode = modes[i];
        CHECK(test_device_start(&device, &platform) == CM_OK);
        CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                                  new_collector()) == CM_ERR_RANDOM);
        CHECK(!collected.begun);
    }
}

static void a_random_source_that_repeats_itself_is_refused_the_second_time(void)
{
    test_platform platform = {0};
    cmi_seeds seeds;
    cm_device device;
    platform.mode = RANDOM_REPEATS;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(cmi_seeds_draw(&device, &seeds) == CM_OK);
    CHECK(cmi_seeds_draw(&device, &seeds) == CM_ERR_RANDOM);
    CHECK(cmi_seeds_draw(&device, &seeds) == CM_ERR_RANDOM);
}

/*
 * Every reset, at any moment, skips to counters that were never used, so even a source that repeats itself
 * repeats no seed.
 */
static void no_counter_and_no_public_seed_repeats_across_resets(void)
{
    enum { RESETS = 40 };
    static uint8_t seen[RESETS * 3][CM_MAX_PUBLIC_SEED_BYTES];
    test_platform platform = {0};
    unsigned count = 0;
    uint64_t last = 0;
    for (unsigned reset = 0; reset < RESETS; reset++) {
        cm_device device;
        platform.state = 1; /* the same randomness after each reset */
        CHECK(test_device_start(&device, &platform) == CM_OK);
        for (unsigned i = 0; i < 3; i++) {
            cmi_seeds seeds;
            CHECK(cmi_seeds_draw(&device, &seeds) == CM_OK);
            CHECK(count == 0 || seeds.counter > last);
            CHECK(seeds.counter < platform.stored);
            last = seeds.counter;
            memcpy(seen[count++], seeds.public_seed, sizeof seen[0]);
        }
    }
    unsigned repeats = 0;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < i; j++) {
            repeats += memcmp(seen[i], seen[j], sizeof seen[0]) == 0;
        }
    }
    CHECK(repeats == 0);
}

static void a_counter_that_cannot_be_kept_is_refused(void)
{
    test_platform platform = {0};
    cmi_seeds seeds;
    cm_device device;
    platform.read_fails = true;
    CHECK(test_device_start(&device, &platform) == CM_ERR_COUNTER);
    platform.read_fails = false;

    platform.write_fails = true;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(cmi_seeds_draw(&device, &seeds) == CM_ERR_COUNTER);
    platform.write_fails = false;

    platform.write_is_lost = true;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(cmi_seeds_draw(&device, &seeds) == CM_ERR_COUNTER);
    platform.write_is_lost = false;
    CHECK(cmi_seeds_draw(&device, &seeds) == CM_OK);

    platform.stored = UINT64_MAX - CM_CONFIG_COUNTER_RESERVE + 1;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(cmi_seeds_draw(&device, &seeds) == CM_ERR_COUNTER);
}

static void a_device_without_secret_or_platform_does_not_start(void)
{
    const uint8_t zero[CM_DEVICE_SECRET_BYTES] = {0};
    const uint8_t secret[CM_DEVICE_SECRET_BYTES] = {1};
    uint8_t erased[CM_DEVICE_SECRET_BYTES];
    cm_platform platform = {0};
    cm_device device;
    CHECK(cm_device_init(&device, secret, NULL) == CM_ERR_ARGUMENT);
    CHECK(cm_device_init(&device, secret, &platform) == CM_ERR_ARGUMENT);
    CHECK(cm_device_init(NULL, secret, &platform) == CM_ERR_ARGUMENT);
    platform.random = test_random_bytes;
    platform.counter_read = test_counter_read;
    platform.counter_write = test_counter_write;
    CHECK(cm_device_init(&device, zero, &platform) == CM_ERR_ARGUMENT);
    memset(erased, 0xFF, sizeof erased);
    CHECK(cm_device_init(&device, erased, &platform) == CM_ERR_ARGUMENT);
    CHECK(cm_device_init(&device, NULL, &platform) == CM_ERR_ARGUMENT);
}

/* Either input alone changes both seeds, and neither seed is a prefix of the other. */
static void public_and_secret_seed_are_separate_functions_of_secret_counter_and_randomness(void)
{
    uint8_t secret[CM_DEVICE_SECRET_BYTES] = {1};
    uint8_t randomness[32] = {2};
    cmi_seeds base;
    cmi_seeds changed;
    cmi_seeds_derive(secret, randomness, 5, &base);
    CHECK(memcmp(base.public_seed, base.secret_seed, 32) != 0);
    CHECK(memcmp(base.public_seed + sizeof base.public_seed - 32, base.secret_seed, 32) != 0);

    cmi_seeds_derive(secret, randomness, 6, &changed);
    CHECK(memcmp(base.public_seed, changed.public_seed, sizeof base.public_seed) != 0);
    CHECK(memcmp(base.secret_seed, changed.secret_seed, 32) != 0);
    cmi_seeds_derive(secret, randomness, (uint64_t)5 << 32, &changed);
    CHECK(memcmp(base.public_seed, changed.public_seed, sizeof base.public_seed) != 0);
    randomness[31] = 1;
    cmi_seeds_derive(secret, randomness, 5, &changed);
    CHECK(memcmp(base.public_seed, changed.public_seed, sizeof base.public_seed) != 0);
    CHECK(memcmp(base.secret_seed, changed.secret_seed, 32) != 0);
    randomness[31] = 0;
    secret[31] = 1;
    cmi_seeds_derive(secret, randomness, 5, &changed);
    CHECK(memcmp(base.public_seed, changed.public_seed, sizeof base.public_seed) != 0);
    CHECK(memcmp(base.secret_seed, changed.secret_seed, 32) != 0);
}

/*
 * The public seed, which is sent, is not a key to the noise: with the true secret seed the ciphertext opens
 * to the message exactly, with either half of the public seed in its place it does not.
 */
static void check_that_noise_is_not_sent(cm_xof_kind xof)
{
    const cm_secret_key key = secret_key();
    const cm_ckks_values values = some_values();
    test_platform platform = {0};
    test_platform replay = {0};
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    uint8_t randomness[32];
    int8_t noise[CM_SAMPLE_BLOCK];
    int8_t guess[CM_SAMPLE_BLOCK];
    const uint32_t nonce[3] = {CM_LABEL_NOISE, 0, 0};
    cmi_stream stream;
    cmi_seeds seeds;
    cm_device device;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(test_ckks_symmetric(&device, &key, xof, &values, arena, sizeof arena, new_collector()) == CM_OK);

    for (unsigned i = 0; i < sizeof secret; i++) {
        secret[i] = (uint8_t)(i + 1);
    }
    CHECK(test_random_bytes(&replay, randomness, sizeof randomness) == 0);
    cmi_seeds_derive(secret, randomness, collected.emitter.info.counter, &seeds);
    CHECK_BYTES(seeds.public_seed, collected.emitter.info.seed, cm_public_seed_bytes(xof));
    cmi_stream_init(&stream, seeds.secret_seed, nonce);
    cmi_sample_cbd(&stream, noise);
    for (unsigned half = 0; half < cm_public_seed_bytes(xof) / 32u; half++) {
        for (unsigned label = 0; label < 16; label++) {
            const uint32_t guessed_nonce[3] = {label, 0, 0};
            cmi_stream_init(&stream, collected.emitter.info.seed + 32 * half, guessed_nonce);
            cmi_sample_cbd(&stream, guess);
            CHECK(memcmp(guess, noise, sizeof noise) != 0);
        }
    }
}

static void nothing_that_is_sent_determines_the_noise(void)
{
    for (unsigned i = 0; i < sizeof xofs / sizeof xofs[0]; i++) {
        if (build_has_xof(xofs[i])) {
            check_that_noise_is_not_sent(xofs[i]);
        }
    }
}

/* A ring context has room for CM_CONFIG_MAX_LOG2_N levels, and no more may be written to it. */
static void keys_of_rings_beyond_the_build_are_refused(void)
{
    uint32_t words[2];
    uint8_t packed[1] = {0};
    cm_params beyond = *params;
    beyond.log2_n = CM_CONFIG_MAX_LOG2_N + 1;
    CHECK(cm_secret_key_generate(&beyond, key_seed, packed) == CM_ERR_PARAMS);
    CHECK(cm_secret_key_residues(&beyond, packed, 0, words) == CM_ERR_PARAMS);
    CHECK(cm_secret_key_transform(&beyond, packed, 0, words) == CM_ERR_PARAMS);
    CHECK(cm_zero_encryption(&beyond, packed, key_seed, 0, words, words + 1) == CM_ERR_PARAMS);
}

static void check_that_a_set_is_refused(const cm_params *set)
{
    static uint8_t drawn[CM_TERNARY_BYTES(N)];
    const cm_ckks_values values = some_values();
    cm_secret_key key = secret_key();
    cm_public_key public = public_key();
    test_platform platform = {0};
    cm_device device;
    uint64_t id = 1;
    key.params = set;
    public.params = set;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    CHECK(test_ckks_symmetric(&device, &key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                              new_collector()) == CM_ERR_PARAMS);
    CHECK(test_ckks_asymmetric(&device, &public, &values, arena, sizeof arena, new_collector()) ==
          CM_ERR_PARAMS);
    CHECK(cm_secret_key_generate(set, key_seed, drawn) == CM_ERR_PARAMS);
    CHECK(cm_secret_key_residues(set, ternary, 0, public_words) == CM_ERR_PARAMS);
    CHECK(cm_zero_encryption(set, ternary, key_seed, 0, public_words, public_words + N) == CM_ERR_PARAMS);
    CHECK(cm_device_make_secret_key(&device, set, drawn, &id) == CM_ERR_PARAMS);
}

static void parameter_sets_with_constants_of_other_primes_are_refused(void)
{
    cm_prime prime = params->primes[0];
    cm_params set = *params;
    uint32_t *const constants[] = {&prime.q,  &prime.neg_q_inv, &prime.r1,
                                   &prime.r2, &prime.n_inv,     &prime.psi};
    const unsigned count = CM_CONFIG_SMALL ? 5 : 6; /* psi is not checked there */
    set.primes = NULL;
    check_that_a_set_is_refused(&set);
    set.primes = &prime;
    for (unsigned i = 0; i < count; i++) {
        const uint32_t right = *constants[i];
        const uint32_t wrong[] = {0, right + 1u, right - 1u, right + prime.q, UINT32_MAX};
        for (unsigned w = 0; w < sizeof wrong / sizeof wrong[0]; w++) {
            *constants[i] = wrong[w];
            check_that_a_set_is_refused(&set);
        }
        *constants[i] = right;
    }
    set.log2_n = 9;
    check_that_a_set_is_refused(&set);
    set.log2_n = params->log2_n;
    const unsigned right = params->log2_q_data;
    const unsigned bits[] = {0, 1, right - 1u, right + 1u, 255};
    for (unsigned i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        set.log2_q_data = (uint8_t)bits[i];
        check_that_a_set_is_refused(&set);
    }
    set.log2_q_data = params->log2_q_data;
    CHECK(cm_secret_key_generate(&set, key_seed, ternary) == CM_OK);
}

/* The built-in sets reach 15 primes, and past 255 bits. */
static void every_built_in_set_tells_the_bits_of_its_modulus(void)
{
    for (unsigned s = 0; s < CM_PARAMS_COUNT; s++) {
        const cm_params *set = cm_params_all[s];
        CHECK(cmi_log2_of_product(set->primes, set->data_primes) == set->log2_q_data);
    }
}

static void a_special_prime_is_no_data_prime(void)
{
    static uint8_t drawn[CM_TERNARY_BYTES(2048)];
    cm_params set = cm_n2048_q26_p27;
    CHECK(cm_secret_key_generate(&set, key_seed, drawn) == CM_OK);
    set.data_primes = 2;
    set.log2_q_data = 52;
    CHECK(cm_secret_key_generate(&set, key_seed, drawn) == CM_ERR_PARAMS);
}

static void keys_are_checked_and_generated_for_every_prime(void)
{
    static uint32_t words[4][1 << CM_CONFIG_MAX_LOG2_N];
    static uint8_t packed[CM_TERNARY_BYTES(1 << CM_CONFIG_MAX_LOG2_N)];
    const cm_params *sets[CM_PARAMS_COUNT];
    const unsigned count = build_sets(sets);
    for (unsigned s = 0; s < count; s++) {
        const cm_params *set = sets[s];
        const uint32_t n = (uint32_t)1 << set->log2_n;
        const unsigned last = set->key_primes - 1u;
        const cm_prime *prime = &set->primes[last];
        CHECK(cm_secret_key_generate(set, key_seed, packed) == CM_OK);
        CHECK(cm_secret_key_residues(set, packed, last, words[0]) == CM_OK);
        CHECK(cm_zero_encryption(set, packed, key_seed, last, words[1], words[2]) == CM_OK);
        for (uint32_t i = 0; i < n; i++) {
            words[3][i] = (uint32_t)((words[1][i] + (uint64_t)words[2][i] * words[0][i]) % prime->q);
        }
        cmi_ring ring;
        cmi_ring_init(&ring, prime, set->log2_n, NULL);
        cmi_ntt_inverse(words[3], &ring);
        uint32_t largest = 0;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t size = words[3][i] > prime->q / 2 ? prime->q - words[3][i] : words[3][i];
            largest = size > largest ? size : largest;
        }
        CHECK(largest > 3 && largest <= 21);
        CHECK(cm_secret_key_residues(set, packed, last + 1u, words[0]) == CM_ERR_ARGUMENT);
    }
    CHECK(cm_secret_key_generate(NULL, key_seed, packed) == CM_ERR_ARGUMENT);
    CHECK(cm_zero_encryption(params, packed, NULL, 0, words[0], words[1]) == CM_ERR_ARGUMENT);
}

void test_scheme(void)
{
    RUN(symmetric_ciphertexts_decrypt_to_the_message_and_21_units_of_noise_at_most);
    RUN(asymmetric_ciphertexts_decrypt_within_their_noise_in_either_order);
    RUN(the_two_orders_of_emission_give_the_same_ciphertext);
    RUN(the_arena_is_wiped_whatever_the_outcome);
    RUN(a_setup_that_is_refused_leaves_the_arena_alone_and_encrypts_nothing);
    RUN(one_encryptor_encrypts_again_and_again);
    RUN(a_key_wiped_after_the_setup_is_refused);
    RUN(a_sink_that_encrypts_in_the_same_arena_ends_the_encryption);
    RUN(values_inside_the_arena_but_not_at_its_start_are_refused);
    RUN(an_arena_too_small_or_misaligned_is_refused);
    RUN(null_pointers_and_unknown_choices_are_refused);
    RUN(a_secret_key_inside_the_arena_is_refused_and_kept);
    RUN(an_object_of_the_setup_inside_the_arena_is_refused);
    RUN(keys_that_were_never_filled_in_are_refused);
    RUN(a_secret_key_of_equal_coefficients_is_refused);
    RUN(a_public_key_that_cannot_be_had_ends_the_encryption);
    RUN(a_failing_or_stuck_random_source_is_refused_before_a_byte_leaves);
    RUN(a_random_source_that_repeats_itself_is_refused_the_second_time);
    RUN(no_counter_and_no_public_seed_repeats_across_resets);
    RUN(a_counter_that_cannot_be_kept_is_refused);
    RUN(a_device_without_secret_or_platform_does_not_start);
    RUN(public_and_secret_seed_are_separate_functions_of_secret_counter_and_randomness);
    RUN(nothing_that_is_sent_determines_the_noise);
    RUN(keys_of_rings_beyond_the_build_are_refused);
    RUN(parameter_sets_with_constants_of_other_primes_are_refused);
    RUN(every_built_in_set_tells_the_bits_of_its_modulus);
    RUN_IF(CM_CONFIG_MAX_LOG2_N >= 11, a_special_prime_is_no_data_prime);
    RUN(keys_are_checked_and_generated_for_every_prime);
}
