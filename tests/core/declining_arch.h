/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A back-end that takes over nothing: portable C does the work, in the order that CM_CONFIG_ACCELERATOR
 * requires.
 */
static const cmi_arch declining_arch = {0};
#define CM_ARCH declining_arch
