/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two halves of BLAKE2Xb ("BLAKE2X", Aumasson, Neves, O'Hearn, Wilcox-O'Hearn 2016): one root hash, then
 * output nodes of 64 bytes, each from the root alone. Any node can be computed without its neighbours.
 */
#ifndef CM_RANDOM_BLAKE2XB_H
#define CM_RANDOM_BLAKE2XB_H

#include <stddef.h>
#include <stdint.h>

#include "common/names.h"

CMI_HIDDEN_BEGIN

#define CM_BLAKE2XB_NODE_BYTES 64

/* The root of an output of length bytes, as little-endian words. Key and message as for cmi_blake2xb. */
void cmi_blake2xb_root(uint64_t root[8], uint32_t length, const uint8_t *key, size_t key_bytes,
                       const uint8_t *message, size_t message_bytes);

/* Output node number index, as little-endian words; its first min(64, length - 64 index) bytes count. */
void cmi_blake2xb_node(uint64_t node[8], uint32_t index, uint32_t length, const uint64_t root[8]);

CMI_HIDDEN_END

#endif
