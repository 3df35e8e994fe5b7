/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test harness: named behaviours, counted checks, and nothing but printf, so that the same tests run on a
 * desktop and on bare metal. It never stops at a failure.
 *
 * A test file defines void test_<topic>(void), which opens each behaviour with BEHAVIOUR("...") and checks
 * it; main.c lists the topics. A failed check prints the behaviour it belongs to.
 */
#ifndef CM_TESTS_CHECK_H
#define CM_TESTS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct cm_checks {
    const char *topic;
    const char *behaviour;
    unsigned long passed;
    unsigned long failed;
    unsigned long left_out; /* behaviours that the build does not support */
} cm_checks;

extern cm_checks cm_check_state; /* in main.c */

/* The behaviour that the following checks test: a sentence that is true if they pass. */
#define BEHAVIOUR(sentence) (cm_check_state.behaviour = (sentence))

/* Run a function that is named after the behaviour it checks. */
#define RUN(function) (BEHAVIOUR(#function), (function)())

/* The same if the build supports it; main.c counts the behaviours that it does not support. */
#define RUN_IF(condition, function) \
    do { \
        if (condition) { \
            RUN(function); \
        } else { \
            cm_leave_out(1, #function, "needs " #condition); \
        } \
    } while (0)

#define CHECK(condition) cm_check((condition), #condition, __FILE__, __LINE__)

/* The bytes at actual and expected are the same. */
#define CHECK_BYTES(actual, expected, length) \
    cm_check_bytes((actual), (expected), (length), #actual, __FILE__, __LINE__)

/* The bytes at actual are those that the string of hexadecimal digits spells. */
#define CHECK_HEX(actual, digits) cm_check_hex((actual), (digits), #actual, __FILE__, __LINE__)

static inline void cm_leave_out(unsigned long count, const char *what, const char *reason)
{
    cm_check_state.left_out += count;
    printf("left out %s: %lu: %s (%s)\n", cm_check_state.topic, count, what, reason);
}

static inline bool cm_check(bool passed, const char *what, const char *file, int line)
{
    if (passed) {
        cm_check_state.passed++;
    } else {
        cm_check_state.failed++;
        printf("FAILED %s: %s\n    %s:%d: %s\n", cm_check_state.topic, cm_check_state.behaviour, file, line,
               what);
    }
    return passed;
}

/*
 * A pinned row has what the tests' buffers and the library's headers expect. A row that has not is for no
 * test to read: it fails, and says what to do about it.
 */
static inline bool cm_check_in_step(bool fits, const char *table)
{
    if (!fits) {
        cm_check_state.failed++;
        printf("FAILED %s: a row of %s is out of step with the headers in core/include: run "
               "tools/generate_vectors.py\n",
               cm_check_state.topic, table);
    }
    return fits;
}

/* Whether text is that many bytes as hexadecimal digits. */
static inline bool cm_is_hex_of(const char *text, size_t bytes)
{
    return text != NULL && strlen(text) == 2 * bytes;
}

/* Print the last line; returns the program's exit code. */
static inline int cm_check_summary(void)
{
    printf("%lu passed, %lu failed", cm_check_state.passed, cm_check_state.failed);
    if (cm_check_state.left_out > 0) {
        printf(", %lu behaviours left out of this build", cm_check_state.left_out);
    }
    printf("\n");
    return cm_check_state.failed == 0 ? 0 : 1;
}

static inline void cm_check_bytes(const void *actual, const void *expected, size_t length, const char *what,
                                  const char *file, int line)
{
    const uint8_t *a = (const uint8_t *)actual;
    const uint8_t *e = (const uint8_t *)expected;
    size_t i = 0;
    while (i < length && a[i] == e[i]) {
        i++;
    }
    if (!cm_check(i == length, what, file, line)) {
        printf("    byte %lu of %lu is %02x, expected %02x\n", (unsigned long)i, (unsigned long)length, a[i],
               e[i]);
    }
}

static inline unsigned cm_check_hex_digit(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
}

static inline void cm_check_hex(const void *actual, const char *digits, const char *what, const char *file,
                                int line)
{
    const uint8_t *a = (const uint8_t *)actual;
    size_t length = strlen(digits) / 2;
    size_t i = 0;
    unsigned expected = 0;
    for (; i < length; i++) {
        expected = cm_check_hex_digit(digits[2 * i]) << 4 | cm_check_hex_digit(digits[2 * i + 1]);
        if (a[i] != expected) {
            break;
        }
    }
    if (!cm_check(i == length, what, file, line)) {
        printf("    byte %lu of %lu is %02x, expected %02x\n", (unsigned long)i, (unsigned long)length, a[i],
               expected);
    }
}

#endif
