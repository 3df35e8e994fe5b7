// SPDX-License-Identifier: Apache-2.0
// CM_REFUSE(label, condition, sentence), in a generate region, stops elaboration with the sentence. Each tool
// has its own way to do that: Yosys prints what $error says and not what $fatal does, to Verilator an $error
// is a warning, and Icarus Verilog knows neither outside of procedures, so it stops at the start of
// simulation. Some tools build the module before they come to the sentence, so widths and counts that follow
// from a parameter stay legal where the parameter is not.
`ifndef CM_REFUSE
`ifdef YOSYS
`define CM_REFUSE(label, condition, sentence) if (condition) begin : label $error(sentence); end
`elsif __ICARUS__
`define CM_REFUSE(label, condition, sentence) if (condition) begin : label initial $fatal(1, sentence); end
`else
`define CM_REFUSE(label, condition, sentence) if (condition) begin : label $fatal(1, sentence); end
`endif
`endif
