/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that a library was built with, for the applications that use it. `cmake --install` writes them
 * here; in the source tree there are none, and ciphermote/config.h takes what the compiler is told.
 */
