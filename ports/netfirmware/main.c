/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device that speaks for itself: it encrypts a window, delivers it to the gateway over TLS, and keeps its
 * readings until it has checked the receipt. The UART stands for its timer and its display: a line `https` or
 * `mqtt` delivers a window that way, the open one again if there is one, `report` prints what memory is used,
 * and `stop` ends the simulation. README.md has the answers.
 */
#include <string.h>

#include "board.h"
#include "clock.h"
#include "delivery.h"
#include "memory.h"
#include "network.h"
#include "network_settings.h"
#include "sensor.h"
#include "text.h"
#include "tls.h"

#define COMMAND_BYTES 16u
#define POLL_MS 10u
#define FIRST_PAUSE_MS 250u
#define LONGEST_PAUSE_MS 4000u
#ifndef MOST_ATTEMPTS
#define MOST_ATTEMPTS 60u /* of a command; the window stays open after them */
#endif

static void print_fault(const char *what, const answer *said)
{
    text_print(what);
    text_print(outcome_sentence());
    if (said && said->length > 0) {
        text_print(" It wrote: ");
        text_print_bytes(said->bytes, said->length);
    }
    text_print("\n");
}

static void print_delivered(uint64_t window, unsigned attempts, size_t bytes, cm_verdict verdict)
{
    text_print("delivered window=");
    text_print_number(window);
    text_print(" attempts=");
    text_print_number(attempts);
    text_print(" bytes=");
    text_print_number(bytes);
    text_print(" verdict=");
    text_print_number((uint64_t)verdict);
    text_print(" measured=");
    text_print_number(sensor_measured());
    text_print("\n");
}

/* One attempt, up to its receipt. */
static outcome attempt(outcome (*deliver)(answer *), answer *said, cm_verdict *verdict)
{
    const outcome result = deliver(said);
    if (result != DONE) {
        return result;
    }
    const cm_status status = sensor_take_receipt(said->bytes, said->length, verdict);
    said->length = 0;
    return status == CM_OK ? DONE
                           : outcome_set(TRY_AGAIN, "What came is not the gateway's receipt for the attempt "
                                                    "just sent, so the window is kept.");
}

static void pause_for(uint32_t milliseconds)
{
    const uint32_t began = clock_ms();
    while (!clock_passed(began, milliseconds)) {
        network_wait();
    }
}

/* Send the open window, or a new one, until its receipt has come. */
static void deliver_window(outcome (*deliver)(answer *))
{
    static answer said;
    if (!sensor_open() && sensor_measure() != DONE) {
        print_fault("refused: ", NULL);
        return;
    }
    const size_t bytes = sensor_window_bytes();
    uint32_t wait = FIRST_PAUSE_MS;
    for (unsigned tries = 1; tries <= MOST_ATTEMPTS; tries++) {
        cm_verdict verdict = CM_VERDICT_NONE;
        said.length = 0;
        const outcome result = attempt(deliver, &said, &verdict);
        if (result == DONE) {
            print_delivered(sensor_window(), tries, bytes, verdict);
            return;
        }
        if (result == REFUSED) {
            print_fault("refused: ", &said);
            return;
        }
        print_fault("again: ", &said);
        pause_for(wait);
        wait = 2u * wait < LONGEST_PAUSE_MS ? 2u * wait : LONGEST_PAUSE_MS;
    }
    text_print("refused: The window had no receipt after the most attempts; it is kept.\n");
}

static void print_figure(const char *name, size_t bytes)
{
    text_print(name);
    text_print_number(bytes);
}

static void report(void)
{
    const size_t stack = stack_used();
    print_figure("report static=", static_bytes());
    print_figure(" stack=", stack);
    print_figure(" ram=", static_bytes() + stack);
    print_figure(" pool=", tls_pool_bytes());
    print_figure(" pool_used=", tls_pool_used());
    print_figure(" open=", sensor_open());
    text_print("\n");
}

/* The next line of the UART without its end; the network is served meanwhile. */
static void read_command(char command[COMMAND_BYTES])
{
    size_t length = 0;
    for (;;) {
        uint8_t byte;
        network_poll();
        mqtt_keep();
        if (uart_receive(&byte, 1, POLL_MS) == 0 || byte == '\r') {
            continue;
        }
        if (byte == '\n') {
            break;
        }
        if (length < COMMAND_BYTES - 1u) {
            command[length++] = (char)byte;
        }
    }
    command[length] = '\0';
}

static void run(void)
{
    char command[COMMAND_BYTES];
    text_print("ready\n");
    for (;;) {
        read_command(command);
        if (strcmp(command, "https") == 0) {
            deliver_window(https_deliver);
        } else if (strcmp(command, "mqtt") == 0) {
            deliver_window(mqtt_deliver);
        } else if (strcmp(command, "report") == 0) {
            report();
        } else if (strcmp(command, "stop") == 0) {
            mqtt_close();
            return;
        } else {
            text_print("refused: The commands are https, mqtt, report and stop.\n");
        }
    }
}

int main(void)
{
    stack_paint();
    clock_start();
    if (network_start() != DONE) { /* first: a radio may be what the random source needs */
        print_fault("refused: ", NULL);
        return 1;
    }
    const cm_status status = sensor_start();
    if (status != CM_OK) {
        text_print("refused: ");
        text_print(cm_status_text(status));
        text_print("\n");
        return 1;
    }
    if (tls_start(network_authority, sizeof network_authority) != DONE) {
        print_fault("refused: ", NULL);
        return 1;
    }
    run();
    return 0;
}
