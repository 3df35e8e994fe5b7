/* SPDX-License-Identifier: Apache-2.0 */
/* The counter's partition (partitions.csv), through ESP-IDF. What fails is seen when it is read back. */
#include "flash.h"

#include "esp_partition.h"

#define COUNTER_SUBTYPE ((esp_partition_subtype_t)0x40)
#define SECTOR_BYTES (4u * FLASH_PAGE_WORDS)

static const esp_partition_t *counter_partition(void)
{
    static const esp_partition_t *found;
    if (!found) {
        found = esp_partition_find_first(ESP_PARTITION_TYPE_DATA, COUNTER_SUBTYPE, "counter");
    }
    return found && found->size == 2u * SECTOR_BYTES ? found : NULL;
}

uint32_t flash_read(unsigned page, unsigned word)
{
    uint32_t value = 0;
    const esp_partition_t *counter = counter_partition();
    if (!counter ||
        esp_partition_read(counter, page * SECTOR_BYTES + 4u * word, &value, sizeof value) != ESP_OK) {
        return FLASH_UNREADABLE;
    }
    return value;
}

void flash_program(unsigned page, unsigned word, const uint32_t unit[FLASH_UNIT_WORDS])
{
    const esp_partition_t *counter = counter_partition();
    if (counter) {
        (void)esp_partition_write(counter, page * SECTOR_BYTES + 4u * word, unit, sizeof unit[0]);
    }
}

void flash_erase(unsigned page)
{
    const esp_partition_t *counter = counter_partition();
    if (counter) {
        (void)esp_partition_erase_range(counter, page * SECTOR_BYTES, SECTOR_BYTES);
    }
}
