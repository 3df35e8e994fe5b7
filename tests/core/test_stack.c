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

enum { N = 1024, STACK_BYTES = 256 * 1024, WINDOW = 8, FILL = 0xA5 };

static const cm_params *const params = &cm_n1024_q26;
static uint64_t arena[CM_CKKS_ASYMMETRIC_ARENA_BYTES(N, CM_REAL, BUILD_PRECISION) / 8];
static uint8_t ternary[CM_TERNARY_BYTES(N)];
static uint32_t public_words[2 * N];
static uint8_t stack[STACK_BYTES];
static size_t stack_start; /* of what was used */
static ucontext_t test_context;
static ucontext_t call_context;
static cm_device device;
static bool asymmetric;
static cm_status outcome;

static int drop(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return 0;
}

static void encrypt(void)
{
    static float floats[N / 2];
    static cm_flat_public_key flat = {public_words, N};
    const cm_public_key public_key = {params, 1, cm_flat_public_key_polynomial, &flat};
    const cm_secret_key secret_key = test_secret_key(params, 1, ternary);
    const cm_sink sink = {drop, NULL};
    cm_frame_writer frames;
    cm_ckks_values values;
    memset(&values, 0, sizeof values);
    values.data = floats;
    values.count = N / 2;
    values.log2_scale = 18;
    values.precision = BUILD_PRECISION;
    cm_frame_writer_init(&frames, sink);
    outcome = asymmetric ? cm_ckks_encrypt_asymmetric(&device, &public_key, &values, arena, sizeof arena,
                                                      &frames.emitter)
                         : cm_ckks_encrypt_symmetric(&device, &secret_key, CM_CHACHA20, &values, arena,
                                                     sizeof arena, &frames.emitter);
}

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

static void check_stack_after(bool with_public_key)
{
    test_platform platform = {0};
    test_platform replay = {0};
    uint8_t secret[CM_DEVICE_SECRET_BYTES];
    uint8_t randomness[32];
    cm_seeds seeds;
    asymmetric = with_public_key;
    CHECK(test_device_start(&device, &platform) == CM_OK);
    memset(stack, FILL, sizeof stack);
    getcontext(&call_context);
    call_context.uc_stack.ss_sp = stack;
    call_context.uc_stack.ss_size = sizeof stack;
    call_context.uc_link = &test_context;
    makecontext(&call_context, encrypt, 0);
    swapcontext(&test_context, &call_context);
    CHECK(outcome == CM_OK);
    stack_start = deepest_byte();
    CHECK(stack_start > 0 && stack_start < STACK_BYTES);

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

static void no_seed_and_no_secret_stream_stays_on_the_stack(void)
{
    const uint8_t seed[CM_SEED_BYTES] = {7};
    CHECK(cm_secret_key_generate(params, seed, ternary) == CM_OK);
    CHECK(cm_zero_encryption(params, ternary, seed, 0, public_words, public_words + N) == CM_OK);
    check_stack_after(false);
    check_stack_after(true);
}

#endif

void test_stack(void)
{
#if SEARCHES_STACK
    RUN_IF(CM_WIPE_STACK_BYTES >= 2048, no_seed_and_no_secret_stream_stays_on_the_stack);
#endif
}
