/* SPDX-License-Identifier: Apache-2.0 */
/* What C11 has no word for. */
#ifndef CM_COMMON_COMPILER_H
#define CM_COMMON_COMPILER_H

#if defined(__GNUC__)
/* For a function whose buffers should not lie in its caller's frame. */
#define CM_NOINLINE __attribute__((noinline))
/* For a function of many variants: where the compiler knows the arguments that choose one, the choice costs
   nothing. */
#define CM_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define CM_NOINLINE
#define CM_ALWAYS_INLINE inline
#endif

#endif
