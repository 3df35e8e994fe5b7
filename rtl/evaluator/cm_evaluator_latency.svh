// SPDX-License-Identifier: Apache-2.0
// Constants and constant functions that the modules of the evaluator share. Included inside a module behind
// cm_latency.svh.
localparam integer SUM_WIDTH = 62;   // bits of a sum of products
localparam integer FACTOR_BITS = 31; // bits of a weight
localparam integer OPERAND_LATENCY = 2; // cycles from a memory's address to the multipliers

// Reductions of a sum, each by log2_n + 1 bits: so many that a sum of 62 bits is below q R for every prime of
// 20 bits or more.
function automatic integer sum_reductions(input integer log2_n);
    sum_reductions = (SUM_WIDTH - 19 + log2_n) / (log2_n + 1);
endfunction

function automatic integer sum_reduction_latency(input integer deep);
    sum_reduction_latency = (deep != 0) ? 2 : 1;
endfunction

// From the issue of a row's last term to the write of its result.
function automatic integer sum_latency(input integer log2_n, input integer deep);
    sum_latency = OPERAND_LATENCY + wide_product_latency(FACTOR_BITS, deep) + 2
        + sum_reductions(log2_n) * sum_reduction_latency(deep);
endfunction
