/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs every C test. The last line says "N passed, N failed" (checks), and how many behaviours the build
 * leaves out; the exit code is nonzero if a check failed.
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
};

int main(void)
{
    for (size_t i = 0; i < sizeof topics / sizeof topics[0]; i++) {
        unsigned long passed = cm_check_state.passed;
        unsigned long failed = cm_check_state.failed;
        cm_check_state.topic = topics[i].name;
        cm_check_state.behaviour = "(no behaviour named)";
        topics[i].run();
        printf("%-10s %lu checks, %lu failed\n", topics[i].name, cm_check_state.passed - passed,
               cm_check_state.failed - failed);
    }
    return cm_check_summary();
}
