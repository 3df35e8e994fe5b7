/* SPDX-License-Identifier: Apache-2.0 */
/* Microsoft SEAL's Ciphertext bytes, written as the residues arrive: only one line of words is buffered. */
#include "ciphermote/seal.h"

#include <string.h>

#include "common/bytes.h"
#include "random/xof.h"

#define OBJECT_HEADER_BYTES 16
#define FIELDS_BYTES 105 /* object header, fields, array header and array count: where the residues begin */
#define SEED_INFO_BYTES (OBJECT_HEADER_BYTES + 1 + 64)

/* SEAL 3.6 to 4.x load a 3.6 header; a 4.x header is loaded by its own minor version only. */
static void put_object_header(uint8_t at[OBJECT_HEADER_BYTES], uint64_t object_bytes)
{
    at[0] = 0x5E;
    at[1] = 0xA1;
    at[2] = OBJECT_HEADER_BYTES;
    at[3] = 3;
    at[4] = 6;
    at[5] = 0; /* not compressed */
    at[6] = 0;
    at[7] = 0;
    cmi_store64(at + 8, object_bytes);
}

/*
 * SEAL's identifier for a set of parameters: BLAKE2b-256 of the words [scheme, n, q_0 .. , t], t = 0 for
 * CKKS.
 */
static void parms_id(uint8_t id[32], const cm_ciphertext_info *info)
{
    uint8_t words[8 * (3 + CM_MAX_PRIMES)];
    uint8_t *at = words;
    cmi_store64(at, (uint64_t)info->scheme);
    cmi_store64(at + 8, (uint64_t)1 << info->params->log2_n);
    at += 16;
    for (unsigned i = 0; i < info->primes; i++, at += 8) {
        cmi_store64(at, info->params->primes[i].q);
    }
    cmi_store64(at, info->scheme == CM_BFV ? info->plain_modulus : 0);
    at += 8;
    cmi_blake2b(id, 32, NULL, 0, words, (size_t)(at - words));
}

static uint64_t residue_words(const cm_params *params, unsigned primes, cm_seal_form form)
{
    return ((uint64_t)primes << params->log2_n) * (form == CM_SEAL_FULL ? 2u : 1u);
}

static uint64_t ciphertext_bytes(const cm_params *params, unsigned primes, cm_seal_form form)
{
    return FIELDS_BYTES + 8u * residue_words(params, primes, form) +
           (form == CM_SEAL_SEEDED ? SEED_INFO_BYTES : 0);
}

size_t cm_seal_ciphertext_bytes(const cm_params *params, cm_seal_form form)
{
    return (size_t)ciphertext_bytes(params, params->data_primes, form);
}

static cm_status send(cm_seal_writer *writer, const uint8_t *bytes, size_t length)
{
    return writer->sink.write(writer->sink.context, bytes, length) == 0 ? CM_OK : CM_ERR_SINK;
}

static cm_status write_fields(cm_emitter *self, const cm_ciphertext_info *info)
{
    cm_seal_writer *writer = (cm_seal_writer *)(void *)self;
    if (!writer->sink.write || (writer->form != CM_SEAL_FULL && writer->form != CM_SEAL_SEEDED)) {
        return CM_ERR_ARGUMENT;
    }
    if (info->scheme == CM_PUBLIC_KEY) {
        return CM_ERR_UNSUPPORTED;
    }
    if (writer->form == CM_SEAL_SEEDED && info->xof != CM_XOF_SHAKE256 && info->xof != CM_XOF_BLAKE2XB) {
        return CM_ERR_UNSUPPORTED;
    }
    const cm_params *params = info->params;
    const uint64_t words = residue_words(params, info->primes, writer->form);
    const uint64_t one = (uint64_t)0x3FF << 52;
    uint8_t fields[FIELDS_BYTES];
    put_object_header(fields, ciphertext_bytes(params, info->primes, writer->form));
    parms_id(fields + 16, info);
    fields[48] = info->ntt_form ? 1 : 0;
    cmi_store64(fields + 49, info->components);
    cmi_store64(fields + 57, (uint64_t)1 << params->log2_n);
    cmi_store64(fields + 65, info->primes);
    cmi_store64(fields + 73, info->scheme == CM_CKKS ? info->scale_bits : one);
    put_object_header(fields + 81, OBJECT_HEADER_BYTES + 8u + 8u * words);
    cmi_store64(fields + 97, words);
    return send(writer, fields, sizeof fields);
}

/* The encryptor's order is SEAL's: component by component, prime by prime, and tile by tile within one. */
static cm_status write_words(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                             const uint32_t *residues)
{
    cm_seal_writer *writer = (cm_seal_writer *)(void *)self;
    const uint32_t count = (uint32_t)1 << (self->info.params->log2_n - self->info.log2_tiles);
    uint8_t line[64];
    cm_status status = CM_OK;
    (void)component;
    (void)prime;
    (void)tile;
    for (uint32_t i = 0; i < count && status == CM_OK; i += sizeof line / 8u) {
        for (uint32_t j = 0; j < sizeof line / 8u; j++) {
            cmi_store64(line + 8u * j, residues[i + j]);
        }
        status = send(writer, line, sizeof line);
    }
    return status;
}

/* A seeded ciphertext ends in SEAL's UniformRandomGeneratorInfo. */
static cm_status write_seed_info(cm_emitter *self)
{
    cm_seal_writer *writer = (cm_seal_writer *)(void *)self;
    if (writer->form != CM_SEAL_SEEDED) {
        return CM_OK;
    }
    uint8_t info[SEED_INFO_BYTES];
    put_object_header(info, sizeof info);
    info[OBJECT_HEADER_BYTES] = (uint8_t)self->info.xof;
    memcpy(info + OBJECT_HEADER_BYTES + 1, self->info.seed, 64);
    return send(writer, info, sizeof info);
}

void cm_seal_writer_init(cm_seal_writer *writer, cm_seal_form form, cm_sink sink)
{
    memset(writer, 0, sizeof *writer);
    writer->emitter.begin = write_fields;
    writer->emitter.residues = write_words;
    writer->emitter.end = write_seed_info;
    writer->emitter.component_major = true;
    writer->emitter.expands_seed = form == CM_SEAL_FULL;
    writer->sink = sink;
    writer->form = form;
}
