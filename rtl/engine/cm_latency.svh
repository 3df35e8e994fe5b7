// SPDX-License-Identifier: Apache-2.0
// Constant functions that several modules need: how the Montgomery multiplier splits its operands, and how
// many cycles each part of the pipeline takes. Included inside a module, because not every tool reads
// packages.

// Iterations of the word-level reduction: every NTT-friendly prime is 1 modulo 2^(log2_n + 1), so a word has
// at most that many bits.
function automatic integer montgomery_words(input integer width, input integer log2_n);
    montgomery_words = (width + log2_n) / (log2_n + 1);
endfunction

// Bits of a word: no more than these iterations need.
function automatic integer montgomery_word_bits(input integer width, input integer log2_n);
    montgomery_word_bits = (width + montgomery_words(width, log2_n) - 1) / montgomery_words(width, log2_n);
endfunction

// Digits of at most 17 bits, which the multipliers of every FPGA family take without a sign.
function automatic integer digits_of(input integer width);
    digits_of = (width + 16) / 17;
endfunction

// Parts of (q - 1) / 2^word that one hardware multiplier takes at a time.
function automatic integer reduction_parts(input integer width, input integer log2_n,
                                           input integer multiplier_width);
    reduction_parts = (width - montgomery_word_bits(width, log2_n) + multiplier_width - 1) / multiplier_width;
endfunction

function automatic integer wide_product_latency(input integer width, input integer deep);
    wide_product_latency = (deep != 0) ? digits_of(width) * digits_of(width) + 1 : 2;
endfunction

// Whole products with a reduction in the same cycle, for standard cells: an FPGA has no multipliers for them.
localparam integer SILICON = 64; // the MULTIPLIER_WIDTH of standard cells

function automatic integer in_silicon(input integer multiplier_width, input integer deep);
    in_silicon = (deep == 0 && multiplier_width == SILICON) ? 1 : 0;
endfunction

function automatic integer reduction_latency(input integer width, input integer log2_n,
                                             input integer multiplier_width, input integer deep);
    reduction_latency = (deep != 0) ? 1 + reduction_parts(width, log2_n, multiplier_width) : 1;
endfunction

// These two are for a whole product: bits that its first reduction takes, and the number of reductions that
// have a cycle. All but the first take log2_n + 1 bits, and a single bit is taken with the product.
function automatic integer first_reduction(input integer width, input integer log2_n);
    first_reduction = montgomery_words(width, log2_n) * montgomery_word_bits(width, log2_n)
        - (montgomery_words(width, log2_n) - 1) * (log2_n + 1);
endfunction

function automatic integer whole_reductions(input integer width, input integer log2_n);
    whole_reductions = montgomery_words(width, log2_n) - ((first_reduction(width, log2_n) == 1) ? 1 : 0);
endfunction

function automatic integer multiply_latency(input integer width, input integer log2_n,
                                            input integer multiplier_width, input integer deep);
    multiply_latency = (in_silicon(multiplier_width, deep) != 0) ? 1 + whole_reductions(width, log2_n)
        : wide_product_latency(width, deep) + 1
            + montgomery_words(width, log2_n) * reduction_latency(width, log2_n, multiplier_width, deep);
endfunction

function automatic integer add_latency(input integer deep);
    add_latency = (deep != 0) ? 2 : 1;
endfunction

// From the read of a row to the first cycle in which it can be read again (cm_ntt_control).
function automatic integer row_latency(input integer input_cycles, input integer add_cycles,
                                       input integer multiply_cycles);
    row_latency = 1 + input_cycles + add_cycles + multiply_cycles + 2;
endfunction

// Registers between a memory's output and the butterfly.
function automatic integer input_latency(input integer deep);
    input_latency = (deep != 0) ? 1 : 0;
endfunction
