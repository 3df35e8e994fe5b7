// SPDX-License-Identifier: Apache-2.0
// Tags of the key stream's users. Included inside a module, because not every tool reads packages; no module
// uses all of them.
// verilator lint_off UNUSEDPARAM
localparam [2:0] FOR_SEEDS = 3'd0, FOR_UNIFORM = 3'd1, FOR_NOISE = 3'd2, FOR_TERNARY = 3'd3, FOR_TAG = 3'd4;
// verilator lint_on UNUSEDPARAM
