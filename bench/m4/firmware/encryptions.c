/* SPDX-License-Identifier: Apache-2.0 */
#include "encryptions.h"

#include "secrets.h"

static workload_sink sink;
static cm_frame_writer writer;
static cm_frame_sender sender;
static cm_device device;

static cm_status discard_residues(cm_emitter *self, unsigned component, unsigned prime, unsigned tile,
                                  const uint32_t *residues)
{
    (void)self;
    (void)component;
    (void)prime;
    (void)tile;
    (void)residues;
    return CM_OK;
}

cm_status encryptions_start(void)
{
    return workload_device(&device);
}

cm_status encryptions_prepare(const encryptions *of, uint32_t run, bool framed)
{
    const cm_status status = secrets_draw(run);
    of->make(of->arena, run);
    cm_frame_writer_init(&writer, workload_sink_open(&sink));
    if (!framed) {
        writer.emitter.residues = discard_residues;
    }
    return status;
}

void encryptions_tag(void)
{
    cm_frame_sender_init(&sender, secrets_tag_key(), WORKLOAD_DEVICE, WORKLOAD_EPOCH);
    cm_frame_writer_tag(&writer, &sender);
}

cm_encryptor_setup encryptions_setup(const encryptions *of, cm_xof_kind xof)
{
    return (cm_encryptor_setup){.device = &device,
                                .emitter = &writer.emitter,
                                .arena = of->arena,
                                .arena_bytes = of->arena_bytes,
                                .xof = xof,
                                .log2_tiles = WORKLOAD_LOG2_TILES};
}

cm_status encryptions_symmetric(const encryptions *of)
{
    const cm_secret_key key = secrets_key();
    const cm_encryptor_setup setup = encryptions_setup(of, WORKLOAD_XOF);
    cm_encryptor encryptor;
    const cm_status status = cm_encryptor_init_symmetric(&encryptor, &key, &setup);
    return status == CM_OK ? of->encrypt(&encryptor) : status;
}

cm_status encryptions_asymmetric(const encryptions *of)
{
    const cm_public_key key = workload_public();
    const cm_encryptor_setup setup = encryptions_setup(of, CM_XOF_NONE);
    cm_encryptor encryptor;
    const cm_status status = cm_encryptor_init_asymmetric(&encryptor, &key, &setup);
    return status == CM_OK ? of->encrypt(&encryptor) : status;
}
