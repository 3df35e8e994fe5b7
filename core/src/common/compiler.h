/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that C11 lacks. */
#ifndef CM_COMMON_COMPILER_H
#define CM_COMMON_COMPILER_H

#if defined(__GNUC__)
/* For a function whose buffers should not end up in its caller's stack frame. */
#define CM_NOINLINE __attribute__((noinline))
/* The same for a function in a header, which not every file that includes it calls. */
#define CM_NOINLINE_UNUSED __attribute__((noinline, unused))
/*
 * For a function with many variants: where the arguments that choose one are known at compile time, the
 * choice costs nothing.
 */
#define CM_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define CM_NOINLINE
#define CM_NOINLINE_UNUSED
#define CM_ALWAYS_INLINE inline
#endif

#endif
