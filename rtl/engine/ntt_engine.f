// SPDX-License-Identifier: Apache-2.0
// Number-theoretic transforms and polynomial products for any prime.
// For `verilator -F`, or any tool that takes paths from the list's own folder.
+incdir+.
warnings.vlt
cm_delay.sv
cm_ram.sv
cm_ram_single.sv
cm_swap.sv
cm_modular_add_subtract.sv
cm_wide_multiply.sv
cm_montgomery_reduce.sv
cm_montgomery_words.sv
cm_booth_rows.sv
cm_montgomery_whole.sv
cm_montgomery_multiply.sv
cm_twiddle_generator.sv
cm_butterfly.sv
cm_units.sv
cm_ntt_control.sv
cm_ntt_engine.sv
