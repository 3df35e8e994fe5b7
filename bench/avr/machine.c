/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated AVR for tests and benches: libsimavr with exact cycles by region or by call, the stack's lowest
 * point, UART text, and digests of the code that ran and of the addresses it touched. machine.py is its other
 * half.
 *
 * Firmware marks regions by writes to GPIOR0: 0x80 | r begins region r, r ends it. Writes of 1 and 0 to
 * GPIOR1 pause and resume all counting, for waits that are not work, such as a UART's; machine_wait_in names
 * a function that contains such a loop. On chips without a UART, what is written to GPIOR2 is sent. What is
 * read from GPIOR1 is what machine_feed gave, byte by byte; when there is no more, the run ends.
 */
#include <simavr/avr_eeprom.h>
#include <simavr/avr_uart.h>
#include <simavr/avr_watchdog.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <simavr/sim_io.h>
#include <simavr/sim_time.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EEMPE 0x04
#define EEPE 0x02
#define EEPROM_WRITE_MICROSECONDS 3400
#define MCUSR 0x54
#define WDRF 0x08
#define WDIF 0x80
#define WDIE 0x40
#define WDCE 0x10
#define WDE 0x08
#define WDP_BITS 0x27
#define WATCHDOG_HERTZ 128000u
#define WATCHDOG_TURNS 2048u /* of its oscillator, to the shortest time-out */
#define REGION_BEGIN 0x80
#define REGIONS 0x80
/* The write that begins a region, and the ldi before the one that ends it. */
#define MARK_CYCLES 2

#define OUT_SPH 0xBE0Eu
#define OUT_SPL 0xBE0Du

#define FNV_BASIS 0xCBF29CE484222325u
#define FNV_PRIME 0x100000001B3u

/* Where a chip has its registers, in the data space. */
typedef struct registers {
    uint8_t gpior0;
    uint8_t gpior1;
    uint8_t gpior2;
    uint8_t eecr;
    uint8_t wdtcsr;
} registers;

static const registers ATMEGA = {0x3E, 0x4A, 0x4B, 0x3F, 0x60};
static const registers ATTINY = {0x31, 0x32, 0x33, 0x3C, 0x41};

typedef struct counts {
    uint64_t cycles;
    uint64_t paused;    /* cycles left out */
    uint64_t path;      /* digest of the addresses of the instructions */
    uint64_t addresses; /* digest of the data and flash addresses they read and wrote */
    uint32_t region;
    uint32_t lowest_sp;
    uint32_t deepest; /* the instruction that took it there */
} counts;

/* A function that waits in a loop: the time between the first jump back and the last is not work. */
typedef struct wait {
    uint32_t start; /* of its code; 0 if there is none */
    uint32_t end;
    int inside;
    uint32_t sp; /* at its entry */
    uint32_t at; /* the last address in it */
    avr_cycle_count_t first;
    avr_cycle_count_t last;
} wait;

typedef struct watchdog {
    const uint32_t *periods; /* of successive time-outs, in cycles; null for the data sheet's */
    size_t count;
    size_t used;
    avr_cycle_count_t next;         /* time-out; 0 if it does not run */
    avr_cycle_count_t change_until; /* WDCE's time */
    int always_on;                  /* the fuse WDTON */
    int bit;                        /* it has reset the core, or called a vector */
} watchdog;

typedef struct machine {
    avr_t *avr;
    registers at;
    watchdog dog;
    counts open;
    avr_cycle_count_t began;
    avr_cycle_count_t paused_at;
    int paused;
    int torn_sp;
    int digests;
    wait waits;
    avr_cycle_count_t eeprom_busy_until; /* 0 if no write is going on */
    counts *ended;
    size_t ended_count;
    size_t ended_room;
    char *text;
    size_t text_length;
    size_t text_room;
    const uint8_t *fed; /* the caller keeps it alive */
    size_t fed_bytes;
    int starved;        /* the firmware has asked for more */
    uint32_t lowest_sp; /* of the whole run */
    uint64_t *profile;  /* cycles by instruction, or null */
} machine;

/* ---- regions ---- */

static void open_counts(machine *m, uint32_t region)
{
    m->open = (counts){.path = FNV_BASIS, .addresses = FNV_BASIS, .region = region, .lowest_sp = UINT32_MAX};
    m->began = m->avr->cycle;
}

static void mark(avr_t *avr, avr_io_addr_t address, uint8_t value, void *context)
{
    machine *m = context;
    avr->data[address] = value;
    if (value & REGION_BEGIN) {
        open_counts(m, value & (REGION_BEGIN - 1));
        return;
    }
    m->open.cycles = avr->cycle - m->began - m->open.paused - MARK_CYCLES;
    if (m->ended_count == m->ended_room) {
        m->ended_room = m->ended_room ? 2 * m->ended_room : 64;
        m->ended = realloc(m->ended, m->ended_room * sizeof *m->ended);
        if (!m->ended) {
            abort();
        }
    }
    m->ended[m->ended_count++] = m->open;
}

static void pause_counts(avr_t *avr, avr_io_addr_t address, uint8_t value, void *context)
{
    machine *m = context;
    avr->data[address] = value;
    if (value && !m->paused) {
        m->paused_at = avr->cycle;
    } else if (!value && m->paused) {
        m->open.paused += avr->cycle - m->paused_at;
    }
    m->paused = value != 0;
}

/* ---- the UART ---- */

static void receive_byte(machine *m, uint8_t value)
{
    if (m->text_length == m->text_room) {
        m->text_room = m->text_room ? 2 * m->text_room : 4096;
        m->text = realloc(m->text, m->text_room);
        if (!m->text) {
            abort();
        }
    }
    m->text[m->text_length++] = (char)value;
}

static void receive(struct avr_irq_t *irq, uint32_t value, void *context)
{
    (void)irq;
    receive_byte(context, (uint8_t)value);
}

/* ---- the same without one ---- */

static void receive_register(avr_t *avr, avr_io_addr_t address, uint8_t value, void *context)
{
    avr->data[address] = value;
    receive_byte(context, value);
}

static uint8_t feed(avr_t *avr, avr_io_addr_t address, void *context)
{
    machine *m = context;
    if (m->fed_bytes == 0) {
        m->starved = 1;
        return avr->data[address];
    }
    m->fed_bytes--;
    return *m->fed++;
}

/* ---- running ---- */

static uint64_t fnv(uint64_t digest, uint32_t word)
{
    return (digest ^ word) * FNV_PRIME;
}

static uint32_t pair(const avr_t *avr, unsigned low)
{
    return (uint32_t)avr->data[low] | (uint32_t)avr->data[low + 1] << 8;
}

/*
 * The address that an instruction will read or write; UINT32_MAX if none, or one that the code alone
 * determines.
 */
static uint32_t data_address(const avr_t *avr, unsigned op)
{
    enum { X = 26, Y = 28, Z = 30 };
    if ((op & 0xD000u) == 0x8000u) { /* LDD, STD */
        return pair(avr, op & 8u ? Y : Z);
    }
    if (op == 0x95C8u || (op & 0xFE0Eu) == 0x9004u || (op & 0xFE0Eu) == 0x9006u) { /* LPM, ELPM */
        return 0x10000u | pair(avr, Z);
    }
    if ((op & 0xFC00u) != 0x9000u) {
        return UINT32_MAX;
    }
    switch (op & 15u) {
    case 1:
    case 2:
        return pair(avr, Z);
    case 9:
    case 10:
        return pair(avr, Y);
    case 12:
    case 13:
    case 14:
        return pair(avr, X);
    default:
        return UINT32_MAX;
    }
}

static void follow_wait(machine *m)
{
    wait *w = &m->waits;
    const avr_t *avr = m->avr;
    if (w->inside && pair(avr, R_SPL) > w->sp) {
        m->open.paused += w->last - w->first;
        w->inside = 0;
    }
    if (avr->pc == w->start && !w->inside) {
        w->inside = 1;
        w->sp = pair(avr, R_SPL);
        w->at = 0;
        w->first = w->last = 0;
    }
    if (!w->inside || avr->pc < w->start || avr->pc >= w->end) {
        return;
    }
    if (avr->pc < w->at) {
        w->last = avr->cycle;
        w->first = w->first ? w->first : w->last;
    }
    w->at = avr->pc;
}

/* libsimavr writes to EEPROM instantly: keep EEPE set for as long as the data sheet says. */
static void follow_eeprom(machine *m, int begun)
{
    avr_t *avr = m->avr;
    if (begun) {
        avr->data[m->at.eecr] |= EEPE;
        m->eeprom_busy_until = avr->cycle + avr_usec_to_cycles(avr, EEPROM_WRITE_MICROSECONDS);
    } else if (m->eeprom_busy_until && avr->cycle >= m->eeprom_busy_until) {
        avr->data[m->at.eecr] &= (uint8_t)~EEPE;
        m->eeprom_busy_until = 0;
    }
}

/* ---- the watchdog ---- */

/*
 * Replaces libsimavr's watchdog, whose WDIF cannot be cleared and which has no jitter: here each period's
 * length is given. A reset or an interrupt ends the run: nothing here is meant to have one.
 */
static uint8_t watchdog_shift(const machine *m)
{
    const uint8_t control = m->avr->data[m->at.wdtcsr];
    return (uint8_t)((control & 7u) | (control & 0x20u) >> 2);
}

static void watchdog_restart(machine *m, avr_cycle_count_t from)
{
    watchdog *dog = &m->dog;
    dog->next = 0;
    if (!(m->avr->data[m->at.wdtcsr] & (WDIE | WDE))) {
        return;
    }
    avr_cycle_count_t period = (avr_cycle_count_t)WATCHDOG_TURNS * m->avr->frequency / WATCHDOG_HERTZ;
    if (dog->periods) {
        period = dog->used < dog->count ? dog->periods[dog->used++] : 0;
    }
    dog->next = period ? from + (period << watchdog_shift(m)) : 0;
}

static void watchdog_write(avr_t *avr, avr_io_addr_t address, uint8_t value, void *context)
{
    machine *m = context;
    const uint8_t old = avr->data[address];
    const uint8_t flag = value & WDIF ? 0 : old & WDIF;
    uint8_t control = (uint8_t)((old & (WDE | WDP_BITS)) | (value & (WDIE | WDE)));
    if ((value & WDCE) && (value & WDE)) {
        m->dog.change_until = avr->cycle + 4;
    } else if (avr->cycle <= m->dog.change_until) {
        control = value & (WDIE | WDE | WDP_BITS);
        m->dog.change_until = 0;
    }
    if (avr->data[MCUSR] & WDRF) {
        control |= WDE;
    }
    if (m->dog.always_on) {
        control = (uint8_t)((control | WDE) & ~WDIE);
    }
    avr->data[address] = (uint8_t)(flag | control);
    if (!(control & (WDIE | WDE)) || !m->dog.next || ((old ^ control) & WDP_BITS)) {
        watchdog_restart(m, avr->cycle);
    }
}

/* WDR. */
static int watchdog_ioctl(avr_io_t *io, uint32_t control, void *context)
{
    (void)context;
    if (control != AVR_IOCTL_WATCHDOG_RESET) {
        return -1;
    }
    const avr_t *avr = io->avr;
    const int mega = avr->io[AVR_DATA_TO_IO(ATMEGA.wdtcsr)].w.c == watchdog_write;
    watchdog_restart(avr->io[AVR_DATA_TO_IO(mega ? ATMEGA.wdtcsr : ATTINY.wdtcsr)].w.param, avr->cycle);
    return 0;
}

static void watchdog_take_over(machine *m)
{
    avr_t *avr = m->avr;
    for (avr_io_t *io = avr->io_port; io; io = io->next) {
        if (strcmp(io->kind, "watchdog") == 0) {
            io->ioctl = watchdog_ioctl;
        }
    }
    avr->io[AVR_DATA_TO_IO(m->at.wdtcsr)].w.c = watchdog_write;
    avr->io[AVR_DATA_TO_IO(m->at.wdtcsr)].w.param = m;
}

static int follow_watchdog(machine *m, int state)
{
    avr_t *avr = m->avr;
    uint8_t *control = &avr->data[m->at.wdtcsr];
    if (m->dog.next && avr->cycle >= m->dog.next) {
        m->dog.bit |= !(*control & WDIE) || ((*control & WDE) && (*control & WDIF));
        *control |= WDIF;
        watchdog_restart(m, m->dog.next);
    }
    m->dog.bit |= (*control & WDIF) && (*control & WDIE) && avr->sreg[S_I];
    return m->dog.bit ? cpu_Crashed : state;
}

/* ---- stepping ---- */

/* Whether an instruction sets EEPE: sbi, or out from any register. */
static int starts_eeprom_write(const machine *m, unsigned op)
{
    const unsigned eecr = m->at.eecr - 0x20u;
    return op == (0x9A01u | eecr << 3) || (op & 0xFE0Fu) == (0xB800u | (eecr & 0x30u) << 5 | (eecr & 15u));
}

static int step(machine *m)
{
    avr_t *avr = m->avr;
    const int armed = avr->data[m->at.eecr] & EEMPE;
    const unsigned op = avr->flash[avr->pc] | (unsigned)avr->flash[avr->pc + 1] << 8;
    if (m->digests && !m->paused) {
        m->open.path = fnv(m->open.path, avr->pc);
        const uint32_t address = data_address(avr, op);
        if (address != UINT32_MAX) {
            m->open.addresses = fnv(m->open.addresses, address);
        }
    }
    const avr_flashaddr_t at = avr->pc;
    const avr_cycle_count_t before = avr->cycle;
    const int state = follow_watchdog(m, avr_run(avr));
    follow_eeprom(m, armed && starts_eeprom_write(m, op));
    if (m->waits.start) {
        follow_wait(m);
    }
    if (m->profile && !m->paused) {
        m->profile[at >> 1] += avr->cycle - before;
    }
    /* Between the writes of its upper and its lower byte, the stack pointer has neither value. */
    if ((op & 0xFE0Fu) == OUT_SPH) {
        m->torn_sp = 1;
    } else if ((op & 0xFE0Fu) == OUT_SPL) {
        m->torn_sp = 0;
    }
    const uint32_t sp = pair(avr, R_SPL);
    if (sp < m->open.lowest_sp && !m->torn_sp) {
        m->open.lowest_sp = sp;
        m->open.deepest = at;
        m->lowest_sp = sp < m->lowest_sp && sp > 0 ? sp : m->lowest_sp;
    }
    if (m->starved) {
        avr->pc = at; /* reads again, once there is more */
        return cpu_Crashed;
    }
    return state;
}

static void no_sleep(avr_t *avr, avr_cycle_count_t cycles)
{
    (void)avr;
    (void)cycles;
}

static void no_log(avr_t *avr, const int level, const char *format, va_list arguments)
{
    (void)avr;
    (void)level;
    (void)format;
    (void)arguments;
}

/* ---- what machine.py calls ---- */

machine *machine_open(const char *elf, const char *mcu, uint32_t frequency)
{
    elf_firmware_t firmware;
    memset(&firmware, 0, sizeof firmware);
    avr_global_logger_set(no_log);
    if (elf_read_firmware(elf, &firmware) != 0) {
        return NULL;
    }
    machine *m = calloc(1, sizeof *m);
    if (!m || !(m->avr = avr_make_mcu_by_name(mcu))) {
        free(m);
        return NULL;
    }
    avr_t *avr = m->avr;
    avr_init(avr);
    avr->log = LOG_NONE;
    firmware.frequency = frequency;
    avr_load_firmware(avr, &firmware);
    avr->sleep = no_sleep;
    m->at = strncmp(mcu, "attiny", 6) == 0 ? ATTINY : ATMEGA;
    m->lowest_sp = UINT32_MAX;
    avr_register_io_write(avr, m->at.gpior0, mark, m);
    avr_register_io_write(avr, m->at.gpior1, pause_counts, m);
    if (m->at.gpior2 == ATTINY.gpior2) {
        avr_register_io_write(avr, m->at.gpior2, receive_register, m);
    }
    avr_register_io_read(avr, m->at.gpior1, feed, m);
    watchdog_take_over(m);
    uint32_t flags = 0;
    avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS('0'), &flags);
    flags &= ~(uint32_t)(AVR_UART_FLAG_STDIO | AVR_UART_FLAG_POOL_SLEEP); /* nor real time for polls */
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_register_notify(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), receive, m);
    m->digests = 1;
    open_counts(m, 0);
    return m;
}

/* Whether digests of code and addresses are kept, which takes time. */
void machine_keep_digests(machine *m, int keep)
{
    m->digests = keep;
}

/* Set the code of the function that waits. */
void machine_wait_in(machine *m, uint32_t start, uint32_t end)
{
    m->waits = (wait){.start = start, .end = end};
}

/*
 * The lengths of successive watchdog time-outs at its shortest setting, as far as the array goes; then it
 * stands still. Without this, the data sheet's, and no jitter at all.
 */
void machine_watchdog_periods(machine *m, const uint32_t *periods, size_t count)
{
    m->dog.periods = periods;
    m->dog.count = count;
    m->dog.used = 0;
}

/* Program the fuse WDTON: permanently in reset-only mode. */
void machine_watchdog_always_on(machine *m)
{
    m->dog.always_on = 1;
    m->avr->data[m->at.wdtcsr] |= WDE;
}

/* Whether it has reset the core, or interrupted it, which both end the run. */
int machine_watchdog_bit(const machine *m)
{
    return m->dog.bit;
}

void machine_close(machine *m)
{
    avr_terminate(m->avr);
    free(m->ended);
    free(m->text);
    free(m->profile);
    free(m);
}

/*
 * Run until the program counter is at stop (or the core sleeps forever, crashes, or cycles have passed).
 * Returns 1 at stop.
 */
int machine_run(machine *m, uint32_t stop, uint64_t cycles)
{
    const avr_cycle_count_t end = m->avr->cycle + cycles;
    int state = cpu_Running;
    while (m->avr->pc != stop) {
        if (state == cpu_Done || state == cpu_Crashed || m->avr->cycle >= end) {
            return 0;
        }
        state = step(m);
    }
    return 1;
}

/*
 * Call the code at a flash address, arguments of 16 bits from r25:r24 downwards, and run to its return to
 * `home`, counting the final ret but not the call. Returns 1, and the counts, if it came back with the stack
 * as it was.
 */
int machine_call(machine *m, uint32_t code, uint32_t home, const uint16_t *arguments, unsigned count,
                 uint64_t cycles, counts *counted)
{
    avr_t *avr = m->avr;
    const uint32_t sp = pair(avr, R_SPL);
    for (unsigned i = 0; i < count; i++) {
        avr->data[24 - 2 * i] = (uint8_t)arguments[i];
        avr->data[25 - 2 * i] = (uint8_t)(arguments[i] >> 8);
    }
    uint32_t top = sp;
    for (unsigned byte = 0; byte < avr->address_size; byte++) {
        avr->data[top--] = (uint8_t)(home >> 1 >> 8 * byte);
    }
    avr->data[R_SPL] = (uint8_t)top;
    avr->data[R_SPH] = (uint8_t)(top >> 8);
    avr->pc = code;
    open_counts(m, 0);
    m->open.lowest_sp = top;
    if (!machine_run(m, home, cycles) || pair(avr, R_SPL) != sp) {
        return 0;
    }
    *counted = m->open;
    counted->cycles = avr->cycle - m->began - m->open.paused;
    return 1;
}

/* Count cycles by instruction from now on: an array with an entry for each word of flash. */
const uint64_t *machine_profile(machine *m, size_t *words)
{
    *words = (m->avr->flashend + 1) / 2;
    if (!m->profile) {
        m->profile = calloc(*words, sizeof *m->profile);
    }
    return m->profile;
}

/* Run until the UART has sent a byte, or an EEPROM write begins or ends. Returns 1 then. */
int machine_run_to_change(machine *m, uint64_t cycles)
{
    const avr_cycle_count_t end = m->avr->cycle + cycles;
    const size_t sent = m->text_length;
    const uint8_t busy = m->avr->data[m->at.eecr] & EEPE;
    while (m->avr->cycle < end) {
        const int state = step(m);
        if (m->text_length != sent || (m->avr->data[m->at.eecr] & EEPE) != busy) {
            return 1;
        }
        if (state == cpu_Done || state == cpu_Crashed) {
            return 0;
        }
    }
    return 0;
}

/* What GPIOR1 reads from now on; the caller keeps the bytes alive. */
void machine_feed(machine *m, const uint8_t *bytes, size_t count)
{
    m->fed = bytes;
    m->fed_bytes = count;
    m->starved = 0;
}

/* The run ended because the firmware has asked for more. */
int machine_starved(const machine *m)
{
    return m->starved;
}

/* Totals of the whole run. */
uint32_t machine_lowest_sp(const machine *m)
{
    return m->lowest_sp;
}

uint8_t *machine_data(machine *m)
{
    return m->avr->data;
}

uint8_t *machine_flash(machine *m)
{
    return m->avr->flash;
}

uint32_t machine_ram_end(const machine *m)
{
    return m->avr->ramend;
}

uint64_t machine_cycle(const machine *m)
{
    return m->avr->cycle;
}

const counts *machine_regions(const machine *m, size_t *count)
{
    *count = m->ended_count;
    return m->ended;
}

const char *machine_text(const machine *m, size_t *length)
{
    *length = m->text_length;
    return m->text;
}

/* Read or write EEPROM bytes as a programmer does: instantly. */
void machine_eeprom_read(machine *m, uint8_t *out, uint16_t offset, uint32_t size)
{
    avr_eeprom_desc_t at = {.ee = out, .offset = offset, .size = size};
    avr_ioctl(m->avr, AVR_IOCTL_EEPROM_GET, &at);
}

void machine_eeprom_write(machine *m, uint8_t *bytes, uint16_t offset, uint32_t size)
{
    avr_eeprom_desc_t at = {.ee = bytes, .offset = offset, .size = size};
    avr_ioctl(m->avr, AVR_IOCTL_EEPROM_SET, &at);
}
