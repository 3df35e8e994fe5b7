/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of the functions whose structs or arenas have a size that depends on options. Their names end in
 * these options, so that an application compiled with different options than its library does not link: the
 * linker reports a missing function, with the application's options in its name, such as
 *     undefined reference to `cm_device_init__small_0__max_log2_n_14__store_noise_1__...'
 * `nm` shows the library's. Give both the same options (ciphermote/config.h). Files that call none of
 * these functions are not checked: compile all files of a program with the same options.
 */
#ifndef CIPHERMOTE_SYMBOLS_H
#define CIPHERMOTE_SYMBOLS_H

#include "ciphermote/config.h"

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
