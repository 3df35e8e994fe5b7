/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decryption of one ciphertext, residues in, values out: what a decryptor (ciphermote/decryptor.h) does
 * between its frames, with the same statuses.
 */
#ifndef CM_SCHEME_DECRYPTION_H
#define CM_SCHEME_DECRYPTION_H

#include "ciphermote/decryption.h"
#include "ciphermote/device.h"
#include "common/names.h"

CMI_HIDDEN_BEGIN

/* Nothing is expected yet. */
CM_MUST_CHECK cm_status cmi_decryption_init(cm_decryption *decryption, const cm_secret_key *key, void *arena,
                                            size_t arena_bytes);
void cmi_decryption_wipe(cm_decryption *decryption);

/* Whether a decryption could begin, without touching the arena. Afterwards, nothing is expected. */
CM_MUST_CHECK cm_status cmi_bfv_decryption_check(cm_decryption *decryption, const cm_bfv_expected *expected);
CM_MUST_CHECK cm_status cmi_ckks_decryption_check(cm_decryption *decryption,
                                                  const cm_ckks_expected *expected);

CM_MUST_CHECK cm_status cmi_bfv_decryption_begin(cm_decryption *decryption, const cm_bfv_expected *expected);
CM_MUST_CHECK cm_status cmi_bfv_decryption_end(cm_decryption *decryption);

/*
 * For a back-end that decrypts whole ciphertexts, in this order. Whether the arena is as the decryption's
 * begin left it. Then so many of its bytes, from the start on, are the back-end's, which wipes those that the
 * hardware does not fill; the next call undoes that, for portable C. The end, of the ciphertext with this
 * counter: its values are at the arena's start.
 * BFV: n coefficients modulo t, in 16 bits each if t is at most 2^16, else in 32. finished: they are the
 * numbers that are expected, but for their width.
 * CKKS: the values that are expected, none of them too large. scale: the ciphertext's.
 */
bool cmi_decryption_untouched(const cm_decryption *decryption);
size_t cmi_decryption_room(const cm_decryption *decryption);
void cmi_decryption_restore(cm_decryption *decryption);
CM_MUST_CHECK cm_status cmi_bfv_decryption_given(cm_decryption *decryption, uint64_t counter, bool finished);
CM_MUST_CHECK cm_status cmi_ckks_decryption_given(cm_decryption *decryption, uint64_t counter,
                                                  uint64_t scale);

CM_MUST_CHECK cm_status cmi_ckks_decryption_begin(cm_decryption *decryption,
                                                  const cm_ckks_expected *expected);
CM_MUST_CHECK cm_status cmi_ckks_decryption_end(cm_decryption *decryption);
CM_MUST_CHECK cm_status cmi_ckks_decryption_end_shared(cm_decryption *decryption, cm_device *device,
                                                       unsigned log2_noise);

/* In place of BFV's: measures the noise of a ciphertext. */
CM_MUST_CHECK cm_status cmi_noise_begin(cm_decryption *decryption, uint32_t plain_modulus,
                                        unsigned log2_tiles);
CM_MUST_CHECK cm_status cmi_noise_budget(cm_decryption *decryption, unsigned *bits);

CMI_HIDDEN_END

#endif
