/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the C tests: all of them, or those of the topics whose name contains the argument.
 *
 *     core_tests [TOPIC]
 *     core_tests --list
 *
 * The last line says "N passed, N failed" (checks), and how many behaviours the build leaves out; the exit
 * code is nonzero if a check failed, or if no topic has such a name. On a microcontroller, which has no
 * arguments, all of them run.
 */
#include "check.h"

cm_checks cm_check_state;

void test_aided(void);
void test_arch(void);
void test_bfv(void);
void test_compact(void);
void test_decrypt(void);
void test_decryptor(void);
void test_encode(void);
void test_keygen(void);
void test_random(void);
void test_receipt(void);
void test_ring(void);
void test_round_trip(void);
void test_scheme(void);
void test_stack(void);
void test_streamed(void);
void test_vectors(void);
void test_wire(void);

typedef struct cm_test_topic {
    const char *name;
    void (*run)(void);
} cm_test_topic;

static const cm_test_topic topics[] = {
    {"ring", test_ring},           {"random", test_random},
    {"encode", test_encode},       {"bfv", test_bfv},
    {"scheme", test_scheme},       {"decrypt", test_decrypt},
    {"decryptor", test_decryptor}, {"keygen", test_keygen},
    {"wire", test_wire},           {"round trip", test_round_trip},
    {"aided", test_aided},         {"vectors", test_vectors},
    {"compact", test_compact},     {"receipt", test_receipt},
    {"stack", test_stack},         {"arch", test_arch},
    {"streamed", test_streamed},
};

enum { TOPICS = sizeof topics / sizeof topics[0] };

static void run_topic(const cm_test_topic *topic)
{
    const unsigned long passed = cm_check_state.passed;
    const unsigned long failed = cm_check_state.failed;
    cm_check_state.topic = topic->name;
    cm_check_state.behaviour = "(no behaviour named)";
    topic->run();
    printf("%-10s %lu checks, %lu failed\n", topic->name, cm_check_state.passed - passed,
           cm_check_state.failed - failed);
}

/* filter: part of the names of the topics to run; NULL: all. */
static int run_topics(const char *filter)
{
    unsigned found = 0;
    for (size_t i = 0; i < TOPICS; i++) {
        if (filter == NULL || strstr(topics[i].name, filter) != NULL) {
            run_topic(&topics[i]);
            found++;
        }
    }
    if (found == 0) {
        printf("No topic has %s in its name: core_tests --list names them.\n", filter);
        return 2;
    }
    return cm_check_summary();
}

#if defined(__unix__) && !defined(CM_TEST_NO_ARGUMENTS)

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a crash leaves the lines before it */
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < TOPICS; i++) {
            printf("%s\n", topics[i].name);
        }
        return 0;
    }
    if (argc > 2) {
        printf("One argument is taken: part of a topic's name, or --list.\n");
        return 2;
    }
    return run_topics(argc == 2 ? argv[1] : NULL);
}

#else

int main(void)
{
    return run_topics(NULL);
}

#endif
