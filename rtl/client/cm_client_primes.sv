// SPDX-License-Identifier: Apache-2.0
// The settings of each prime of a ciphertext. A word that is written takes effect in the next cycle; every
// output holds the numbers of all primes, the first one's in the lowest bits.
`default_nettype none
module cm_client_primes #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27,
    parameter integer PRIMES = 3
) (
    input  wire                    clk_i,
    input  wire                    write_i,
    input  wire [7:0]              address_i,  // number of the prime, times eight, plus the word's
    input  wire [31:0]             data_i,
    output wire [PRIMES*WIDTH-1:0] q_o,
    output wire [PRIMES*5-1:0]     bits_o,     // bits of each q
    output wire [PRIMES*WIDTH-1:0] factor_o,
    output wire [PRIMES*WIDTH-1:0] offset_o,
    output wire [PRIMES*WIDTH-1:0] key_factor_o,
    output wire [PRIMES*64-1:0]    fraction_o
);
    `include "cm_client_map.svh"

    function automatic [4:0] bits_of(input [WIDTH-1:0] q);
        integer b;
        begin
            bits_of = 5'd0;
            for (b = 0; b < WIDTH; b = b + 1) if (q[b]) bits_of = b[4:0] + 5'd1;
        end
    endfunction

    genvar p;
    generate
        for (p = 0; p < PRIMES; p = p + 1) begin : g_prime
            reg [WIDTH-1:0] q, factor, offset, key_factor;
            reg [4:0]       bits;
            reg [63:0]      fraction;
            always_ff @(posedge clk_i) begin
                if (write_i && address_i[7:3] == p) begin
                    case (address_i[2:0])
                        MAP_PRIME_Q: begin
                            q <= {data_i[WIDTH-1:LOG2_N+1], {LOG2_N{1'b0}}, 1'b1};
                            bits <= bits_of(data_i[WIDTH-1:0]);
                        end
                        MAP_PRIME_FACTOR: factor <= data_i[WIDTH-1:0];
                        MAP_PRIME_OFFSET: offset <= data_i[WIDTH-1:0];
                        MAP_PRIME_KEY_FACTOR: key_factor <= data_i[WIDTH-1:0];
                        MAP_PRIME_FRACTION: fraction[31:0] <= data_i;
                        MAP_PRIME_FRACTION + 3'd1: fraction[63:32] <= data_i;
                        default: ;
                    endcase
                end
            end
            assign q_o[WIDTH*p +: WIDTH] = q;
            assign bits_o[5*p +: 5] = bits;
            assign factor_o[WIDTH*p +: WIDTH] = factor;
            assign offset_o[WIDTH*p +: WIDTH] = offset;
            assign key_factor_o[WIDTH*p +: WIDTH] = key_factor;
            assign fraction_o[64*p +: 64] = fraction;
        end
    endgenerate
endmodule
`default_nettype wire
