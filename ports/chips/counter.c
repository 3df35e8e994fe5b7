/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The persistent counter: a log of records in two pages of flash, written one after the other. A record is
 * the counter and its CRC-32C, and a seal, which is programmed to zero when all before it reads back as it
 * should. Why no power cut loses or repeats a counter:
 *
 * - A record counts once its seal is zero. One without it was torn: it was never reported as stored, it is
 *   skipped, and the next goes after it. A seal that is only half programmed may read either way until then,
 *   and either way no counter above the record before has been used: the library stores a new record, in
 *   full, before the first counter after a start.
 * - A page is erased only when the other one is full, so its records are all older. It is marked first, with
 *   at least 128 zero bits; a page with a single zero among them does not count, whatever an interrupted
 *   erasure left.
 * - A zero seal after anything but a sound record is damage, and so is a mark without a page of newer
 *   records: then there is no counter, rather than a smaller one.
 * - Nothing but the mark of a page whose erasure was interrupted is programmed twice.
 *
 * Two blank pages mean a new device.
 */
#include <stdbool.h>

#include "board.h"
#include "bytes.h"
#include "counter_record.h"
#include "flash.h"

#define BODY_WORDS (COUNTER_RECORD_BYTES / 4u)
#define SEAL ((BODY_WORDS + FLASH_UNIT_WORDS - 1u) / FLASH_UNIT_WORDS * FLASH_UNIT_WORDS)
#define RECORD_WORDS (SEAL + FLASH_UNIT_WORDS)
#define RECORDS (FLASH_PAGE_WORDS / RECORD_WORDS - 1u)
#define MARK (RECORDS * RECORD_WORDS) /* the rest of the page */
#define ATTEMPTS 3u /* at a record: one that a power cut tore may read as blank, and take none */

typedef enum slot { SLOT_BLANK, SLOT_TORN, SLOT_SOUND, SLOT_DAMAGED } slot;

typedef struct log_page {
    uint64_t value; /* of the last sound record */
    unsigned next;  /* where the next record may go; RECORDS if nowhere */
    bool sound;     /* it has a sound record */
    bool damaged;
    bool marked;
} log_page;

static uint32_t any_of(unsigned page, unsigned word, unsigned count)
{
    uint32_t any = 0;
    for (unsigned i = 0; i < count; i++) {
        any |= flash_read(page, word + i);
    }
    return any;
}

static bool all_erased(unsigned page, unsigned word, unsigned count)
{
    uint32_t all = FLASH_ERASED;
    for (unsigned i = 0; i < count; i++) {
        all &= flash_read(page, word + i);
    }
    return all == FLASH_ERASED;
}

static slot read_slot(unsigned page, unsigned word, uint64_t *value)
{
    if (any_of(page, word + SEAL, FLASH_UNIT_WORDS) == 0) {
        uint8_t record[COUNTER_RECORD_BYTES];
        for (unsigned i = 0; i < BODY_WORDS; i++) {
            store32(record + 4u * i, flash_read(page, word + i));
        }
        return counter_record_unpack(record, value) ? SLOT_SOUND : SLOT_DAMAGED;
    }
    return all_erased(page, word, RECORD_WORDS) ? SLOT_BLANK : SLOT_TORN;
}

static log_page read_page(unsigned number)
{
    log_page page = {.marked = !all_erased(number, MARK, FLASH_PAGE_WORDS - MARK)};
    for (unsigned i = 0; i < RECORDS; i++) {
        uint64_t value = 0;
        const slot found = read_slot(number, i * RECORD_WORDS, &value);
        if (found == SLOT_SOUND) {
            page.value = value;
            page.sound = true;
        }
        page.damaged = page.damaged || found == SLOT_DAMAGED;
        page.next = found == SLOT_BLANK ? page.next : i + 1u;
    }
    return page;
}

/* The page with the newest record (its number), or -1 if the log is damaged. */
static int read_log(log_page *current)
{
    const log_page pages[2] = {read_page(0), read_page(1)};
    const unsigned number = pages[1].sound && (!pages[0].sound || pages[1].value > pages[0].value) ? 1 : 0;
    const log_page *other = &pages[1u - number];
    *current = pages[number];
    const bool other_is_odd = other->marked ? !current->sound : other->damaged;
    return current->marked || current->damaged || other_is_odd ? -1 : (int)number;
}

/* Program words, in units, and say whether they read back. */
static bool program(unsigned page, unsigned word, const uint32_t *words, unsigned count)
{
    bool same = true;
    for (unsigned i = 0; i < count && same; i += FLASH_UNIT_WORDS) {
        flash_program(page, word + i, words + i);
        for (unsigned j = i; j < i + FLASH_UNIT_WORDS; j++) {
            same = same && flash_read(page, word + j) == words[j];
        }
    }
    return same;
}

static const uint32_t zeros[FLASH_UNIT_WORDS] = {0};

/* Make a page ready for its first record. */
static bool renew(unsigned page)
{
    for (unsigned i = MARK; i < FLASH_PAGE_WORDS; i += FLASH_UNIT_WORDS) {
        flash_program(page, i, zeros);
    }
    flash_erase(page);
    return all_erased(page, 0, FLASH_PAGE_WORDS);
}

static bool append(unsigned page, unsigned word, uint64_t value)
{
    uint8_t record[COUNTER_RECORD_BYTES];
    uint32_t body[SEAL];
    counter_record_pack(record, value);
    for (unsigned i = 0; i < SEAL; i++) {
        body[i] = i < BODY_WORDS ? load32(record + 4u * i) : FLASH_ERASED;
    }
    return program(page, word, body, SEAL) && program(page, word + SEAL, zeros, FLASH_UNIT_WORDS);
}

int counter_read(void *context, uint64_t *value)
{
    (void)context;
    log_page current;
    const int number = read_log(&current);
    *value = number < 0 ? 0 : current.value;
    return number < 0 ? -1 : 0;
}

int counter_write(void *context, uint64_t value)
{
    (void)context;
    log_page current;
    int number = read_log(&current);
    if (number < 0 || value <= current.value) {
        return -1;
    }
    if (current.next == RECORDS) {
        number = 1 - number;
        current.next = 0;
        if (!renew((unsigned)number)) {
            return -1;
        }
    }
    for (unsigned i = 0; i < ATTEMPTS && current.next < RECORDS; i++, current.next++) {
        if (append((unsigned)number, current.next * RECORD_WORDS, value)) {
            return 0;
        }
    }
    return -1;
}
