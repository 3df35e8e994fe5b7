/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin for QEMU (7.2 and later: its plugins' interface of version 1) that prints how many instructions a
 * program executed, as one line "instructions N" on standard error. With the argument mark=NUMBER it also
 * prints "mark N" at each system call of that number: how many instructions it was until then. For programs
 * of one thread. Debian does not package the interface's header, so what is used of it is declared here.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct qemu_plugin_tb;
typedef uint64_t qemu_plugin_id_t;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*callback)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, enum qemu_plugin_op op, void *at,
                                              uint64_t by);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_syscall_cb)(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1,
                                       uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
                                       uint64_t a7, uint64_t a8);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_syscall_cb callback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void *),
                                    void *data);

int qemu_plugin_version = 1;
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments);

static uint64_t executed;
static int64_t marking;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &executed,
                                             qemu_plugin_tb_n_insns(tb));
}

static void called(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                   uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id;
    (void)cpu;
    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if (number == marking) {
        fprintf(stderr, "mark %" PRIu64 "\n", executed);
    }
}

static void ended(qemu_plugin_id_t id, void *data)
{
    (void)id;
    (void)data;
    fprintf(stderr, "instructions %" PRIu64 "\n", executed);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int count, char **arguments)
{
    (void)info;
    for (int i = 0; i < count; i++) {
        if (strncmp(arguments[i], "mark=", 5) != 0) {
            fprintf(stderr, "The counter does not know %s.\n", arguments[i]);
            return 1;
        }
        marking = strtoll(arguments[i] + 5, NULL, 10);
        qemu_plugin_register_vcpu_syscall_cb(id, called);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
