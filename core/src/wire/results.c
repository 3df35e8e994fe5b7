/* SPDX-License-Identifier: Apache-2.0 */
/* Results for a device: whether a frame answers the attempt that it was told of, under the result key. */
#include <stdbool.h>
#include <string.h>

#include "ciphermote/frame.h"
#include "wire/tag.h"

_Static_assert(sizeof(cmi_tagger) <= sizeof((cm_frame_expected *)0)->state,
               "state has room for a tag so far");

static cmi_tagger *result_tagger(cm_frame_expected *self)
{
    return (cmi_tagger *)(void *)self->state;
}

/* All of these fields are public; that they are said by who holds the key is known at the frame's end. */
static bool answers(const cm_frame_expected *self, const cm_frame *frame)
{
    return frame->device == self->device && frame->epoch == self->epoch &&
           frame->info.counter == self->counter &&
           frame->info.counter - frame->since_window == self->window &&
           memcmp(frame->random, self->random, sizeof frame->random) == 0;
}

static cm_status begin_result(cm_frame_expected *self, const cm_frame *frame)
{
    if (!answers(self, frame)) {
        return CM_ERR_FRAME_FOREIGN;
    }
    if (!cmi_tag_key_usable(self->result_key)) {
        return CM_ERR_ARGUMENT;
    }
    cmi_tagger_begin(result_tagger(self), self->result_key);
    return CM_OK;
}

static void absorb_result(cm_frame_expected *self, const uint8_t *bytes, size_t length)
{
    cmi_tagger_update(result_tagger(self), bytes, length);
}

static cm_status end_result(cm_frame_expected *self, const uint8_t tag[CM_TAG_BYTES])
{
    return cmi_tagger_verify(result_tagger(self), self->result_key, tag);
}

void cm_frame_expected_init(cm_frame_expected *expected, const uint8_t *result_key, uint32_t device,
                            uint16_t epoch)
{
    memset(expected, 0, sizeof *expected);
    expected->result_key = result_key;
    expected->device = device;
    expected->epoch = epoch;
    expected->begin = result_key ? begin_result : NULL;
    expected->absorb = absorb_result;
    expected->end = end_result;
}
