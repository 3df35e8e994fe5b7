// SPDX-License-Identifier: Apache-2.0
// The items that the client engine's machines count: pieces of randomness, loads, transforms and streams.
// Included inside a module, because not every tool reads packages; no module uses all of it.
// verilator lint_off UNUSEDPARAM

// Counts wrap modulo 2^COUNT. They are compared by their differences, which are small.
localparam integer COUNT = 8;

function automatic reached(input [COUNT-1:0] count, input [COUNT-1:0] goal);
    reg [COUNT-1:0] difference;
    begin
        difference = count - goal;
        reached = !difference[COUNT-1];
    end
endfunction

// What a load fills a set with: the ternary u, the noise of component 1, the message with the noise of
// component 0, or a public half. The first three have the numbers of their pieces of randomness.
localparam [1:0] LOAD_U = 2'd0, LOAD_E1 = 2'd1, LOAD_M = 2'd2, LOAD_A = 2'd3;
// verilator lint_on UNUSEDPARAM
