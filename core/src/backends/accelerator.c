/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back-end for the hardware of rtl/: it keeps a prime, its twiddles and two factors in the accelerator
 * for as long as they can be used, and sends one packet of residues for a transform or a whole product. It
 * handles whole rings only.
 *
 * The hardware's products are a b / R. Twiddles and factors are sent times R, so the results are exact. Time
 * depends on n, q and on what the accelerator holds, never on the data.
 */
#include "ciphermote/accelerator.h"

#include "arch/backends.h"

#if CM_CONFIG_ACCELERATOR && !defined(CM_ARCH_HEADER)

#include "backends/accelerator/registers.h"
#include "common/declassify.h"
#include "ring/ring.h"

#define IDENTITY 0x434D4E54u /* the value of the ID register */

enum { PRIME_BITS = 27, MOST_POLLS = 30000 };

static uint32_t field(uint32_t word, unsigned low, unsigned bits)
{
    return word >> low & (((uint32_t)1 << bits) - 1u);
}

static uint32_t read_register(const cm_accelerator *self, uint32_t offset)
{
    return self->bus.read(self->bus.context, offset);
}

static void write_register(const cm_accelerator *self, uint32_t offset, uint32_t value)
{
    self->bus.write(self->bus.context, offset, value);
}

/* Whether all commands have ended, none of them in error. */
static bool settled(const cm_accelerator *self)
{
    for (unsigned polls = 0; polls < MOST_POLLS; polls++) {
        if (field(read_register(self, CM_NTT_STATUS_OFFSET), CM_NTT_STATUS_IDLE_LOW,
                  CM_NTT_STATUS_IDLE_BITS)) {
            return read_register(self, CM_NTT_ERRORS_OFFSET) == 0;
        }
    }
    return false;
}

cm_status cm_accelerator_open(cm_accelerator *accelerator, const cm_accelerator_bus *bus, uint32_t *words,
                              size_t count)
{
    if (!accelerator || !bus || !bus->read || !bus->write || !bus->send || !bus->receive || !words) {
        return CM_ERR_ARGUMENT;
    }
    accelerator->bus = *bus;
    accelerator->words = words;
    accelerator->log2_n = 0;
    accelerator->q = 0;
    accelerator->holds_factors = false;
    if (read_register(accelerator, CM_NTT_ID_OFFSET) != IDENTITY) {
        return CM_ERR_UNSUPPORTED;
    }
    const uint32_t shape = read_register(accelerator, CM_NTT_SHAPE_OFFSET);
    const uint32_t log2_n = field(shape, CM_NTT_SHAPE_LOG2_N_LOW, CM_NTT_SHAPE_LOG2_N_BITS);
    const uint32_t width = field(shape, CM_NTT_SHAPE_WIDTH_LOW, CM_NTT_SHAPE_WIDTH_BITS);
    if (field(shape, CM_NTT_SHAPE_WIDE_LOW, CM_NTT_SHAPE_WIDE_BITS) != 0 || width < PRIME_BITS ||
        log2_n > CM_CONFIG_MAX_LOG2_N) {
        return CM_ERR_UNSUPPORTED;
    }
    if (count < CM_ACCELERATOR_WORDS((size_t)1 << log2_n)) {
        return CM_ERR_ARENA;
    }
    accelerator->log2_r = (uint8_t)field(shape, CM_NTT_SHAPE_LOG2_R_LOW, CM_NTT_SHAPE_LOG2_R_BITS);
    write_register(accelerator, CM_NTT_CONTROL_OFFSET, (uint32_t)1 << CM_NTT_CONTROL_RESET_LOW);
    write_register(accelerator, CM_NTT_ERRORS_OFFSET, UINT32_MAX);
    if (!settled(accelerator)) { /* it wipes its memories */
        return CM_ERR_UNSUPPORTED;
    }
    accelerator->log2_n = (uint8_t)log2_n;
    return CM_OK;
}

/* Leave nothing secret in the words of a packet. */
static void wipe_packet(const cm_accelerator *self)
{
    volatile uint32_t *words = self->words;
    for (uint32_t i = 0; i < (uint32_t)1 << self->log2_n; i++) {
        words[i] = 0;
    }
}

/* Close an accelerator that failed. Returns 0, with which a back-end's call declines. */
static int close_failed(cm_accelerator *self)
{
    wipe_packet(self);
    self->log2_n = 0;
    return 0;
}

static bool send_packet(const cm_accelerator *self, uint32_t command)
{
    write_register(self, CM_NTT_COMMAND_OFFSET, command);
    return self->bus.send(self->bus.context, self->words, (size_t)1 << self->log2_n) == 0;
}

/*
 * A bus may corrupt what it delivers, and a word that is not a residue would spill into its neighbours in a
 * frame.
 */
static bool receive_packet(const cm_accelerator *self, uint32_t *words)
{
    const size_t n = (size_t)1 << self->log2_n;
    if (self->bus.receive(self->bus.context, words, n) != 0) {
        return false;
    }
    uint32_t below = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        below &= (words[i] - self->q) & ~words[i];
    }
    return cmi_declassified(below >> 31 != 0);
}

/* The hardware's R modulo q, in Montgomery form. */
static uint32_t hardware_r(const cm_accelerator *self, const cm_prime *prime)
{
    uint32_t r = prime->r1;
    for (unsigned i = 0; i < self->log2_r; i++) {
        r = cmi_subtract_once(2u * r, prime->q);
    }
    return r;
}

static bool load_ring(cm_accelerator *self, const cmi_ring *ring)
{
    const cm_prime *prime = ring->prime;
    const uint32_t r = cmi_montgomery_residue(hardware_r(self, prime), 1, prime);
    self->q = 0;
    self->holds_factors = false;
    write_register(self, CM_NTT_PRIME_HIGH_OFFSET, 0);
    write_register(self, CM_NTT_PRIME_OFFSET, prime->q);
    self->words[0] = cmi_montgomery_residue(prime->r1, r, prime); /* psi^0, as all others times R */
    for (unsigned level = 0; level < ring->log2_n; level++) {
        uint32_t *twiddles = self->words + ((size_t)1 << level);
        uint32_t twiddle = ring->first[level];
        for (uint32_t i = 0; i < (uint32_t)1 << level; i++) {
            twiddles[i] = cmi_montgomery_residue(twiddle, r, prime);
            twiddle = cmi_montgomery_residue(twiddle, ring->step[cmi_trailing_ones(i)], prime);
        }
    }
    if (!send_packet(self, CM_NTT_CODE_LOAD_TWIDDLES) || !settled(self)) {
        return false;
    }
    self->q = prime->q;
    return true;
}

/* The accelerator for a ring, with its prime set; null if there is none, or it fails. */
static cm_accelerator *ready_for(const cmi_ring *ring)
{
    cm_accelerator *self = ring->log2_tiles == 0 ? cm_accelerator_for(ring->log2_n, ring->prime->q) : NULL;
    if (!self || self->log2_n != ring->log2_n) {
        return NULL;
    }
    if (self->q != ring->prime->q && !load_ring(self, ring)) {
        (void)close_failed(self);
        return NULL;
    }
    return self;
}

/* A transform of residues; a is unchanged unless it succeeds. */
static int run_transform(uint32_t *a, const cmi_ring *ring, uint32_t command)
{
    cm_accelerator *self = ready_for(ring);
    if (!self) {
        return 0;
    }
    const uint32_t n = cmi_ring_points(ring);
    for (uint32_t i = 0; i < n; i++) {
        self->words[i] = cmi_reduce(a[i], ring->prime);
    }
    if (!send_packet(self, command) || !receive_packet(self, self->words) || !settled(self)) {
        return close_failed(self);
    }
    for (uint32_t i = 0; i < n; i++) {
        a[i] = self->words[i];
    }
    wipe_packet(self);
    return 1;
}

int cmi_accelerator_ntt_forward(uint32_t *a, const cmi_ring *ring)
{
    return run_transform(a, ring, CM_NTT_CODE_FORWARD);
}

int cmi_accelerator_ntt_inverse(uint32_t *a, const cmi_ring *ring)
{
    return run_transform(a, ring, CM_NTT_CODE_INVERSE);
}

static bool is_held(const cm_accelerator *self, const uint32_t *held, const uint32_t *factor)
{
    const uint32_t n = (uint32_t)1 << self->log2_n;
    uint32_t i = 0;
    while (i < n && held[i] == factor[i]) {
        i++;
    }
    return self->holds_factors && i == n;
}

/* Public factor 0 or 1, sent unless the accelerator holds it already. */
static bool load_factor(const cm_accelerator *self, uint32_t number, const uint32_t *factor,
                        const cmi_ring *ring)
{
    const uint32_t n = cmi_ring_points(ring);
    const uint32_t r = hardware_r(self, ring->prime);
    uint32_t *held = self->words + (number + 1u) * (size_t)n;
    if (is_held(self, held, factor)) {
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        held[i] = factor[i];
        self->words[i] = cmi_montgomery_residue(factor[i], r, ring->prime);
    }
    return send_packet(self, CM_NTT_CODE_LOAD_OPERAND | number << CM_NTT_COMMAND_OPERAND_LOW);
}

int cmi_accelerator_double_product(uint32_t *out0, uint32_t *out1, const uint8_t *u, const uint32_t *p0,
                                   const uint32_t *p1, const cmi_ring *ring)
{
    cm_accelerator *self = ready_for(ring);
    if (!self) {
        return 0;
    }
    if (!load_factor(self, 0, p0, ring) || !load_factor(self, 1, p1, ring)) {
        return close_failed(self);
    }
    self->holds_factors = true;
    cmi_ternary_fold(self->words, u, 1, ring);
    cmi_reduce_all(self->words, cmi_ring_points(ring), ring->prime);
    const uint32_t command = CM_NTT_CODE_DOUBLE_PRODUCT | (uint32_t)1 << CM_NTT_COMMAND_TRANSFORMED_LOW;
    if (!send_packet(self, command) || !receive_packet(self, out0) || !receive_packet(self, out1) ||
        !settled(self)) {
        return close_failed(self);
    }
    wipe_packet(self);
    return 1;
}

#endif
