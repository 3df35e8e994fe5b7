// SPDX-License-Identifier: Apache-2.0
// Programs of sums, products and transforms of polynomials, on AXI4-Stream and AXI4-Lite.
// For `verilator -F`, or any tool that takes paths from the list's own folder.
-F ../accelerator/ntt_accelerator.f
+incdir+.
cm_evaluator_lane.sv
cm_evaluator_transformer.sv
cm_evaluator_vector.sv
cm_evaluator_sequencer.sv
cm_evaluator_arrival.sv
cm_evaluator_departure.sv
cm_evaluator.sv
cm_evaluator_two_clocks.sv
