/* SPDX-License-Identifier: Apache-2.0 */
/* Where the fields of a frame's header are, in bytes: docs/wire-format.md. */
#ifndef CM_WIRE_FRAME_LAYOUT_H
#define CM_WIRE_FRAME_LAYOUT_H

enum {
    MAGIC_0 = 'C',
    MAGIC_1 = 'M',
    AT_VERSION = 2,
    AT_PAYLOAD = 3,
    AT_SCHEME = 4,
    AT_DOMAIN = 5,
    AT_COMPONENTS = 6,
    AT_PRIMES = 7,
    AT_PARAMS = 8,
    AT_KEY = 12,
    AT_COUNTER = 20,
    AT_SCALE = 28,
    AT_XOF = 36,
    AT_COMPONENT = 37,
    AT_PRIME = 38,
    AT_TILES = 39,
    AT_LENGTH = 40,
    /* Version 2, in the 20 bytes behind. */
    MORE_DEVICE = 0,
    MORE_EPOCH = 4,
    MORE_SINCE_WINDOW = 8,
    MORE_RANDOM = 12,
    MORE_BYTES = 20
};

#endif
