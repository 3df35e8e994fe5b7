/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One attempt to deliver the open window, over HTTPS or over MQTT 5: frames go out as they are computed. The
 * answer is a receipt, to be checked, if the outcome is DONE; otherwise what the gateway wrote about it, if
 * anything.
 */
#ifndef DELIVERY_H
#define DELIVERY_H

#include <stddef.h>
#include <stdint.h>

#include "outcome.h"

#define ANSWER_BYTES 512u
#define ANSWER_MS 30000u /* so long an answer is waited for */

typedef struct answer {
    uint8_t bytes[ANSWER_BYTES]; /* the first of them, if there are more */
    size_t length;
} answer;

/* A connection of its own, which ends with the answer. */
outcome https_deliver(answer *out);

/* Over the connection to the broker, which is made if there is none. */
outcome mqtt_deliver(answer *out);
/* Keep that connection, if there is one: call this at least every few seconds. */
void mqtt_keep(void);
void mqtt_close(void);

/* Encrypt the window into the connection, and see that it is as long as was announced. */
outcome stream_window(void);

/* What a status of HTTP's, 100 to 599, means for a delivery; 200 is DONE. */
outcome judge_status(unsigned status);

#endif
