/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constant-time test (watch.h explains how it works). Run it under valgrind: without arguments, all
 * behaviours; with names, those only; with "leaks", whether leaks are found.
 *
 * Divisions, and multiplications whose time varies, are beyond memcheck: see docs/security.md.
 * tools/test_leaks.py plants leaks in the library, to check that the behaviours find them.
 */
#include <stdlib.h>
#include <string.h>
#include <valgrind/valgrind.h>

#include "watch.h"

typedef void visit(const behaviour *one);

static const behaviour *const lists[] = {key_behaviours, encryption_behaviours, decryption_behaviours,
                                         compact_behaviours};

static void visit_list(const behaviour *list, visit *each)
{
    for (; list->name; list++) {
        each(list);
    }
}

static void visit_all(visit *each)
{
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        visit_list(lists[i], each);
    }
}

/* Behaviours do not depend on one another: each begins with its own device and key. */
static void run(const behaviour *one)
{
    BEHAVIOUR(one->name);
    memset(&platform, 0, sizeof platform);
    start_device();
    make_secret_key(&cm_n1024_q26);
    one->run();
}

static const char *wanted;
static bool found;

static void run_if_wanted(const behaviour *one)
{
    if (strcmp(one->name, wanted) == 0) {
        found = true;
        run(one);
    }
}

static void run_named(const char *name)
{
    wanted = name;
    found = false;
    visit_all(run_if_wanted);
    CHECK(found);
}

int main(int count, char **arguments)
{
    cm_check_state.topic = "constant time";
    if (!RUNNING_ON_VALGRIND) {
        puts("This test shows nothing by itself: run it as `valgrind ./constant_time_tests`.");
        return EXIT_FAILURE;
    }
    if (count == 2 && strcmp(arguments[1], "leaks") == 0) {
        visit_list(planted_behaviours, run);
    } else if (count == 1) {
        visit_all(run);
    }
    for (int i = 1; i < count && strcmp(arguments[1], "leaks") != 0; i++) {
        run_named(arguments[i]);
    }
    return cm_check_summary();
}
