// SPDX-License-Identifier: Apache-2.0
// Stores a polynomial of a key modulo every prime, in pairs of residues: one memory with one port for each
// prime. Only the memory of prime_i is read or written; wipe_i selects all of them. A write takes effect in
// the next cycle, and pair_o follows read_i by a cycle.
`default_nettype none
module cm_client_key #(
    parameter integer WIDTH = 27,
    parameter integer PRIMES = 3,
    parameter integer LOG2_PRIMES = 2,
    parameter integer PAIR_BITS = 11 // log2 of the number of pairs
) (
    input  wire                   clk_i,
    input  wire                   wipe_i,
    input  wire [LOG2_PRIMES-1:0] prime_i,
    input  wire [PAIR_BITS-1:0]   index_i,
    input  wire [1:0]             write_i, // one bit for each residue; nothing is read in the same cycle
    input  wire [2*WIDTH-1:0]     pair_i,
    input  wire                   read_i,
    output wire [2*WIDTH-1:0]     pair_o   // the pair last read
);
    reg  [LOG2_PRIMES-1:0] prime;
    always_ff @(posedge clk_i) if (read_i) prime <= prime_i;
    wire [2*WIDTH-1:0]     pairs [0:(1<<LOG2_PRIMES)-1];
    genvar p;
    generate
        for (p = 0; p < (1 << LOG2_PRIMES); p = p + 1) begin : g_prime
            if (p < PRIMES) begin : g_memory
                wire here = wipe_i || prime_i == p;
                cm_ram_single #(
                    .WIDTH(2 * WIDTH), .PARTS(2), .DEPTH(1 << PAIR_BITS), .ADDRESS_WIDTH(PAIR_BITS)
                ) u_pairs (
                    .clk_i(clk_i), .address_i(index_i), .write_i(write_i & {2{here}}), .write_data_i(pair_i),
                    .read_i(read_i && here), .read_data_o(pairs[p])
                );
            end else begin : g_none
                assign pairs[p] = {(2 * WIDTH){1'b0}};
            end
        end
    endgenerate
    assign pair_o = pairs[prime];
endmodule
`default_nettype wire
