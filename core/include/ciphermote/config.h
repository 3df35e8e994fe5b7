/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ciphermote configuration: every compile-time option of the C library, its meaning and its default.
 *
 * Options are named CM_CONFIG_..., and nothing else is. To change one, define it on the compiler's command
 * line, or name a header of your own with -DCM_CONFIG_FILE='"my_config.h"', which is read first; its value is
 * a plain number or a name from this file. Options given nowhere take the defaults below. Combinations that
 * cannot work stop the build with a sentence.
 *
 * An application sees the options of its library: an installed library carries them in this file, and where
 * both are compiled from source, both get the same flags. If they differ in what changes a size or a layout,
 * files that call the library do not link, for the symbols' names end in these options (below).
 */
#ifndef CIPHERMOTE_CONFIG_H
#define CIPHERMOTE_CONFIG_H

/* The names that options may be set to; each is explained with its option. None of them is 0, because
   #if takes a misspelt name for 0. */
#define CM_CONFIG_PRESET_NONE 1
#define CM_CONFIG_PRESET_TINY 2
#define CM_CONFIG_PRESET_BALANCED 3
#define CM_CONFIG_PRESET_FAST 4
#define CM_CONFIG_ENCODER_ROOTS_FLASH 1
#define CM_CONFIG_ENCODER_ROOTS_COMPUTED 2
#define CM_CONFIG_CRC_TABLE_NIBBLE 1
#define CM_CONFIG_CRC_TABLE_WORD 2
#define CM_CONFIG_COMPACT_SET_A10 1
#define CM_CONFIG_COMPACT_SET_A16 2
#define CM_CONFIG_COMPACT_SET_B 3
#define CM_CONFIG_COMPACT_SET_C 4
#define CM_CONFIG_COMPACT_SET_D 5
#define CM_CONFIG_COMPACT_SET_L 6
#define CM_CONFIG_COMPACT_SET_ANY 7

/* 1 for the values 0 and 1 alone, as written: any other word is 0 here. */
#define CM_SWITCH_0 1
#define CM_SWITCH_1 1
#define CM_SWITCH_JOINED(value) CM_SWITCH_##value
#define CM_SWITCH(value) CM_SWITCH_JOINED(value)

#if defined(ARDUINO) && defined(__AVR__) && !defined(CM_CONFIG_FILE)
#define CM_CONFIG_FILE "arduino_config.h" /* ports/arduino: its build passes no options */
#endif
#ifdef CM_CONFIG_FILE
#include CM_CONFIG_FILE
#endif
/* CMake writes the options that a library is built with here, in the config.h that is installed with it. */

/*
 * CM_CONFIG_PRESET            A bundle of the options below for encryption at 31 bits; an option given by
 *                      itself still wins.
 *                      CM_CONFIG_PRESET_TINY      least RAM: eighths of a polynomial, noise sampled anew for
 *                                                 each
 *                      CM_CONFIG_PRESET_BALANCED  quarters, stored noise, checksums by words
 *                      CM_CONFIG_PRESET_FAST      least time within 37 KB at n = 4096: halves, stored noise,
 *                                          checksums by words, and in flash the slots' order, the
 *                                          transformed secret key and, with CM_CONFIG_ASM, the
 *                                          transform's roots
 *                      Default: none of them (CM_CONFIG_PRESET_NONE).
 */
#ifndef CM_CONFIG_PRESET
#define CM_CONFIG_PRESET CM_CONFIG_PRESET_NONE
#endif
#if CM_CONFIG_PRESET < CM_CONFIG_PRESET_NONE || CM_CONFIG_PRESET > CM_CONFIG_PRESET_FAST
#error "CM_CONFIG_PRESET must be CM_CONFIG_PRESET_NONE, ..._TINY, ..._BALANCED or ..._FAST."
#endif
#if CM_CONFIG_PRESET == CM_CONFIG_PRESET_TINY
#define CM_LOG2_TILES 3
#define CM_CONFIG_PRESET_STORE_NOISE 0
#define CM_CONFIG_PRESET_TRANSFORMED_SECRET 0
#define CM_CONFIG_PRESET_CRC_TABLE CM_CONFIG_CRC_TABLE_NIBBLE
#elif CM_CONFIG_PRESET == CM_CONFIG_PRESET_BALANCED
#define CM_LOG2_TILES 2
#define CM_CONFIG_PRESET_STORE_NOISE 1
#define CM_CONFIG_PRESET_TRANSFORMED_SECRET 0
#define CM_CONFIG_PRESET_CRC_TABLE CM_CONFIG_CRC_TABLE_WORD
#elif CM_CONFIG_PRESET == CM_CONFIG_PRESET_FAST
#define CM_LOG2_TILES 1
#define CM_CONFIG_PRESET_STORE_NOISE 1
#define CM_CONFIG_PRESET_TRANSFORMED_SECRET 1
#define CM_CONFIG_PRESET_CRC_TABLE CM_CONFIG_CRC_TABLE_WORD
#else
#define CM_LOG2_TILES 0
#define CM_CONFIG_PRESET_STORE_NOISE 0
#define CM_CONFIG_PRESET_TRANSFORMED_SECRET 0
#define CM_CONFIG_PRESET_CRC_TABLE CM_CONFIG_CRC_TABLE_NIBBLE
#endif
/*
 * CM_LOG2_TILES is the preset's choice of tiles, n / 2^CM_LOG2_TILES coefficients each
 * (cm_encryptor_setup.log2_tiles). Two tiles of 4-byte words are held. Smaller tiles cost time, because the
 * secret, the message and the noise are folded again for each.
 */
#ifdef __AVR__
#undef CM_LOG2_TILES
#define CM_LOG2_TILES 3 /* whatever the preset: a board of 2 KB has room for no other code, nor memory */
#endif
/* Whether the slots' order is a const table (2^CM_CONFIG_MAX_LOG2_N bytes, for that n and all smaller ones)
   or computed. */
#define CM_SLOT_ORDER_TABLE (CM_CONFIG_PRESET == CM_CONFIG_PRESET_FAST)

/*
 * CM_CONFIG_MAX_LOG2_N        Largest ring degree the build can handle, as log2(n): 10 to 14.
 *                      Sizes the ring context (a few words a level) and the encoder's table of roots
 *                      (CM_CONFIG_ENCODER_ROOTS).
 *                      Default: 14 (n = 16384).
 */
#ifndef CM_CONFIG_MAX_LOG2_N
#define CM_CONFIG_MAX_LOG2_N 14
#endif
#if CM_CONFIG_MAX_LOG2_N < 10 || CM_CONFIG_MAX_LOG2_N > 14
#error "CM_CONFIG_MAX_LOG2_N must be between 10 (n = 1024) and 14 (n = 16384)."
#endif

/*
 * CM_CONFIG_PRECISION_31      1: build the 31-bit fixed-point encoder; it serves |value * scale| < 2^29.
 * CM_CONFIG_PRECISION_63      1: build the 63-bit fixed-point encoder; it serves |value * scale| < 2^58.
 *                      Default: both. At least one is needed.
 */
#ifndef CM_CONFIG_PRECISION_31
#define CM_CONFIG_PRECISION_31 1
#endif
#if !CM_SWITCH(CM_CONFIG_PRECISION_31)
#error "CM_CONFIG_PRECISION_31 must be 0 or 1."
#endif
#ifndef CM_CONFIG_PRECISION_63
#define CM_CONFIG_PRECISION_63 1
#endif
#if !CM_SWITCH(CM_CONFIG_PRECISION_63)
#error "CM_CONFIG_PRECISION_63 must be 0 or 1."
#endif
#if !CM_CONFIG_PRECISION_31 && !CM_CONFIG_PRECISION_63
#error "Set CM_CONFIG_PRECISION_31 or CM_CONFIG_PRECISION_63 (or both) to 1, or nothing can be encoded."
#endif

/*
 * CM_CONFIG_COMPLEX           1: also encode complex vectors. Default: 1.
 */
#ifndef CM_CONFIG_COMPLEX
#define CM_CONFIG_COMPLEX 1
#endif
#if !CM_SWITCH(CM_CONFIG_COMPLEX)
#error "CM_CONFIG_COMPLEX must be 0 or 1."
#endif

/*
 * CM_CONFIG_SMALL      1: smaller structs for devices with little RAM: public seeds of 32 bytes, so ChaCha20
 *                      alone, and frames read 32 residues at a time instead of 128. Default: 1 on AVR and
 *                      with CM_CONFIG_PRESET_TINY, else 0.
 */
#ifndef CM_CONFIG_SMALL
#if defined(__AVR__) || CM_CONFIG_PRESET == CM_CONFIG_PRESET_TINY
#define CM_CONFIG_SMALL 1
#else
#define CM_CONFIG_SMALL 0
#endif
#endif
#if !CM_SWITCH(CM_CONFIG_SMALL)
#error "CM_CONFIG_SMALL must be 0 or 1."
#endif

/*
 * CM_CONFIG_SEAL_XOFS         1: beside ChaCha20, offer SHAKE256 and BLAKE2Xb for the public half of a
 *                      symmetric ciphertext: SEAL expands their seeds itself. ChaCha20 is always there: it is
 *                      the fastest, and every secret stream uses it. Default: 1, but 0 with CM_CONFIG_SMALL.
 */
#ifndef CM_CONFIG_SEAL_XOFS
#if CM_CONFIG_SMALL
#define CM_CONFIG_SEAL_XOFS 0
#else
#define CM_CONFIG_SEAL_XOFS 1
#endif
#endif
#if !CM_SWITCH(CM_CONFIG_SEAL_XOFS)
#error "CM_CONFIG_SEAL_XOFS must be 0 or 1."
#endif
#if CM_CONFIG_SMALL && CM_CONFIG_SEAL_XOFS
#error \
    "CM_CONFIG_SMALL has no room for the seeds of SHAKE256 and BLAKE2Xb: set it to 0, or CM_CONFIG_SEAL_XOFS."
#endif

/*
 * CM_CONFIG_WIPE_STACK_BYTES  Bytes of stack that secret-handling calls wipe before returning.
 *                      Default: 4096 without a preset and where pointers have 64 bits, 224 on AVR,
 *                      744 with CM_CONFIG_PRESET_TINY (896 with CM_CONFIG_PRECISION_63), 1280 with the other
 *                      presets. Tests show that these leave no secret there in optimized builds (-O2, -O3):
 *                      on x86-64 and on RISC-V of 32 bits, without a preset and with TINY on a Cortex-M4, and
 *                      with BALANCED and FAST on a Cortex-M55. Elsewhere nothing is tested.
 */
#ifndef CM_CONFIG_WIPE_STACK_BYTES
#if defined(__AVR__)
#define CM_CONFIG_WIPE_STACK_BYTES 224
#elif CM_CONFIG_PRESET == CM_CONFIG_PRESET_NONE || (defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ > 4)
#define CM_CONFIG_WIPE_STACK_BYTES 4096
#elif CM_CONFIG_PRESET != CM_CONFIG_PRESET_TINY
#define CM_CONFIG_WIPE_STACK_BYTES 1280
#elif CM_CONFIG_PRECISION_63
#define CM_CONFIG_WIPE_STACK_BYTES 896
#else
#define CM_CONFIG_WIPE_STACK_BYTES 744
#endif
#endif

/*
 * CM_CONFIG_COUNTER_RESERVE   How many ciphertexts one write of the persistent counter pays for (1 to 65536).
 *                      After a reset the unused part of a reservation is skipped, never reused. Larger values
 *                      wear the storage less. Default: 16.
 */
#ifndef CM_CONFIG_COUNTER_RESERVE
#define CM_CONFIG_COUNTER_RESERVE 16
#endif
#if CM_CONFIG_COUNTER_RESERVE < 1 || CM_CONFIG_COUNTER_RESERVE > 65536
#error "CM_CONFIG_COUNTER_RESERVE must be between 1 and 65536."
#endif

/*
 * CM_CONFIG_COMPACT_COUNTER_ONLY  1: accept compact encryptors on platforms with neither a random source nor
 *                      a salt (compact.h). Their windows are then protected by the counter alone: one that
 *                      is ever set back, by a storage fault or by whoever holds the device, reveals the
 *                      differences of readings. 0: they are refused (CM_ERR_RANDOM). Default: 0.
 */
#ifndef CM_CONFIG_COMPACT_COUNTER_ONLY
#define CM_CONFIG_COMPACT_COUNTER_ONLY 0
#endif
#if !CM_SWITCH(CM_CONFIG_COMPACT_COUNTER_ONLY)
#error "CM_CONFIG_COMPACT_COUNTER_ONLY must be 0 or 1."
#endif

/*
 * CM_CONFIG_COMPACT_SET       The set of all compact keys of the build, CM_CONFIG_COMPACT_SET_A10, ..._A16,
 *                      ..._B, ..._C, ..._D or ..._L: keys of others are refused (CM_ERR_PARAMS). With
 *                      link-time optimisation, or in a build from one file, the set's constants become part
 *                      of the code, and what it has no use for is left out; on AVR, cm_compact_a10 and its
 *                      like are then in flash, for keys to point at, not to be read. For chips with a few KB
 *                      of flash. Packets are the same. Default: CM_CONFIG_COMPACT_SET_ANY.
 */
#ifndef CM_CONFIG_COMPACT_SET
#define CM_CONFIG_COMPACT_SET CM_CONFIG_COMPACT_SET_ANY
#endif
#if CM_CONFIG_COMPACT_SET < CM_CONFIG_COMPACT_SET_A10 || CM_CONFIG_COMPACT_SET > CM_CONFIG_COMPACT_SET_ANY
#error "CM_CONFIG_COMPACT_SET must be CM_CONFIG_COMPACT_SET_ANY, ..._A10, _A16, _B, _C, _D or _L."
#endif
#if (CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_C || \
     CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_D) && \
    CM_CONFIG_MAX_LOG2_N < 11
#error "CM_CONFIG_COMPACT_SET names a set of n = 2048: CM_CONFIG_MAX_LOG2_N must be at least 11."
#endif

/*
 * CM_CONFIG_STORE_NOISE       1: sample the noise once and keep it, n bytes for a symmetric encryption and 2n
 *                      for an asymmetric one. 0: sample it again for each prime and tile. Default: the
 *                      preset's, else 0.
 */
#ifndef CM_CONFIG_STORE_NOISE
#define CM_CONFIG_STORE_NOISE CM_CONFIG_PRESET_STORE_NOISE
#endif
#if !CM_SWITCH(CM_CONFIG_STORE_NOISE)
#error "CM_CONFIG_STORE_NOISE must be 0 or 1."
#endif

/*
 * Where noise is not stored, how many of its coefficients a symmetric encryption samples once and keeps all
 * the same, a byte each: on AVR, what RAM is left buys time.
 */
#if defined(__AVR__) && !CM_CONFIG_STORE_NOISE
#define CM_KEPT_NOISE (CM_CONFIG_MAX_LOG2_N == 10 ? 128 : 256)
#elif !defined(CM_KEPT_NOISE) /* tests keep some everywhere */
#define CM_KEPT_NOISE 0
#endif

/*
 * CM_CONFIG_TRANSFORMED_SECRET  1: a secret key lies in flash transformed, 4n bytes a data prime
 *                      (cm_secret_key_transform), beside its 2 bits a coefficient; a symmetric encryption
 *                      holds one tile instead of two and transforms half as often. Default: the preset's,
 *                      else 0.
 */
#ifndef CM_CONFIG_TRANSFORMED_SECRET
#define CM_CONFIG_TRANSFORMED_SECRET CM_CONFIG_PRESET_TRANSFORMED_SECRET
#endif
#if !CM_SWITCH(CM_CONFIG_TRANSFORMED_SECRET)
#error "CM_CONFIG_TRANSFORMED_SECRET must be 0 or 1."
#endif

/*
 * CM_CONFIG_ACCELERATOR       1: whole rings are transformed and multiplied by the hardware of rtl/
 *                      (accelerator.h); the application provides cm_accelerator_for. An asymmetric encryption
 *                      hands its two products over as one call, and takes 4n bytes more. What it
 *                      declines is left to assembly (CM_CONFIG_ASM) and portable C. Default: 0.
 */
#ifndef CM_CONFIG_ACCELERATOR
#define CM_CONFIG_ACCELERATOR 0
#endif
#if !CM_SWITCH(CM_CONFIG_ACCELERATOR)
#error "CM_CONFIG_ACCELERATOR must be 0 or 1."
#endif
/*
 * CM_CONFIG_ASM        1: use the library's own code for the target where it has some: assembly for
 *                      ARMv7E-M and ARMv8-M with DSP (Cortex-M4, M7, M33), for ARMv6-M (Cortex-M0, M0+) and
 *                      for AVR (ATmega, ATtiny), more where it has a multiplier; C for Helium (Cortex-M55,
 *                      M85) and for RISC-V of 32 bits with multiplication. It takes 40 to 65 % off the time;
 *                      results are the same, bit for bit. Compile core/src/backends/<target>_<name>.S too,
 *                      with the same flags, or the linker misses functions named cmi_armv6m_...,
 *                      cmi_armv7em_... or cmi_avr_...; for other targets these files are empty. 0: portable
 *                      C alone, whose products take a varying time on AVR without a multiplier. Default: 1.
 */
#ifndef CM_CONFIG_ASM
#define CM_CONFIG_ASM 1
#endif
#if !CM_SWITCH(CM_CONFIG_ASM)
#error "CM_CONFIG_ASM must be 0 or 1."
#endif
/*
 * ARMv8-M with the DSP extension runs ARMv7E-M's assembly. So does ARMv7-A in Thumb state (-mthumb), compiled
 * without position independence (-fno-pie): the assembly holds absolute addresses of its tables.
 */
#if CM_CONFIG_ASM && \
    (defined(__ARM_ARCH_7EM__) || \
     (defined(__ARM_FEATURE_DSP) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M') || \
     (defined(__ARM_ARCH_7A__) && defined(__thumb2__) && defined(__ARM_FP) && !defined(__ARM_BIG_ENDIAN) && \
      !defined(__PIC__)))
#define CM_ARMV7EM 1
#else
#define CM_ARMV7EM 0
#endif
/* Vectors of whole numbers on top of it. */
#if CM_ARMV7EM && defined(__ARM_FEATURE_MVE) && defined(__GNUC__)
#define CM_HELIUM 1
#else
#define CM_HELIUM 0
#endif
/* ARMv6-M, and ARMv8-M's baseline (Cortex-M0, M0+, M1, M23), which multiply to 32 bits. */
#if CM_CONFIG_ASM && (defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__))
#define CM_ARMV6M 1
#else
#define CM_ARMV6M 0
#endif
/* RISC-V of 32 bits with multiplication; it and ARMv6-M share C for cores of 32 bits. */
#if CM_CONFIG_ASM && defined(__riscv_mul) && defined(__riscv_xlen) && __riscv_xlen == 32 && defined(__GNUC__)
#define CM_RV32 1
#else
#define CM_RV32 0
#endif
#define CM_WORD32 (CM_RV32 || CM_ARMV6M)
/* x86-64 with GNU's extensions of C: tags in words of 64 bits, and the processor's checksum. */
#if CM_CONFIG_ASM && defined(__x86_64__) && defined(__SIZEOF_INT128__) && defined(__GNUC__)
#define CM_X86_64 1
#else
#define CM_X86_64 0
#endif
/* AVR's assembly as a whole, and the part of it that multiplies. */
#if CM_CONFIG_ASM && defined(__AVR_HAVE_MOVW__) && defined(__AVR_HAVE_LPMX__)
#define CM_AVR 1
#else
#define CM_AVR 0
#endif
#if CM_AVR && defined(__AVR_HAVE_MUL__)
#define CM_AVR_MUL 1
#else
#define CM_AVR_MUL 0
#endif

/*
 * CM_CONFIG_PRIME_BITS        On AVR, the bits of all primes that the program names, if they are the same: 20
 *                      (the compact sets but B and L) or 26. What other primes need is left out, and they are
 *                      refused (CM_ERR_PARAMS). 0: any. Elsewhere it changes nothing. Default: those of
 *                      CM_CONFIG_COMPACT_SET on AVR without a multiplier, else 0.
 */
#ifndef CM_CONFIG_PRIME_BITS
#if !defined(__AVR__) || defined(__AVR_HAVE_MUL__) || CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_ANY
#define CM_CONFIG_PRIME_BITS 0
#elif CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_B || CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_L
#define CM_CONFIG_PRIME_BITS 26
#else
#define CM_CONFIG_PRIME_BITS 20
#endif
#endif
#if CM_CONFIG_PRIME_BITS != 0 && CM_CONFIG_PRIME_BITS != 20 && CM_CONFIG_PRIME_BITS != 26
#error "CM_CONFIG_PRIME_BITS must be 0, 20 or 26."
#endif
#if (CM_CONFIG_PRIME_BITS == 20 && (CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_B || \
                                    CM_CONFIG_COMPACT_SET == CM_CONFIG_COMPACT_SET_L)) || \
    (CM_CONFIG_PRIME_BITS == 26 && CM_CONFIG_COMPACT_SET < CM_CONFIG_COMPACT_SET_ANY && \
     CM_CONFIG_COMPACT_SET != CM_CONFIG_COMPACT_SET_B && CM_CONFIG_COMPACT_SET != CM_CONFIG_COMPACT_SET_L)
#error "CM_CONFIG_PRIME_BITS must be the bits of CM_CONFIG_COMPACT_SET's primes: 26 (B, L) or 20."
#endif
#ifdef __AVR__
#define CM_PRIME_BITS CM_CONFIG_PRIME_BITS
#else
#define CM_PRIME_BITS 0
#endif

/*
 * CM_CONFIG_ENCODER_ROOTS     Where the encoder takes its sines and cosines from; results are the same, bit
 *                      for bit:
 *                      CM_CONFIG_ENCODER_ROOTS_FLASH     a const table: 2^(CM_CONFIG_MAX_LOG2_N + 1) bytes
 *                                                        for 31 bits, twice that for 63;
 *                      CM_CONFIG_ENCODER_ROOTS_COMPUTED  computed, a product of 128 bits each, from const
 *                                                 tables of 2^(CM_CONFIG_MAX_LOG2_N - 3) + 280 bytes, and
 *                                                 half that again with 63 bits.
 *                      Default: CM_CONFIG_ENCODER_ROOTS_FLASH.
 */
#ifndef CM_CONFIG_ENCODER_ROOTS
#define CM_CONFIG_ENCODER_ROOTS CM_CONFIG_ENCODER_ROOTS_FLASH
#endif
#if CM_CONFIG_ENCODER_ROOTS != CM_CONFIG_ENCODER_ROOTS_FLASH && \
    CM_CONFIG_ENCODER_ROOTS != CM_CONFIG_ENCODER_ROOTS_COMPUTED
#error "CM_CONFIG_ENCODER_ROOTS must be CM_CONFIG_ENCODER_ROOTS_FLASH or CM_CONFIG_ENCODER_ROOTS_COMPUTED."
#endif

/*
 * CM_CONFIG_CRC_TABLE         The table in flash by which frames are check-summed:
 *                      CM_CONFIG_CRC_TABLE_NIBBLE  64 bytes, eight dependent look-ups a word;
 *                      CM_CONFIG_CRC_TABLE_WORD    4 KB, four independent ones.
 *                      Default: the preset's, else CM_CONFIG_CRC_TABLE_NIBBLE.
 */
#ifndef CM_CONFIG_CRC_TABLE
#define CM_CONFIG_CRC_TABLE CM_CONFIG_PRESET_CRC_TABLE
#endif
#if CM_CONFIG_CRC_TABLE != CM_CONFIG_CRC_TABLE_NIBBLE && CM_CONFIG_CRC_TABLE != CM_CONFIG_CRC_TABLE_WORD
#error "CM_CONFIG_CRC_TABLE must be CM_CONFIG_CRC_TABLE_NIBBLE or CM_CONFIG_CRC_TABLE_WORD."
#endif

/*
 * CM_CONFIG_NTT_ROOTS         1: the number-theoretic transform takes its roots of unity from the tables that
 *                      a key brings (keys.h): 8n bytes of flash a prime, which `ciphermote provision` writes.
 *                      For a key without them they are computed, in portable C. 0: they are computed for each
 *                      transform, in assembly where there is some. Results are the same. Default: 1 with
 *                      CM_CONFIG_PRESET_FAST where CM_CONFIG_ASM has code for ARM or RISC-V, else 0:
 *                      portable C is slower with tables.
 */
#ifndef CM_CONFIG_NTT_ROOTS
#if CM_CONFIG_PRESET == CM_CONFIG_PRESET_FAST && (CM_ARMV7EM || CM_WORD32)
#define CM_CONFIG_NTT_ROOTS 1
#else
#define CM_CONFIG_NTT_ROOTS 0
#endif
#endif
#if !CM_SWITCH(CM_CONFIG_NTT_ROOTS)
#error "CM_CONFIG_NTT_ROOTS must be 0 or 1."
#endif
#if CM_CONFIG_NTT_ROOTS && defined(__AVR__)
#error "CM_CONFIG_NTT_ROOTS must be 0 on AVR, which copies const tables to RAM."
#endif

/*
 * ---- symbols ----
 *
 * Symbols of the functions whose structs or arenas have a size that depends on options. Their names end in
 * these options, so that an application compiled with different options than its library does not link: the
 * linker reports a missing function, with the application's options in its name, such as
 *     undefined reference to `cm_device_init__small_0__max_log2_n_14__store_noise_1__...'
 * `nm` shows the library's. Give both the same options. Files that call none of these functions are not
 * checked: compile all files of a program with the same options. (One symbol that every file refers to would
 * check them too, but linkers drop unused references with --gc-sections, which firmware is linked with.)
 */

/* On ARM the ABI decides the size of enums, and so of structs. */
#ifdef __ARM_SIZEOF_MINIMAL_ENUM
#define CM_SYMBOL_ENUM_BYTES __ARM_SIZEOF_MINIMAL_ENUM
#else
#define CM_SYMBOL_ENUM_BYTES 0
#endif

#define CM_SYMBOL_JOINED(before, label, value) before##label##value
#define CM_SYMBOL_JOIN(before, label, value) CM_SYMBOL_JOINED(before, label, value)
#define CM_SYMBOL_1(name) CM_SYMBOL_JOIN(name, __small_, CM_CONFIG_SMALL)
#define CM_SYMBOL_2(name) CM_SYMBOL_JOIN(CM_SYMBOL_1(name), __max_log2_n_, CM_CONFIG_MAX_LOG2_N)
#define CM_SYMBOL_3(name) CM_SYMBOL_JOIN(CM_SYMBOL_2(name), __store_noise_, CM_CONFIG_STORE_NOISE)
#define CM_SYMBOL_4(name) \
    CM_SYMBOL_JOIN(CM_SYMBOL_3(name), __transformed_secret_, CM_CONFIG_TRANSFORMED_SECRET)
#define CM_SYMBOL_5(name) CM_SYMBOL_JOIN(CM_SYMBOL_4(name), __accelerator_, CM_CONFIG_ACCELERATOR)
#define CM_SYMBOL_6(name) CM_SYMBOL_JOIN(CM_SYMBOL_5(name), __seal_xofs_, CM_CONFIG_SEAL_XOFS)
#define CM_SYMBOL_7(name) CM_SYMBOL_JOIN(CM_SYMBOL_6(name), __ntt_roots_, CM_CONFIG_NTT_ROOTS)
#define CM_SYMBOL(name) CM_SYMBOL_JOIN(CM_SYMBOL_7(name), __enum_bytes_, CM_SYMBOL_ENUM_BYTES)

#define cm_device_init CM_SYMBOL(cm_device_init)
#define cm_device_emit_public_key CM_SYMBOL(cm_device_emit_public_key)
#define cm_encryptor_init_symmetric CM_SYMBOL(cm_encryptor_init_symmetric)
#define cm_encryptor_init_asymmetric CM_SYMBOL(cm_encryptor_init_asymmetric)
#define cm_ckks_encrypt CM_SYMBOL(cm_ckks_encrypt)
#define cm_bfv_encrypt CM_SYMBOL(cm_bfv_encrypt)
#define cm_bfv_encrypt_read CM_SYMBOL(cm_bfv_encrypt_read)
#define cm_frame_writer_init CM_SYMBOL(cm_frame_writer_init)
#define cm_frame_parse_header CM_SYMBOL(cm_frame_parse_header)
#define cm_frame_parse CM_SYMBOL(cm_frame_parse)
#define cm_frame_unpack CM_SYMBOL(cm_frame_unpack)
#define cm_frame_reader_expect CM_SYMBOL(cm_frame_reader_expect)
#define cm_frame_reader_init CM_SYMBOL(cm_frame_reader_init)
#define cm_frame_reader_feed CM_SYMBOL(cm_frame_reader_feed)
#define cm_frame_verify CM_SYMBOL(cm_frame_verify)
#define cm_frame_writer_tag CM_SYMBOL(cm_frame_writer_tag)
#define cm_compact_init CM_SYMBOL(cm_compact_init)
#define cm_compact_set_by_id CM_SYMBOL(cm_compact_set_by_id)
#define cm_seal_writer_init CM_SYMBOL(cm_seal_writer_init)
#define cm_seed_expander_init CM_SYMBOL(cm_seed_expander_init)
#define cm_seed_expander_begin CM_SYMBOL(cm_seed_expander_begin)
#define cm_decryptor_init CM_SYMBOL(cm_decryptor_init)
#define cm_decryptor_feed CM_SYMBOL(cm_decryptor_feed)
#define cm_decryptor_wipe CM_SYMBOL(cm_decryptor_wipe)
#define cm_bfv_expect CM_SYMBOL(cm_bfv_expect)
#define cm_bfv_expect_noise CM_SYMBOL(cm_bfv_expect_noise)
#define cm_ckks_expect CM_SYMBOL(cm_ckks_expect)
#define cm_bfv_decrypt CM_SYMBOL(cm_bfv_decrypt)
#define cm_bfv_noise_budget CM_SYMBOL(cm_bfv_noise_budget)
#define cm_ckks_decrypt CM_SYMBOL(cm_ckks_decrypt)
#define cm_ckks_decrypt_shared CM_SYMBOL(cm_ckks_decrypt_shared)
#define cm_aided_begin CM_SYMBOL(cm_aided_begin)
#define cm_aided_feed CM_SYMBOL(cm_aided_feed)
#define cm_aided_finish CM_SYMBOL(cm_aided_finish)
#define cm_aided_wipe CM_SYMBOL(cm_aided_wipe)
#define cm_aided_tag CM_SYMBOL(cm_aided_tag)
#define cm_aided_send CM_SYMBOL(cm_aided_send)
#define cm_aided_answer CM_SYMBOL(cm_aided_answer)

#endif
