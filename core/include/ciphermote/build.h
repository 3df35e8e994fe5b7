/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that a library was built with, for the applications that use it. `cmake --install` writes them
 * into this file; in the source tree it is empty, and options come from the compiler's command line.
 */
