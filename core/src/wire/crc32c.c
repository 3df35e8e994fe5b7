/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli; reflected polynomial 0x82F63B78), with the table that CM_CONFIG_CRC_TABLE asks for.
 * The tables are never indexed by secrets: whatever is summed has been sent, or is about to be.
 */
#include "ciphermote/config.h"
#include "ciphermote/frame.h"

#include "arch/backends.h"
#include "common/bytes.h"

/*
 * The checksum is linear: an entry is the exclusive or of those for the single bits of its index. bit0 ..
 * bit7 are the entries 1, 2, 4 .. 128; the compiler does the rest.
 */
#define CM_BIT(index, bit, entry) (((index) >> (bit)&1u) * (entry))
#define CM_ENTRY(i, bit0, bit1, bit2, bit3, bit4, bit5, bit6, bit7) \
    (CM_BIT(i, 0, bit0) ^ CM_BIT(i, 1, bit1) ^ CM_BIT(i, 2, bit2) ^ CM_BIT(i, 3, bit3) ^ \
     CM_BIT(i, 4, bit4) ^ CM_BIT(i, 5, bit5) ^ CM_BIT(i, 6, bit6) ^ CM_BIT(i, 7, bit7))
#define CM_ENTRIES_4(i, ...) \
    CM_ENTRY(i, __VA_ARGS__), CM_ENTRY((i) + 1u, __VA_ARGS__), CM_ENTRY((i) + 2u, __VA_ARGS__), \
        CM_ENTRY((i) + 3u, __VA_ARGS__)
#define CM_ENTRIES_16(i, ...) \
    CM_ENTRIES_4(i, __VA_ARGS__), CM_ENTRIES_4((i) + 4u, __VA_ARGS__), CM_ENTRIES_4((i) + 8u, __VA_ARGS__), \
        CM_ENTRIES_4((i) + 12u, __VA_ARGS__)
#define CM_ENTRIES_64(i, ...) \
    CM_ENTRIES_16(i, __VA_ARGS__), CM_ENTRIES_16((i) + 16u, __VA_ARGS__), \
        CM_ENTRIES_16((i) + 32u, __VA_ARGS__), CM_ENTRIES_16((i) + 48u, __VA_ARGS__)
#define CM_ENTRIES_256(...) \
    CM_ENTRIES_64(0u, __VA_ARGS__), CM_ENTRIES_64(64u, __VA_ARGS__), CM_ENTRIES_64(128u, __VA_ARGS__), \
        CM_ENTRIES_64(192u, __VA_ARGS__)

/* What a byte becomes when it is shifted out; and when one, two or three zero bytes follow it. */
#define CM_CRC_SHIFT_1 \
    0xF26B8303u, 0xE13B70F7u, 0xC79A971Fu, 0x8AD958CFu, 0x105EC76Fu, 0x20BD8EDEu, 0x417B1DBCu, 0x82F63B78u
#define CM_CRC_SHIFT_2 \
    0x13A29877u, 0x274530EEu, 0x4E8A61DCu, 0x9D14C3B8u, 0x3FC5F181u, 0x7F8BE302u, 0xFF17C604u, 0xFBC3FAF9u
#define CM_CRC_SHIFT_3 \
    0xA541927Eu, 0x4F6F520Du, 0x9EDEA41Au, 0x38513EC5u, 0x70A27D8Au, 0xE144FB14u, 0xC76580D9u, 0x8B277743u
#define CM_CRC_SHIFT_4 \
    0xDD45AAB8u, 0xBF672381u, 0x7B2231F3u, 0xF64463E6u, 0xE964B13Du, 0xD725148Bu, 0xABA65FE7u, 0x52A0C93Fu

/* And when twelve to fifteen zero bytes follow it. */
#define CM_CRC_SHIFT_13 \
    0x30D23865u, 0x61A470CAu, 0xC348E194u, 0x837DB5D9u, 0x03171D43u, 0x062E3A86u, 0x0C5C750Cu, 0x18B8EA18u
#define CM_CRC_SHIFT_14 \
    0x54075546u, 0xA80EAA8Cu, 0x55F123E9u, 0xABE247D2u, 0x5228F955u, 0xA451F2AAu, 0x4D4F93A5u, 0x9A9F274Au
#define CM_CRC_SHIFT_15 \
    0x678EFD01u, 0xCF1DFA02u, 0x9BD782F5u, 0x3243731Bu, 0x6486E636u, 0xC90DCC6Cu, 0x97F7EE29u, 0x2A03AAA3u
#define CM_CRC_SHIFT_16 \
    0xF20C0DFEu, 0xE1F46D0Du, 0xC604ACEBu, 0x89E52F27u, 0x162628BFu, 0x2C4C517Eu, 0x5898A2FCu, 0xB13145F8u

#if CM_CONFIG_CRC_TABLE == CM_CONFIG_CRC_TABLE_NIBBLE

static const uint32_t crc_of_nibble[16] = {
    CM_ENTRIES_16(0u, 0x105EC76Fu, 0x20BD8EDEu, 0x417B1DBCu, 0x82F63B78u, 0u, 0u, 0u, 0u)};

static inline uint32_t add_byte(uint32_t crc, uint8_t byte)
{
    crc ^= byte;
    crc = crc >> 4 ^ crc_of_nibble[crc & 15u];
    return crc >> 4 ^ crc_of_nibble[crc & 15u];
}

static inline uint32_t add_word(uint32_t crc, uint32_t word)
{
    crc ^= word;
    for (unsigned i = 0; i < 4; i++) {
        crc = add_byte(crc, 0);
    }
    return crc;
}

#else

const uint32_t cmi_crc32c_table[4][256] = {{CM_ENTRIES_256(CM_CRC_SHIFT_1)},
                                           {CM_ENTRIES_256(CM_CRC_SHIFT_2)},
                                           {CM_ENTRIES_256(CM_CRC_SHIFT_3)},
                                           {CM_ENTRIES_256(CM_CRC_SHIFT_4)}};

#if CM_HELIUM
const uint32_t cmi_crc32c_far_table[4][256] = {{CM_ENTRIES_256(CM_CRC_SHIFT_13)},
                                               {CM_ENTRIES_256(CM_CRC_SHIFT_14)},
                                               {CM_ENTRIES_256(CM_CRC_SHIFT_15)},
                                               {CM_ENTRIES_256(CM_CRC_SHIFT_16)}};
#endif

static inline uint32_t add_byte(uint32_t crc, uint8_t byte)
{
    return crc >> 8 ^ cmi_crc32c_table[0][(crc ^ byte) & 255u];
}

/* The four bytes of a word do not wait for each other: each table accounts for the zero bytes that follow. */
static inline uint32_t add_word(uint32_t crc, uint32_t word)
{
    crc ^= word;
    return cmi_crc32c_table[3][crc & 255u] ^ cmi_crc32c_table[2][crc >> 8 & 255u] ^
           cmi_crc32c_table[1][crc >> 16 & 255u] ^ cmi_crc32c_table[0][crc >> 24];
}

#endif

uint32_t cm_crc32c(uint32_t crc, const uint8_t *bytes, size_t length)
{
    if (CM_ARCH_TRY(crc32c, &crc, bytes, length)) {
        return crc;
    }
    crc = ~crc;
    for (; length >= 4u; length -= 4u, bytes += 4) {
        crc = add_word(crc, cmi_load32(bytes));
    }
    for (; length > 0; length--, bytes++) {
        crc = add_byte(crc, *bytes);
    }
    return ~crc;
}
