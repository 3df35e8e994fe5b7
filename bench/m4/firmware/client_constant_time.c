/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BFV encryption, decryption of both schemes and key generation, tested as constant_time.c tests CKKS
 * encryption: by runs that differ in every secret. Ciphertexts under a run's own key are made here, outside
 * the regions, as if received.
 *
 *   with frames                              without
 *   0  BFV, symmetric                        4
 *   1  BFV, asymmetric                       5
 *   2  BFV decryption                        6
 *   3  CKKS decryption                       7
 *                                            8  a secret key
 *                                            9  its public key
 */
#include <string.h>

#include "encode/bfv.h"
#include "encode/ckks.h"
#include "encryptions.h"
#include "report.h"
#include "secrets.h"

#define LOG2_SCALE 20 /* values below 8 stay below an eighth of a prime */
#define TILES (1u << WORKLOAD_LOG2_FRAME_TILES)
#define FRAME_BYTES (CM_FRAME_HEADER_BYTES + CM_FRAME_CRC_BYTES + WORKLOAD_N / TILES / 8u * 26u)
#define MOST(a, b) ((a) > (b) ? (a) : (b))

static _Alignas(
    8) uint8_t arena[MOST(CM_BFV_ASYMMETRIC_ARENA_BYTES(WORKLOAD_N, CM_BFV_16, WORKLOAD_LOG2_TILES),
                          CM_BFV_DECRYPT_ARENA_BYTES(WORKLOAD_N, WORKLOAD_SUMS, WORKLOAD_LOG2_FRAME_TILES))];
static cm_frame_writer writer;
static cm_decryptor decryptor;
static uint8_t stream[2u * WORKLOAD_PRIMES * TILES * FRAME_BYTES];
static uint32_t received;
static uint32_t c0[WORKLOAD_N];
static uint32_t c1[WORKLOAD_N];
static uint32_t polynomial[WORKLOAD_N];

/* ---- encryption ---- */

static cm_status encrypt(const cm_encryptor *encryptor)
{
    const cm_bfv_values values = workload_describe_integers(arena);
    return cm_bfv_encrypt(encryptor, &values);
}

static const encryptions bfv = {arena, sizeof arena, secrets_integers, encrypt};

/* ---- ciphertexts to decrypt ---- */

static int keep(void *context, const uint8_t *bytes, size_t length)
{
    (void)context;
    if (length > sizeof stream - received) {
        return -1;
    }
    memcpy(stream + received, bytes, length);
    received += (uint32_t)length;
    return 0;
}

/* The message's folded coefficients at a prime are in polynomial: component 1 before component 0, tile by
   tile. */
static cm_status write_prime(unsigned prime)
{
    const cm_secret_key key = secrets_key();
    cmi_ring ring;
    cmi_ring_init(&ring, &WORKLOAD_PARAMS.primes[prime], WORKLOAD_LOG2_N, workload_roots);
    cm_status status = cm_zero_encryption(key.params, key.ternary, secrets_key_seed(), prime, c0, c1);
    cmi_ntt_forward(polynomial, &ring);
    cmi_add(polynomial, c0, WORKLOAD_N, ring.prime);
    for (unsigned tile = 0; tile < TILES && status == CM_OK; tile++) {
        const uint32_t start = tile * (WORKLOAD_N / TILES);
        status = writer.emitter.residues(&writer.emitter, 1, prime, tile, c1 + start);
        if (status == CM_OK) {
            status = writer.emitter.residues(&writer.emitter, 0, prime, tile, polynomial + start);
        }
    }
    return status;
}

static void open_stream(cm_scheme scheme, unsigned primes, uint64_t scale_or_modulus)
{
    received = 0;
    cm_frame_writer_init(&writer, (cm_sink){.write = keep});
    writer.emitter.info = (cm_ciphertext_info){.params = &WORKLOAD_PARAMS,
                                               .scheme = scheme,
                                               .ntt_form = true,
                                               .components = 2,
                                               .primes = (uint8_t)primes,
                                               .log2_tiles = WORKLOAD_LOG2_FRAME_TILES,
                                               .key_id = WORKLOAD_KEY_ID,
                                               .scale_bits = scale_or_modulus};
}

static cm_status set_up_decryptor(void)
{
    static cm_secret_key key;
    key = secrets_key();
    const cm_decryptor_setup setup = {.arena = arena, .arena_bytes = sizeof arena};
    return cm_decryptor_init(&decryptor, &key, &setup);
}

static cm_status begin_bfv(void)
{
    const cm_status status = set_up_decryptor();
    const cm_bfv_expected expected = {.encoding = CM_BFV_BATCH,
                                      .number = CM_INT16,
                                      .sums = WORKLOAD_SUMS,
                                      .log2_tiles = WORKLOAD_LOG2_FRAME_TILES,
                                      .plain_modulus = WORKLOAD_T};
    return status == CM_OK ? cm_bfv_expect(&decryptor, &expected) : status;
}

static cm_status prepare_bfv(uint32_t run)
{
    cmi_ring ring;
    cmi_plain plain = {.data = arena};
    cm_status status = secrets_draw(run);
    secrets_integers(arena, run);
    const cm_bfv_values values = workload_describe_integers(arena);
    if (status == CM_OK) {
        status = cmi_plain_encode(&WORKLOAD_PARAMS, &values, workload_roots, &plain, &ring);
    }
    if (status != CM_OK) {
        return status;
    }
    cmi_plain_scale(&WORKLOAD_PARAMS, &plain);
    open_stream(CM_BFV, WORKLOAD_PRIMES, WORKLOAD_T);
    for (unsigned i = 0; i < WORKLOAD_PRIMES && status == CM_OK; i++) {
        cmi_ring_init(&ring, &WORKLOAD_PARAMS.primes[i], WORKLOAD_LOG2_N, workload_roots);
        cmi_plain_fold(&plain, &ring, polynomial);
        status = write_prime(i);
    }
    return status == CM_OK ? begin_bfv() : status;
}

static cm_status begin_ckks(void)
{
    const cm_status status = set_up_decryptor();
    const cm_ckks_expected expected = {.slots = CM_SLOTS_REAL,
                                       .precision = CM_FIXED_31,
                                       .number = CM_FLOAT32,
                                       .log2_tiles = WORKLOAD_LOG2_FRAME_TILES,
                                       .largest = 8};
    return status == CM_OK ? cm_ckks_expect(&decryptor, &expected) : status;
}

static cm_status prepare_ckks(uint32_t run)
{
    cmi_ring ring;
    cmi_ckks_message message = {.data = arena};
    cm_status status = secrets_draw(run);
    secrets_values(arena, run);
    cm_ckks_values values = workload_describe(arena);
    values.log2_scale = LOG2_SCALE;
    if (status == CM_OK) {
        status = cmi_ckks_encode(&WORKLOAD_PARAMS, &values, &message);
    }
    if (status != CM_OK) {
        return status;
    }
    open_stream(CM_CKKS, 1, (uint64_t)(1023 + LOG2_SCALE) << 52);
    cmi_ring_init(&ring, &WORKLOAD_PARAMS.primes[0], WORKLOAD_LOG2_N, workload_roots);
    cmi_ckks_message_fold(&message, &ring, polynomial);
    status = write_prime(0);
    return status == CM_OK ? begin_ckks() : status;
}

/* ---- decryption ---- */

static cm_status end(void)
{
    return decryptor.decryption.scheme == CM_BFV ? cm_bfv_decrypt(&decryptor) : cm_ckks_decrypt(&decryptor);
}

static cm_status decrypt_frames(void)
{
    const cm_status status = cm_decryptor_feed(&decryptor, stream, received);
    return status == CM_OK ? end() : status;
}

/* As a reader passes them on, but a whole frame at once and without a checksum. */
static cm_status decrypt_residues(void)
{
    cm_receiver *const receiver = &decryptor.decryption.receiver;
    cm_status status = CM_OK;
    for (size_t at = 0; at < received && status == CM_OK; at += FRAME_BYTES) {
        cm_frame frame;
        status = cm_frame_parse_header(stream + at, CM_FRAME_HEADER_BYTES, &WORKLOAD_PARAMS, &frame);
        if (status != CM_OK) {
            break;
        }
        frame.payload_data = stream + at + CM_FRAME_HEADER_BYTES;
        frame.info.log2_tiles = frame.log2_tiles;
        status = cm_frame_unpack(&frame, polynomial);
        if (status == CM_OK) {
            status = receiver->begin(receiver, &frame.info, frame.component, frame.prime, frame.tile);
        }
        if (status == CM_OK) {
            status = receiver->residues(receiver, polynomial, frame.residue_count);
        }
        if (status == CM_OK) {
            status = receiver->end(receiver);
        }
    }
    return status == CM_OK ? end() : status;
}

/* ---- keys ---- */

static cm_status make_secret_key(void)
{
    uint64_t key_id;
    return cm_device_make_secret_key(encryptions_setup(&bfv, WORKLOAD_XOF).device, &WORKLOAD_PARAMS,
                                     (uint8_t *)c0, &key_id);
}

static cm_status emit_public_key(void)
{
    const cm_encryptor_setup setup = encryptions_setup(&bfv, WORKLOAD_XOF);
    return cm_device_emit_public_key(&setup, &WORKLOAD_PARAMS, secrets_key().ternary, WORKLOAD_KEY_ID);
}

int main(void)
{
    if (encryptions_start() != CM_OK) {
        return 1;
    }
    for (uint32_t run = 0; run < RUNS; run++) {
        MEASURE(0, encryptions_prepare(&bfv, run, true), encryptions_symmetric(&bfv));
        MEASURE(1, encryptions_prepare(&bfv, run, true), encryptions_asymmetric(&bfv));
        MEASURE(2, prepare_bfv(run), decrypt_frames());
        MEASURE(3, prepare_ckks(run), decrypt_frames());
        MEASURE(4, encryptions_prepare(&bfv, run, false), encryptions_symmetric(&bfv));
        MEASURE(5, encryptions_prepare(&bfv, run, false), encryptions_asymmetric(&bfv));
        MEASURE(6, prepare_bfv(run), decrypt_residues());
        MEASURE(7, prepare_ckks(run), decrypt_residues());
        MEASURE(8, encryptions_prepare(&bfv, run, false), make_secret_key());
        MEASURE(9, encryptions_prepare(&bfv, run, false), emit_public_key());
    }
    report("runs", RUNS);
    return 0;
}
