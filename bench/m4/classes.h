/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The class of an instruction, for models.py, which has the cycles of each class on a core: those of Arm's
 * Thumb with Helium, and of RV32IMC with Zba and Zbb. Included by cycles.c alone.
 */
#ifndef CLASSES_H
#define CLASSES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CLASS_OTHER,
    CLASS_LOAD,     /* one register */
    CLASS_STORE,    /* one register */
    CLASS_MULTIPLE, /* loads and stores of several registers, PUSH, POP */
    CLASS_MOVED,    /* not an instruction: the registers of those */
    CLASS_RETURN,   /* a POP or load of several that ends in a branch: counted as MULTIPLE too */
    CLASS_MULTIPLY,
    CLASS_DIVIDE,
    CLASS_CALL,   /* BL; on RISC-V jal and jalr, taken all */
    CLASS_SYSTEM, /* MRS, MSR, barriers, CSRs */
    CLASS_VECTOR, /* Helium, on whole vectors */
    CLASS_USED,   /* not an instruction: a load whose register the next one reads (RISC-V) */
    CLASS_TAKEN,  /* not an instruction: a branch that was taken, calls and returns included */
    CLASS_LOOPED, /* of those, by Helium's loop instructions */
    CLASSES
};

#define CLASS_NAMES \
    "other", "load", "store", "multiple", "moved", "return", "multiply", "divide", "call", "system", \
        "vector", "used", "taken", "looped"

typedef struct class_of {
    int class;
    unsigned moved;
    bool returns;
    bool loops;       /* LE or LETP: its branch back is CLASS_LOOPED */
    unsigned loaded;  /* RISC-V: the register of a load, else 0 */
    uint32_t sources; /* RISC-V: registers read, a bit each */
} class_of;

static unsigned bits_of(uint32_t word, unsigned lowest, unsigned width)
{
    return word >> lowest & ((1u << width) - 1u);
}

static class_of class_narrow(uint32_t code)
{
    class_of found = {.class = CLASS_OTHER};
    switch (code >> 12) {
    case 0x4:
        if (bits_of(code, 11, 1)) {
            found.class = CLASS_LOAD;
        } else if (bits_of(code, 6, 6) == 0xDu) {
            found.class = CLASS_MULTIPLY;
        }
        break;
    case 0x5:
        found.class = bits_of(code, 9, 3) >= 3 ? CLASS_LOAD : CLASS_STORE;
        break;
    case 0x6:
    case 0x7:
    case 0x8:
    case 0x9:
        found.class = bits_of(code, 11, 1) ? CLASS_LOAD : CLASS_STORE;
        break;
    case 0xB:
        if (bits_of(code, 9, 2) == 2) {
            found.class = CLASS_MULTIPLE;
            found.moved = (unsigned)__builtin_popcount(code & 0x1FFu);
            found.returns = bits_of(code, 8, 1) && bits_of(code, 11, 1);
        }
        break;
    case 0xC:
        found.class = CLASS_MULTIPLE;
        found.moved = (unsigned)__builtin_popcount(code & 0xFFu);
        break;
    default:
        break;
    }
    return found;
}

/* LDM, STM; LDRD, STRD. Exclusives and table branches count as loads. */
static class_of class_several(uint32_t code)
{
    if (!bits_of(code, 22, 1)) {
        return (class_of){.class = CLASS_MULTIPLE,
                          .moved = (unsigned)__builtin_popcount(code & 0xFFFFu),
                          .returns = bits_of(code, 20, 1) && bits_of(code, 15, 1)};
    }
    if (bits_of(code, 24, 1) || bits_of(code, 21, 1)) {
        return (class_of){.class = CLASS_MULTIPLE, .moved = 2};
    }
    return (class_of){.class = CLASS_LOAD};
}

/* Coprocessors' space, where Helium is. What moves or computes single registers is not a vector. */
static class_of class_coprocessor(uint32_t code)
{
    const bool single = bits_of(code, 28, 1) == 0 && bits_of(code, 9, 3) == 5;
    return (class_of){.class = single ? CLASS_OTHER : CLASS_VECTOR};
}

/* 32-bit Thumb, first half-word in the upper bits. */
static class_of class_wide(uint32_t code)
{
    if (bits_of(code, 26, 2) == 3) {
        return class_coprocessor(code);
    }
    switch (bits_of(code, 27, 2)) {
    case 1:
        return bits_of(code, 25, 2) == 0 ? class_several(code) : (class_of){.class = CLASS_OTHER};
    case 2:
        if ((code & 0xF800D000u) == 0xF000D000u) {
            return (class_of){.class = CLASS_CALL};
        }
        if ((code & 0xFF80F001u) == 0xF000C001u) { /* LE, LETP, WLS */
            return (class_of){.class = CLASS_OTHER, .loops = true};
        }
        if ((code & 0xFF80D000u) == 0xF3808000u && (code & 0xFFFFFF00u) != 0xF3AF8000u) {
            return (class_of){.class = CLASS_SYSTEM};
        }
        return (class_of){.class = CLASS_OTHER};
    default:
        if (bits_of(code, 25, 4) == 0xC) {
            return (class_of){.class = bits_of(code, 20, 1) ? CLASS_LOAD : CLASS_STORE};
        }
        if (bits_of(code, 23, 6) == 0x36 || bits_of(code, 23, 6) == 0x37) { /* products; long, divisions */
            const bool divides =
                bits_of(code, 22, 7) == 0x6E && bits_of(code, 20, 1) && bits_of(code, 4, 4) == 0xF;
            return (class_of){.class = divides ? CLASS_DIVIDE : CLASS_MULTIPLY};
        }
        return (class_of){.class = CLASS_OTHER};
    }
}

static class_of class_riscv(uint32_t code)
{
    class_of found = {.class = CLASS_OTHER};
    const unsigned target = bits_of(code, 7, 5);
    const uint32_t first = 1u << bits_of(code, 15, 5);
    const uint32_t second = 1u << bits_of(code, 20, 5);
    switch (code & 0x7Fu) {
    case 0x03:
        found = (class_of){.class = CLASS_LOAD, .loaded = target, .sources = first};
        break;
    case 0x23:
        found = (class_of){.class = CLASS_STORE, .sources = first | second};
        break;
    case 0x33:
        found.sources = first | second;
        if (bits_of(code, 25, 7) == 1) {
            found.class = bits_of(code, 14, 1) ? CLASS_DIVIDE : CLASS_MULTIPLY;
        }
        break;
    case 0x63:
        found.sources = first | second;
        break;
    case 0x13:
        found.sources = first;
        break;
    case 0x67:
        found = (class_of){.class = CLASS_CALL, .sources = first};
        break;
    case 0x6F:
        found.class = CLASS_CALL;
        break;
    case 0x73:
        found.class = CLASS_SYSTEM;
        break;
    default:
        break;
    }
    found.sources &= ~1u;
    return found;
}

/* The compressed instructions. Registers x8 to x15 have three bits. */
static class_of class_compressed(uint32_t code)
{
    const unsigned quadrant = code & 3u;
    const unsigned kind = bits_of(code, 13, 3);
    const unsigned full = bits_of(code, 7, 5);
    const unsigned low = 8u + bits_of(code, 2, 3);
    const unsigned high = 8u + bits_of(code, 7, 3);
    const unsigned second = bits_of(code, 2, 5);
    class_of found = {.class = CLASS_OTHER};
    if (quadrant == 0 && kind == 2) {
        found = (class_of){.class = CLASS_LOAD, .loaded = low, .sources = 1u << high};
    } else if (quadrant == 0 && kind == 6) {
        found = (class_of){.class = CLASS_STORE, .sources = 1u << high | 1u << low};
    } else if (quadrant == 2 && kind == 2) {
        found = (class_of){.class = CLASS_LOAD, .loaded = full, .sources = 1u << 2};
    } else if (quadrant == 2 && kind == 6) {
        found = (class_of){.class = CLASS_STORE, .sources = 1u << 2 | 1u << second};
    } else if (quadrant == 1 && (kind == 1 || kind == 5)) {
        found.class = CLASS_CALL;
    } else if (quadrant == 2 && kind == 4 && second == 0) {
        found = (class_of){.class = CLASS_CALL, .sources = 1u << full};
    } else if (quadrant == 2 && kind == 4) {
        found.sources = 1u << second | (bits_of(code, 12, 1) ? 1u << full : 0);
    } else if (quadrant == 1 && kind >= 4) {
        const bool pair = kind == 4 && bits_of(code, 10, 2) == 3;
        found.sources = 1u << high | (pair ? 1u << low : 0);
    } else if ((quadrant == 1 && kind == 0) || (quadrant == 2 && kind == 0)) {
        found.sources = 1u << full;
    } else if (quadrant == 0 && kind == 0) {
        found.sources = 1u << 2;
    }
    found.sources &= ~1u;
    return found;
}

#endif
