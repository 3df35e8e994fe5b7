// SPDX-License-Identifier: Apache-2.0
// The transforms of ntt_engine on AXI4-Stream and AXI4-Lite.
// For `verilator -F`, or any tool that takes paths from the list's own folder.
-F ../engine/ntt_engine.f
+incdir+.
cm_axil_registers.sv
cm_word_input.sv
cm_word_output.sv
cm_ntt_accelerator.sv
cm_stream_crossing.sv
cm_stream_widen.sv
cm_stream_narrow.sv
cm_stream_clocks.sv
cm_ntt_accelerator_two_clocks.sv
