/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The persistent counter: a log of records in two pages of flash, written one after the other. A record is
 * the counter, its CRC-32C, and a last word that is programmed to zero when all before it reads back as it
 * should. Why no power cut loses or repeats a counter:
 *
 * - A record counts once its last word is zero. One without it was torn: it was never reported as stored, it
 *   is skipped, and the next goes after it. A last word that is only half programmed may read either way
 *   until then, and either way no counter above the record before has been used: the library stores a new
 *   record, in full, before the first counter after a start.
 * - A page is erased only when the other one is full, so its records are all older. It is marked first, with
 *   128 zero bits; a page with a single zero among them does not count, whatever an interrupted erasure left.
 * - A zero last word after anything but a sound record is damage, and so is a mark without a page of newer
 *   records: then there is no counter, rather than a smaller one.
 *
 * Two blank pages mean a new device. A page is erased once in 126 records.
 */
#include <stdbool.h>

#include "board.h"
#include "bytes.h"
#include "counter_record.h"
#include "flash.h"

#define RECORD_WORDS 4u
#define LAST_WORD 3u
#define RECORDS (FLASH_PAGE_WORDS / RECORD_WORDS - 1u)
#define MARK (RECORDS * RECORD_WORDS) /* its last four words */
#define STORED 0u

_Static_assert(COUNTER_RECORD_BYTES == 4u * LAST_WORD, "the record fills the words before the last");

typedef enum slot { SLOT_BLANK, SLOT_TORN, SLOT_SOUND, SLOT_DAMAGED } slot;

typedef struct log_page {
    uint64_t value; /* of the last sound record */
    unsigned next;  /* where the next record may go; RECORDS if nowhere */
    bool sound;     /* it has a sound record */
    bool damaged;
    bool marked;
} log_page;

static slot read_slot(const volatile uint32_t *words, uint64_t *value)
{
    uint8_t record[COUNTER_RECORD_BYTES];
    uint32_t all = words[LAST_WORD];
    for (unsigned i = 0; i < LAST_WORD; i++) {
        store32(record + 4u * i, words[i]);
        all &= words[i];
    }
    if (words[LAST_WORD] == STORED) {
        return counter_record_unpack(record, value) ? SLOT_SOUND : SLOT_DAMAGED;
    }
    return all == FLASH_ERASED ? SLOT_BLANK : SLOT_TORN;
}

static bool all_erased(const volatile uint32_t *words, unsigned count)
{
    uint32_t all = FLASH_ERASED;
    for (unsigned i = 0; i < count; i++) {
        all &= words[i];
    }
    return all == FLASH_ERASED;
}

static log_page read_page(const volatile uint32_t *words)
{
    log_page page = {.marked = !all_erased(words + MARK, RECORD_WORDS)};
    for (unsigned i = 0; i < RECORDS; i++) {
        uint64_t value = 0;
        const slot found = read_slot(words + i * RECORD_WORDS, &value);
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
    const log_page pages[2] = {read_page(counter_pages[0]), read_page(counter_pages[1])};
    const unsigned number = pages[1].sound && (!pages[0].sound || pages[1].value > pages[0].value) ? 1 : 0;
    const log_page *other = &pages[1u - number];
    *current = pages[number];
    const bool other_is_odd = other->marked ? !current->sound : other->damaged;
    return current->marked || current->damaged || other_is_odd ? -1 : (int)number;
}

/* Make a page ready for its first record. */
static bool renew(const volatile uint32_t *page)
{
    for (unsigned i = MARK; i < FLASH_PAGE_WORDS; i++) {
        flash_program(page + i, 0);
    }
    flash_erase(page);
    return all_erased(page, FLASH_PAGE_WORDS);
}

static bool append(const volatile uint32_t *words, uint64_t value)
{
    uint8_t record[COUNTER_RECORD_BYTES];
    counter_record_pack(record, value);
    for (unsigned i = 0; i < LAST_WORD; i++) {
        const uint32_t word = load32(record + 4u * i);
        flash_program(words + i, word);
        if (words[i] != word) {
            return false;
        }
    }
    flash_program(words + LAST_WORD, STORED);
    return words[LAST_WORD] == STORED;
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
        if (!renew(counter_pages[number])) {
            return -1;
        }
    }
    return append(counter_pages[number] + current.next * RECORD_WORDS, value) ? 0 : -1;
}
