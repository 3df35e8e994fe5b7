/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzzed device's network: 4 inputs, 4 hidden values, 3 classes. */
#ifndef AIDED_MODEL_H
#define AIDED_MODEL_H

#include "rounds.h"

static const rounds_layer aided_layers[] = {{4, 4, 4, 6000u}, {4, 4, 3, 0u}};
static const rounds_model aided_model = {
    .layers = aided_layers,
    .count = 2,
    .log2_stride = 3,
    .plain_modulus = 12289u,
    .limit = 100,
    .cap_bits = 0x41000000u,
    .log2_scale = 18,
    .largest = 32,
};

#endif
