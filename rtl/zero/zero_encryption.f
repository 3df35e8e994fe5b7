// SPDX-License-Identifier: Apache-2.0
// Encryptions of zero under a public key.
// For `verilator -F`, or any tool that takes paths from the list's own folder.
-F ../engine/ntt_engine.f
+incdir+.
cm_zero_start.sv
cm_zero_layer.sv
cm_zero_encrypt.sv
