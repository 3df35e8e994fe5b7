/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A QEMU plugin that models the cycles of an Arm Cortex-M4 with zero-wait-state memory, and counts its
 * instructions exactly. It never changes what the firmware does. README.md says how far to trust it.
 *
 * Timings are those of Arm's Cortex-M4 Technical Reference Manual, section 3.3, with P = 2 for the refill
 * after a taken branch. Firmware marks regions with reserved hints (firmware/mark.h), which cost nothing
 * here; regions neither nest nor overlap.
 *
 * Options, name=value, of which only out is required:
 *   out      CSV: region, instructions, cycles, divisions, path, addresses; a line each time a region ends,
 *            -1 for the whole run. The last two are digests of the region so far: of every block of code
 *            entered, and of every address read or written. Then how many of each class (classes.h)
 *   profile  CSV: address, instructions, cycles; a line for each block of code
 *   region   the only region to profile
 *   stores   0: leave out the stalls that follow a store, for a lower bound
 *   isa      riscv: count instructions of RISC-V, each as a cycle; else they are Thumb's
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"

/* ---- the part of QEMU's plugin interface, version 1, that is used; Debian packages no header for it ---- */

typedef uint64_t qemu_plugin_id_t;
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, READS_AND_WRITES = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*translated)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*run)(unsigned, void *), int flags,
                                          void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, void (*run)(unsigned, void *),
                                            int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
                                      void (*accessed)(unsigned, uint32_t, uint64_t, void *), int flags,
                                      int kinds, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*ended)(qemu_plugin_id_t, void *), void *data);
bool qemu_plugin_mem_is_store(uint32_t access);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv);

#define EXPORTED __attribute__((visibility("default")))
extern int qemu_plugin_version;
EXPORTED int qemu_plugin_version = 1;

/* ---- the model's constants ---- */

enum {
    REFILL = 2,           /* after a taken branch */
    UNALIGNED_TARGET = 1, /* extra, if a wide instruction there straddles two words */
    FLASH_READ = 1,       /* a read of data from where code is fetched */
    AFTER_STORE = 1,      /* a single load or store right after a single store */
    DIVISION = 6,         /* 2 to 12, by operands: `divisions` shows whether there were any */
    FLOAT_DIVISION = 14,  /* and square roots */
    FLOAT_DEPENDENT = 1   /* a result that the next instruction needs */
};
#define RAM_START 0x20000000u

/* ---- one instruction ---- */

typedef enum kind { PLAIN, LOAD, STORE, MULTIPLE, FLOAT, IF_THEN, MARK } kind;

#define NOTHING (-1)

typedef struct instruction {
    kind kind;
    unsigned cycles;  /* on its own */
    uint32_t address; /* LOAD, STORE: the registers that make up the address, a bit each */
    int loaded;       /* LOAD: the register that receives */
    bool indexed;     /* STORE: to [register, register] */
    int result;       /* FLOAT: the single-precision register written */
    uint32_t sources; /* FLOAT: those read, a bit each */
    bool divides;
    unsigned mark;
} instruction;

static instruction plain(unsigned cycles)
{
    return (instruction){.kind = PLAIN, .cycles = cycles, .loaded = NOTHING, .result = NOTHING};
}

static instruction multiple(unsigned registers)
{
    instruction result = plain(1 + registers);
    result.kind = MULTIPLE;
    return result;
}

static instruction single(bool load, unsigned transferred, uint32_t address, bool indexed)
{
    instruction result = plain(load ? 2 : 1);
    result.kind = load ? LOAD : STORE;
    result.address = address;
    result.loaded = load ? (int)transferred : NOTHING;
    result.indexed = indexed && !load;
    return result;
}

static unsigned ones(uint32_t bits)
{
    return (unsigned)__builtin_popcount(bits);
}

static uint32_t bit(unsigned index)
{
    return (uint32_t)1 << (index & 31u);
}

static unsigned field(uint32_t word, unsigned lowest, unsigned width)
{
    return word >> lowest & (bit(width) - 1u);
}

/* The 16-bit encodings, by their upper four bits. */
static instruction decode_narrow(uint32_t code)
{
    const unsigned low_register = field(code, 0, 3);
    const uint32_t base = bit(field(code, 3, 3));
    switch (field(code, 12, 4)) {
    case 0x4:
        if (field(code, 11, 1)) { /* from the literal pool */
            return single(true, field(code, 8, 3), 0, false);
        }
        return plain(1);
    case 0x5:
        return single(field(code, 9, 3) >= 3, low_register, base | bit(field(code, 6, 3)), true);
    case 0x6:
    case 0x7:
    case 0x8:
        return single(field(code, 11, 1), low_register, base, false);
    case 0x9: /* relative to the stack pointer */
        return single(field(code, 11, 1), field(code, 8, 3), bit(13), false);
    case 0xB:
        if (field(code, 9, 2) == 2) { /* PUSH, POP */
            return multiple(ones(code & 0x1FFu));
        }
        if (field(code, 8, 4) == 0xF && field(code, 0, 4) != 0) {
            instruction result = plain(1);
            result.kind = IF_THEN;
            return result;
        }
        return plain(1);
    case 0xC:
        return multiple(ones(code & 0xFFu));
    default:
        return plain(1);
    }
}

static instruction float_operation(unsigned cycles, int result, uint32_t sources)
{
    instruction decoded = plain(cycles);
    decoded.kind = FLOAT;
    decoded.result = result;
    decoded.sources = sources;
    decoded.divides = cycles == FLOAT_DIVISION;
    return decoded;
}

/* CDP space with bit 4 clear: arithmetic on single-precision registers. */
static instruction decode_float_arithmetic(uint32_t code)
{
    const unsigned d = field(code, 12, 4) << 1 | field(code, 22, 1);
    const unsigned n = field(code, 16, 4) << 1 | field(code, 7, 1);
    const unsigned m = field(code, 0, 4) << 1 | field(code, 5, 1);
    const unsigned second = field(code, 16, 4);
    switch (field(code, 23, 1) << 2 | field(code, 20, 2)) {
    case 0: /* VMLA, VMLS */
    case 1: /* VNMLA, VNMLS */
    case 5: /* VFNMA, VFNMS */
    case 6: /* VFMA, VFMS */
        return float_operation(3, (int)d, bit(n) | bit(m) | bit(d));
    case 2: /* VMUL, VNMUL */
    case 3: /* VADD, VSUB */
        return float_operation(1, (int)d, bit(n) | bit(m));
    case 4:
        return float_operation(FLOAT_DIVISION, (int)d, bit(n) | bit(m));
    default:
        if (!field(code, 6, 1) || second == 0) { /* VMOV, VABS */
            return plain(1);
        }
        return float_operation(second == 1 && field(code, 7, 1) ? FLOAT_DIVISION : 1, (int)d, bit(m));
    }
}

static instruction decode_float(uint32_t code)
{
    if (field(code, 24, 4) == 0xE) {
        return field(code, 4, 1) ? plain(1) : decode_float_arithmetic(code);
    }
    if (field(code, 21, 7) == 0x62) { /* VMOV between two core registers and two of the FPU */
        return plain(2);
    }
    if (field(code, 24, 4) == 0xD && !field(code, 21, 1)) { /* VLDR, VSTR */
        return multiple(field(code, 8, 1) ? 2 : 1);
    }
    return multiple(field(code, 0, 8));
}

/* LDM, STM; LDRD, STRD; the exclusives; table branches. */
static instruction decode_multiple(uint32_t code)
{
    if (!field(code, 22, 1)) {
        return multiple(ones(code & 0xFFFFu));
    }
    if (field(code, 24, 1) || field(code, 21, 1)) { /* pre-indexed or with write-back: two words */
        return multiple(2);
    }
    if (field(code, 20, 4) == 0xD && field(code, 5, 11) == 0x780) { /* TBB, TBH */
        return plain(2);
    }
    return multiple(1);
}

static instruction decode_single(uint32_t code)
{
    const unsigned base = field(code, 16, 4);
    const bool indexed = !field(code, 23, 1) && base != 15 && field(code, 6, 6) == 0;
    const uint32_t address = bit(base) | (indexed ? bit(field(code, 0, 4)) : 0);
    return single(field(code, 20, 1), field(code, 12, 4), address, indexed);
}

#define HINT_CODE 0xF3AF8000u
#define MARK_MASK 0xFFFFFFC0u
#define MARK_CODE (HINT_CODE | 0x40u)

/* The 32-bit encodings, first half-word in the upper bits. */
static instruction decode_wide(uint32_t code)
{
    if (field(code, 26, 2) == 3) {
        return decode_float(code);
    }
    switch (field(code, 27, 2)) {
    case 1:
        return field(code, 25, 2) == 0 ? decode_multiple(code) : plain(1);
    case 2: {
        instruction result = plain(1);
        if ((code & MARK_MASK) == MARK_CODE) {
            result.kind = MARK;
            result.mark = code & 0x3Fu;
        } else if (field(code, 15, 1) && !field(code, 12, 1) && !field(code, 14, 1) &&
                   field(code, 23, 6) == 0x27 && code >> 16 != 0xF3AFu) {
            result.cycles = 2; /* MSR, MRS, barriers */
        }
        return result;
    }
    default:
        if (field(code, 25, 4) == 0xC) {
            return decode_single(code);
        }
        if (field(code, 22, 7) == 0x6E && field(code, 20, 1) && field(code, 4, 4) == 0xF) { /* SDIV, UDIV */
            instruction result = plain(DIVISION);
            result.divides = true;
            return result;
        }
        return plain(1);
    }
}

/* ---- RISC-V, whose instructions are only counted ---- */

static bool is_riscv;

static instruction decode_riscv(uint32_t code)
{
    instruction result = plain(1);
    if ((code & 0x000FFFFFu) == 0x2013u) { /* slti zero, zero, 64 + mark */
        result.kind = MARK;
        result.mark = code >> 20 & 0x3Fu;
    }
    result.divides = (code & 0xFE00407Fu) == 0x02004033u; /* DIV, DIVU, REM, REMU */
    return result;
}

/* ---- the pipeline ---- */

static bool stall_after_stores = true;

/* The cycles of one instruction after another. */
static unsigned cycles_after(const instruction *now, const instruction *before, bool before_is_narrow)
{
    const bool single_access = now->kind == LOAD || now->kind == STORE;
    if (now->kind == IF_THEN && before_is_narrow) {
        return 0;
    }
    if (before->kind == LOAD && now->kind == LOAD && !(now->address & bit((unsigned)before->loaded))) {
        return now->cycles - 1;
    }
    unsigned cycles = now->cycles;
    if (now->indexed && before->kind != LOAD) {
        cycles += 1; /* nothing hides the addition of the address */
    }
    if (single_access && before->kind == STORE && stall_after_stores) {
        cycles += AFTER_STORE;
    }
    if (now->kind == FLOAT && before->kind == FLOAT && before->result != NOTHING &&
        (now->sources & bit((unsigned)before->result))) {
        cycles += FLOAT_DEPENDENT;
    }
    return cycles;
}

/* ---- blocks of code, as QEMU translates them: entered at the first instruction, left after the last ---- */

typedef struct counts {
    uint64_t instructions;
    uint64_t cycles;
    uint64_t divisions;
    uint64_t classes[CLASSES];
} counts;

typedef struct block {
    uint64_t start;
    uint64_t end;
    counts once;         /* of one passage, refills and reads of flash left out */
    counts profiled;     /* of all passages in the profiled region */
    bool straddles_word; /* the first instruction */
    bool loops;          /* the last instruction ends a low-overhead loop */
    struct block *next;
} block;

typedef struct mark_site {
    const block *home;
    counts before; /* of home, ahead of the mark */
    unsigned mark;
} mark_site;

enum { REGIONS = 32, WHOLE_RUN = -1, NO_REGION = -2 };
#define DIGEST_START 0xCBF29CE484222325u /* FNV-1a */
#define DIGEST_PRIME 0x100000001B3u

static block *blocks;
static counts total;
static counts at_begin;
static bool left_by_loop;         /* the last block's `loops` */
static uint64_t expected_address; /* where the next block starts unless a branch was taken */
static uint64_t path;             /* a digest of every block entered */
static uint64_t addresses;        /* a digest of every address read or written */
static int open_region = NO_REGION;
static int profiled_region = WHOLE_RUN;
static FILE *report;
static FILE *profile;

static bool profiling(void)
{
    return profiled_region == WHOLE_RUN || profiled_region == open_region;
}

static uint64_t digest(uint64_t before, uint64_t event)
{
    return (before ^ event) * DIGEST_PRIME;
}

static void enter_block(unsigned cpu, void *data)
{
    (void)cpu;
    block *self = data;
    uint64_t cycles = self->once.cycles;
    if (self->start != expected_address) {
        cycles += REFILL;
        if (self->straddles_word) {
            cycles += UNALIGNED_TARGET;
        }
        total.classes[CLASS_TAKEN]++;
        total.classes[CLASS_LOOPED] += left_by_loop;
    }
    left_by_loop = self->loops;
    expected_address = self->end;
    total.instructions += self->once.instructions;
    total.cycles += cycles;
    total.divisions += self->once.divisions;
    for (int i = 0; i < CLASSES; i++) {
        total.classes[i] += self->once.classes[i];
    }
    if (profiling()) {
        self->profiled.instructions += self->once.instructions;
        self->profiled.cycles += cycles;
    }
    path = digest(path, self->start);
}

static void access_memory(unsigned cpu, uint32_t access, uint64_t address, void *data)
{
    (void)cpu;
    block *self = data;
    const bool store = qemu_plugin_mem_is_store(access);
    if (!store && address < RAM_START) {
        total.cycles += FLASH_READ;
        self->profiled.cycles += profiling() ? FLASH_READ : 0;
    }
    addresses = digest(addresses, address << 1 | (store ? 1u : 0u));
}

static void write_line(int region, const counts *spent)
{
    fprintf(report, "%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%016" PRIx64 ",%016" PRIx64, region,
            spent->instructions, spent->cycles, spent->divisions, path, addresses);
    for (int i = 0; i < CLASSES; i++) {
        fprintf(report, ",%" PRIu64, spent->classes[i]);
    }
    fputc('\n', report);
}

static counts difference(const counts *a, const counts *b)
{
    counts result = {
        a->instructions - b->instructions, a->cycles - b->cycles, a->divisions - b->divisions, {0}};
    for (int i = 0; i < CLASSES; i++) {
        result.classes[i] = a->classes[i] - b->classes[i];
    }
    return result;
}

/* The block was counted whole on entry; what comes after the mark is subtracted again. */
static void reach_mark(unsigned cpu, void *data)
{
    (void)cpu;
    const mark_site *site = data;
    const counts ahead = difference(&site->home->once, &site->before);
    const counts now = difference(&total, &ahead);
    const int region = (int)(site->mark % REGIONS);
    if (site->mark < REGIONS) {
        if (open_region != NO_REGION) {
            fprintf(stderr, "cycles: region %d begins inside region %d\n", region, open_region);
        }
        open_region = region;
        at_begin = now;
        path = DIGEST_START;
        addresses = DIGEST_START;
    } else if (open_region == region) {
        const counts spent = difference(&now, &at_begin);
        write_line(region, &spent);
        open_region = NO_REGION;
    } else {
        fprintf(stderr, "cycles: region %d ends without a begin\n", region);
    }
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory) {
        fputs("cycles: out of memory\n", stderr);
        abort();
    }
    return memory;
}

static void place_mark(struct qemu_plugin_insn *insn, const block *home, unsigned mark)
{
    mark_site *site = allocate(sizeof *site);
    site->home = home;
    site->before = home->once;
    site->mark = mark;
    qemu_plugin_register_vcpu_insn_exec_cb(insn, reach_mark, NO_REGISTERS, site);
}

static bool is_wide(const uint8_t *bytes)
{
    if (is_riscv) {
        return (bytes[0] & 3u) == 3u;
    }
    return bytes[1] >> 3 >= 0x1D; /* the upper five bits 11101, 11110 or 11111 */
}

static uint32_t half_word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

static instruction decode(const uint8_t *bytes)
{
    if (is_riscv) {
        return is_wide(bytes) ? decode_riscv(half_word(bytes) | half_word(bytes + 2) << 16) : plain(1);
    }
    return is_wide(bytes) ? decode_wide(half_word(bytes) << 16 | half_word(bytes + 2))
                          : decode_narrow(half_word(bytes));
}

static const char *const class_names[CLASSES] = {CLASS_NAMES};

static class_of classify(const uint8_t *bytes)
{
    const uint32_t narrow = half_word(bytes);
    if (!is_wide(bytes)) {
        return is_riscv ? class_compressed(narrow) : class_narrow(narrow);
    }
    const uint32_t next = half_word(bytes + 2);
    return is_riscv ? class_riscv(narrow | next << 16) : class_wide(narrow << 16 | next);
}

static void count_class(block *self, const class_of *now, unsigned loaded_before)
{
    self->once.classes[now->class]++;
    self->once.classes[CLASS_MOVED] += now->moved;
    self->once.classes[CLASS_RETURN] += now->returns;
    self->once.classes[CLASS_USED] += (now->sources >> loaded_before & 1u) != 0;
    self->loops = now->loops;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    block *self = allocate(sizeof *self);
    instruction before = plain(1);
    bool before_is_narrow = false;
    unsigned loaded = 0;
    const size_t count = qemu_plugin_tb_n_insns(tb);
    for (size_t i = 0; i < count; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint8_t *bytes = qemu_plugin_insn_data(insn);
        const uint64_t address = qemu_plugin_insn_vaddr(insn);
        /* QEMU 7.2 can be wrong about the size at the end of a page; the encoding never is. */
        const bool wide = is_wide(bytes);
        if (i == 0) {
            self->start = address;
            self->straddles_word = wide && (address & 2u);
        }
        self->end = address + (wide ? 4u : 2u);
        instruction now = decode(bytes);
        if (now.kind == MARK) {
            place_mark(insn, self, now.mark);
            now = plain(1);
            before_is_narrow = false;
        } else {
            qemu_plugin_register_vcpu_mem_cb(insn, access_memory, NO_REGISTERS, READS_AND_WRITES, self);
            self->once.instructions += 1;
            self->once.cycles += cycles_after(&now, &before, before_is_narrow);
            self->once.divisions += now.divides;
            const class_of class = classify(bytes);
            count_class(self, &class, loaded);
            loaded = class.loaded;
            before_is_narrow = !wide;
        }
        before = now;
    }
    self->next = blocks;
    blocks = self;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, enter_block, NO_REGISTERS, self);
}

static void finish(qemu_plugin_id_t id, void *data)
{
    (void)id;
    (void)data;
    write_line(WHOLE_RUN, &total);
    fclose(report);
    if (!profile) {
        return;
    }
    fputs("address,instructions,cycles\n", profile);
    for (const block *each = blocks; each; each = each->next) {
        if (each->profiled.instructions) {
            fprintf(profile, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", each->start,
                    each->profiled.instructions, each->profiled.cycles);
        }
    }
    fclose(profile);
}

/* ---- options ---- */

static FILE *open_for_writing(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "cycles: cannot write %s\n", path);
    }
    return file;
}

static bool is_named(const char *option, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(option, name, length) == 0 && option[length] == '=';
}

static bool apply_option(const char *option, const char *value)
{
    if (is_named(option, "out")) {
        report = open_for_writing(value);
        return report != NULL;
    }
    if (is_named(option, "profile")) {
        profile = open_for_writing(value);
        return profile != NULL;
    }
    if (is_named(option, "region")) {
        profiled_region = atoi(value);
        return true;
    }
    if (is_named(option, "isa")) {
        is_riscv = strcmp(value, "riscv") == 0;
        return is_riscv;
    }
    if (is_named(option, "stores")) {
        stall_after_stores = atoi(value) != 0;
        return true;
    }
    fprintf(stderr, "cycles: unknown option %s\n", option);
    return false;
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        if (!equals || !apply_option(argv[i], equals + 1)) {
            return -1;
        }
    }
    if (!report) {
        fputs("cycles: give out=FILE\n", stderr);
        return -1;
    }
    fputs("region,instructions,cycles,divisions,path,addresses", report);
    for (int i = 0; i < CLASSES; i++) {
        fprintf(report, ",%s", class_names[i]);
    }
    fputc('\n', report);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, finish, NULL);
    return 0;
}
