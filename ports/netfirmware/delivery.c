/* SPDX-License-Identifier: Apache-2.0 */
/* What deliveries over HTTPS and MQTT have in common. */
#include "delivery.h"

#include "ciphermote/ciphermote.h"
#include "sensor.h"
#include "tls.h"
#include "work.h"

typedef struct stream {
    size_t sent;
    outcome result;
} stream;

static int to_connection(void *context, const uint8_t *bytes, size_t length)
{
    stream *const to = context;
    to->result = tls_write(bytes, length);
    to->sent += length;
    return to->result == DONE ? 0 : -1;
}

static outcome send_window(void)
{
    stream to = {.result = DONE};
    const cm_status status = sensor_send((cm_sink){.write = to_connection, .context = &to});
    if (to.result != DONE) {
        return to.result;
    }
    if (status != CM_OK) {
        return outcome_set(REFUSED, cm_status_text(status));
    }
    return to.sent == sensor_window_bytes()
               ? tls_flush()
               : outcome_set(REFUSED, "The window was not as long as announced: report this as a bug.");
}

outcome stream_window(void)
{
    work_begin(WORK_WINDOW);
    const outcome result = send_window();
    work_end();
    return result;
}

outcome judge_status(unsigned status)
{
    if (status == 200) {
        return DONE;
    }
    if (status == 429 || status >= 500 || status < 400) {
        return outcome_set(TRY_AGAIN, "The gateway takes nothing now, or has not got everything.");
    }
    return outcome_set(REFUSED, status == 401
                                    ? "The gateway does not know the device's token: enroll it again."
                                    : "The gateway refused the window.");
}
