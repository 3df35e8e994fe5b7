/*
 * What a call leaves on the stack. The call runs on a stack of the test's own, which is searched afterwards; that
 * takes a hosted system, and no sanitizer, which would keep frames elsewhere.
 */
#include "check.h"

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(CM_TEST_NO_STACK)
#define SEARCHES_STACK 1
#else
#define SEARCHES_STACK 0
#endif

#if SEARCHES_STACK

#include <ucontext.h>

#include "build.h"
#include "platform.h"
#include "random/sample.h"
#include "scheme/seeds.h"
#include "secret_key.h"

enum { N = 1024, T = 12289, KEY_ID = 1, STACK_BYTES = 256 * 1024, WINDOW = 8, FILL = 0xA5 };

static const cm_params *const params = &cm_n1024_q26;
static uint64_t arena[BUILD_MOST_ARENA_BYTES(N) / 8];
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static uint32_t public_words[2 * N]; /* an encryption of zero: a public key, and a ciphertext to decrypt */
static uint32_t transformed[N];      /* the secret key, in NTT form */
static cm_secret_key secret_key;
static cm_flat_public_key flat = {public_words, N};
static cm_frame_writer frames;
static uint8_t sent[8 * N + 256]; /* what was sent last */
static size_t sent_bytes;
static uint8_t stack[STACK_BYTES];
static size_t stack_start; /* of what was used */
static ucontext_t test_context;
static ucontext_t call_context;
static cm_device device;
static cm_status outcome;

static int store(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    if (count <= sizeof sent - sent_bytes) {
        memcpy(sent + sent_bytes, bytes, count);
        sent_bytes += count;
    }
    return 0;
}

/* ---- the calls, each as it runs on the searched stack ---- */

static const uint32_t *numbers(void)
{
    static uint32_t words[N];
    for (uint32_t i = 0; i < N; i++) {
        words[i] = i * 7919u % T;
    }
    return words;
}

static cm_ckks_values real_values(void)
{
    static float floats[N / 2];
    cm_ckks_values values;
    memset(&values, 0, sizeof values);
    values.data = floats;
    values.count = N / 2;
    values.number = CM_FLOAT32;
    values.slots = CM_SLOTS_REAL;
    values.log2_scale = 18;
    values.precision = BUILD_PRECISION;
    return values;
}

static cm_bfv_values integers(void)
{
    const cm_bfv_values values = {.data = numbers(),
                                  .count = N,
                                  .number = CM_UINT32,
                                  .encoding = CM_BFV_BATCH,
                                  .width = CM_BFV_32,
                                  .plain_modulus = T};
    return values;
}

static void encrypt_ckks_symmetric(void)
{
    const cm_ckks_values values = real_values();
    outcome = cm_ckks_encrypt_symmetric(&device, &secret_key, CM_XOF_CHACHA20, &values, arena, sizeof arena,
                                        &frames.emitter);
}

static void encrypt_ckks_asymmetric(void)
{
    const cm_ckks_values values = real_values();
    const cm_public_key public_key = {params, KEY_ID, cm_flat_public_key_polynomial, &flat};
    outcome = cm_ckks_encrypt_asymmetric(&device, &public_key, &values, arena, sizeof arena, &frames.emitter);
}

static void encrypt_bfv_symmetric(void)
{
    const cm_bfv_values values = integers();
    outcome = cm_bfv_encrypt_symmetric(&device, &secret_key, CM_XOF_CHACHA20, &values, CM_DOMAIN_NTT, arena,
                                       sizeof arena, &frames.emitter);
}

static void encrypt_bfv_asymmetric(void)
{
    const cm_bfv_values values = integers();
    const cm_public_key public_key = {params, KEY_ID, cm_flat_public_key_polynomial, &flat};
    outcome = cm_bfv_encrypt_asymmetric(&device, &public_key, &values, CM_DOMAIN_NTT, arena, sizeof arena,
                                        &frames.emitter);
}

static void make_secret_key(void)
{
    uint64_t key_id;
    outcome = cm_device_make_secret_key(&device, params, ternary, &key_id);
}

static void emit_public_key(void)
{
    outcome = cm_device_emit_public_key(&device, params, ternary, KEY_ID, CM_XOF_CHACHA20, arena,
                                        sizeof arena, &frames.emitter);
}

/* A ciphertext of two components, whole, for a decryption; component 1 comes first. */
static void send_ciphertext(cm_scheme scheme, uint64_t scale_or_t)
{
    cm_ciphertext_info *info = &frames.emitter.info;
    const cm_sink sink = {store, NULL};
    cm_frame_writer_init(&frames, sink);
    sent_bytes = 0;
    memset(info, 0, sizeof *info);
    info->params = params;
    info->scheme = scheme;
    info->ntt_form = true;
    info->components = 2;
    info->primes = 1;
    info->key_id = KEY_ID;
    info->scale_or_t = scale_or_t;
    for (unsigned component = 2; component-- > 0;) {
        CHECK(frames.emitter.residues(&frames.emitter, component, 0, 0, public_words + component * N) ==
              CM_OK);
    }
}

static void feed(cm_decryption *decryption)
{
    cm_frame_reader reader;
    cm_frame_reader_init(&reader, params, &decryption->receiver);
    if (outcome == CM_OK) {
        outcome = cm_frame_reader_feed(&reader, sent, sent_bytes);
    }
}

static void decrypt_bfv(void)
{
    const cm_bfv_expected expected = {CM_BFV_BATCH, CM_UINT32, CM_BFV_SUMS_32, 0, T};
    static cm_decryption decryption;
    outcome = cm_bfv_decrypt_begin(&decryption, &secret_key, &expected, arena, sizeof arena);
    feed(&decryption);
    if (outcome == CM_OK) {
        outcome = cm_bfv_decrypt_end(&decryption);
    }
}

static void tell_noise_budget(void)
{
    static cm_decryption decryption;
    unsigned bits;
    outcome = cm_bfv_noise_begin(&decryption, &secret_key, T, 0, arena, sizeof arena);
    feed(&decryption);
    if (outcome == CM_OK) {
        outcome = cm_bfv_noise_budget(&decryption, &bits);
    }
}

static void decrypt_ckks(void)
{
    const cm_ckks_expected expected = {CM_SLOTS_REAL, BUILD_PRECISION, CM_FLOAT32, 0, 0, 1};
    static cm_decryption decryption;
    outcome = cm_ckks_decrypt_begin(&decryption, &secret_key, &expected, arena, sizeof arena);
    feed(&decryption);
    if (outcome == CM_OK) {
        outcome = cm_ckks_decrypt_end(&decryption);
    }
}

/* ---- the search ---- */

/* Where the call's stack ended: below it lies what the stack was filled with. */
static size_t deepest_byte(void)
{
    size_t i = 0;
    while (i < STACK_BYTES && stack[i] == FILL) {
        i++;
    }
    return i;
}

/* Whether any eight bytes of a secret, taken at every fourth, lie anywhere on the stack. */
static bool stack_holds(const uint8_t *secret, size_t length)
{
    for (size_t i = 0; i + WINDOW <= length; i += 4) {
        for (size_t j = stack_start; j + WINDOW <= STACK_BYTES; j++) {
            if (memcmp(stack + j, secret + i, WINDOW) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void search_for_streams(const cm_seeds *seeds)
{
    static uint8_t key_stream[1024];
    const uint32_t labels[2] = {CM_LABEL_NOISE, CM_LABEL_TERNARY};
    for (unsigned i = 0; i < 2; i++) {
        for (uint32_t component = 0; component < 2; component++) {
            const uint32_t nonce[3] = {labels[i], component, 0};
            cm_stream stream;
            cm_stream_init(&stream, seeds->secret_seed, nonce);
            for (unsigned block = 0; block < 10; block++) {
                cm_stream_read(&stream, key_stream, sizeof key_stream);
                CHECK(!stack_holds(key_stream, sizeof key_stream));
            }
        }
    }
}

/* Leaves what the call left in stack, from stack_start on. */
static void run_on_stack(void (*call)(void))
{
    memset(stack, FILL, sizeof stack);
    getcontext(&call_context);
    call_context.uc_stack.ss_sp = stack;
    call_context.uc_stack.ss_size = sizeof stack;
    call_context.uc_link = &test_context;
    makecontext(&call_context, call, 0);
    swapcontext(&test_context, &call_context);
    CHECK(outcome == CM_OK);
    stack_start = deepest_byte();
    CHECK(stack_start > 0 && stack_start < STACK_BYTES);
}

static void check_seeds_after(void (*call)(void))
{
    const cm_sink sink = {store, NULL};
    test_platform platform = {0};
    test_platform replay = {0};
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    uint8_t randomness[32];
    cm_seeds seeds;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    cm_frame_writer_init(&frames, sink);
    run_on_stack(call);

    for (unsigned i = 0; i < sizeof secret; i++) {
        secret[i] = (uint8_t)(i + 1);
    }
    CHECK(test_random_bytes(&replay, randomness, sizeof randomness) == 0);
    cm_seeds_derive(secret, randomness, 0, &seeds);
    CHECK(!stack_holds(secret, sizeof secret));
    CHECK(!stack_holds(randomness, sizeof randomness));
    CHECK(!stack_holds(seeds.secret_seed, sizeof seeds.secret_seed));
    search_for_streams(&seeds);
}

static void check_secret_key(void)
{
    CHECK(!stack_holds(ternary, sizeof ternary));
    CHECK(!stack_holds((const uint8_t *)transformed, sizeof transformed));
}

static void prepare_keys(void)
{
    const uint8_t seed[CM_SEED_BYTES] = {7};
    CHECK(cm_secret_key_generate(params, seed, ternary) == CM_OK);
    CHECK(cm_secret_key_transform(params, ternary, 0, transformed) == CM_OK);
    CHECK(cm_zero_encryption(params, ternary, seed, 0, public_words, public_words + N) == CM_OK);
    secret_key = test_secret_key(params, KEY_ID, ternary);
}

static void no_seed_and_no_secret_stream_stays_on_the_stack(void)
{
    void (*const calls[])(void) = {encrypt_ckks_symmetric, encrypt_ckks_asymmetric, encrypt_bfv_symmetric,
                                   encrypt_bfv_asymmetric, emit_public_key,         make_secret_key};
    prepare_keys();
    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        check_seeds_after(calls[i]);
        check_secret_key();
    }
}

/* BFV: an encryption of zero with numbers for component 0 decrypts to whatever, which must not stay either. */
static void no_secret_key_and_no_value_stays_on_the_stack_of_a_decryption(void)
{
    prepare_keys();
    memcpy(public_words, numbers(), N * sizeof *public_words);
    send_ciphertext(CM_BFV, T);
    run_on_stack(decrypt_bfv);
    CHECK(!stack_holds((const uint8_t *)arena, N * sizeof(uint32_t)));
    check_secret_key();
    run_on_stack(tell_noise_budget);
    check_secret_key();

    prepare_keys();
    send_ciphertext(CM_CKKS, (uint64_t)0x4110 << 48); /* 2^18 */
    run_on_stack(decrypt_ckks);
    CHECK(!stack_holds((const uint8_t *)arena, N / 2 * sizeof(float)));
    check_secret_key();
}

#endif

void test_stack(void)
{
#if SEARCHES_STACK
    RUN_IF(CM_CONFIG_WIPE_STACK_BYTES >= 2048, no_seed_and_no_secret_stream_stays_on_the_stack);
    RUN_IF(CM_CONFIG_WIPE_STACK_BYTES >= 2048, no_secret_key_and_no_value_stays_on_the_stack_of_a_decryption);
#endif
}
