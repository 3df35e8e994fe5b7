// SPDX-License-Identifier: Apache-2.0
// The table of cm_client_roots, written by rtl/tools/client_roots.py. Angles are those of the largest ring,
// 2^13. The module is combinational.
`default_nettype none
module cm_client_root_table (
    input  wire [6:0]  coarse_i,   // a multiple of pi / 256, up to 64
    input  wire [4:0]  fine_i,     // a multiple of pi / 8192, up to 16
    input  wire [10:0] angle_i,    // the sum of both, at least 1, modulo 2^11
    output reg  [35:0] cosine_o,   // cosine of the coarse angle, times 2^35
    output reg  [35:0] sine_o,     // its sine, likewise
    output reg  [26:0] fine_o,     // sine of the fine angle, times 2^34
    output reg  [16:0] versed_o,   // 1 less the cosine of the fine angle, times 2^32
    output wire [1:0]  missing_o   // units of 2^-31 missing in the sine and in the cosine
);
    always_comb begin
        case (coarse_i)
            7'd0: {cosine_o, sine_o} = {36'h800000000, 36'h000000006};
            7'd1: {cosine_o, sine_o} = {36'h7ffd885ad, 36'h01921d202};
            7'd2: {cosine_o, sine_o} = {36'h7ff621826, 36'h03242abf5};
            7'd3: {cosine_o, sine_o} = {36'h7fe9cbc04, 36'h04b6195dd};
            7'd4: {cosine_o, sine_o} = {36'h7fd8878e2, 36'h0647d97ca};
            7'd5: {cosine_o, sine_o} = {36'h7fc255968, 36'h07d95b9ee};
            7'd6: {cosine_o, sine_o} = {36'h7fa736b42, 36'h096a9049d};
            7'd7: {cosine_o, sine_o} = {36'h7f872bf35, 36'h0afb6805b};
            7'd8: {cosine_o, sine_o} = {36'h7f62368fb, 36'h0c8bd35e8};
            7'd9: {cosine_o, sine_o} = {36'h7f3857f5f, 36'h0e1bc2e44};
            7'd10: {cosine_o, sine_o} = {36'h7f0991c40, 36'h0fab272bc};
            7'd11: {cosine_o, sine_o} = {36'h7ed5e5c69, 36'h1139f0cf4};
            7'd12: {cosine_o, sine_o} = {36'h7e9d55fc8, 36'h12c8106f0};
            7'd13: {cosine_o, sine_o} = {36'h7e5fe4937, 36'h145576b17};
            7'd14: {cosine_o, sine_o} = {36'h7e1d93ea3, 36'h15e21444f};
            7'd15: {cosine_o, sine_o} = {36'h7dd6668ef, 36'h176dd9deb};
            7'd16: {cosine_o, sine_o} = {36'h7d8a5f403, 36'h18f8b83cd};
            7'd17: {cosine_o, sine_o} = {36'h7d3980ec8, 36'h1a82a0262};
            7'd18: {cosine_o, sine_o} = {36'h7ce3ceb20, 36'h1c0b826af};
            7'd19: {cosine_o, sine_o} = {36'h7c894bde2, 36'h1d934fe5a};
            7'd20: {cosine_o, sine_o} = {36'h7c29fbeeb, 36'h1f19f97b9};
            7'd21: {cosine_o, sine_o} = {36'h7bc5e2900, 36'h209f701ce};
            7'd22: {cosine_o, sine_o} = {36'h7b5d039dd, 36'h2223a4c5c};
            7'd23: {cosine_o, sine_o} = {36'h7aef6323e, 36'h23a6887f1};
            7'd24: {cosine_o, sine_o} = {36'h7a7d055b4, 36'h25280c5e2};
            7'd25: {cosine_o, sine_o} = {36'h7a05eeada, 36'h26a821862};
            7'd26: {cosine_o, sine_o} = {36'h798a23b17, 36'h2826b9289};
            7'd27: {cosine_o, sine_o} = {36'h7909a92d0, 36'h29a3c4854};
            7'd28: {cosine_o, sine_o} = {36'h788484143, 36'h2b1f34ebc};
            7'd29: {cosine_o, sine_o} = {36'h77fab988f, 36'h2c98fbbad};
            7'd30: {cosine_o, sine_o} = {36'h776c4edb8, 36'h2e110a627};
            7'd31: {cosine_o, sine_o} = {36'h76d949895, 36'h2f875262a};
            7'd32: {cosine_o, sine_o} = {36'h7641af3d3, 36'h30fbc54db};
            7'd33: {cosine_o, sine_o} = {36'h75a585cf9, 36'h326e54c7c};
            7'd34: {cosine_o, sine_o} = {36'h7504d3458, 36'h33def287b};
            7'd35: {cosine_o, sine_o} = {36'h745f9dd15, 36'h354d90572};
            7'd36: {cosine_o, sine_o} = {36'h73b5ebd15, 36'h36ba20142};
            7'd37: {cosine_o, sine_o} = {36'h7307c3d04, 36'h382493b06};
            7'd38: {cosine_o, sine_o} = {36'h72552c852, 36'h398cdd32c};
            7'd39: {cosine_o, sine_o} = {36'h719e2cd28, 36'h3af2eeb78};
            7'd40: {cosine_o, sine_o} = {36'h70e2cbc66, 36'h3c56ba705};
            7'd41: {cosine_o, sine_o} = {36'h7023109a4, 36'h3db832a64};
            7'd42: {cosine_o, sine_o} = {36'h6f5f02b20, 36'h3f1749b84};
            7'd43: {cosine_o, sine_o} = {36'h6e96a99d2, 36'h4073f21d8};
            7'd44: {cosine_o, sine_o} = {36'h6dca0d14b, 36'h41ce1e64f};
            7'd45: {cosine_o, sine_o} = {36'h6cf934fc4, 36'h4325c135e};
            7'd46: {cosine_o, sine_o} = {36'h6c242960a, 36'h447acd50e};
            7'd47: {cosine_o, sine_o} = {36'h6b4af2790, 36'h45cd358fe};
            7'd48: {cosine_o, sine_o} = {36'h6a6d98a49, 36'h471cece72};
            7'd49: {cosine_o, sine_o} = {36'h698c246c7, 36'h4869e6652};
            7'd50: {cosine_o, sine_o} = {36'h68a69e814, 36'h49b41533b};
            7'd51: {cosine_o, sine_o} = {36'h67bd0fbd0, 36'h4afb6c987};
            7'd52: {cosine_o, sine_o} = {36'h66cf81202, 36'h4c3fdff3d};
            7'd53: {cosine_o, sine_o} = {36'h65ddfbd37, 36'h4d8162c48};
            7'd54: {cosine_o, sine_o} = {36'h64e88926a, 36'h4ebfe8a4f};
            7'd55: {cosine_o, sine_o} = {36'h63ef32903, 36'h4ffb654d8};
            7'd56: {cosine_o, sine_o} = {36'h62f201ac9, 36'h5133cc947};
            7'd57: {cosine_o, sine_o} = {36'h61f1003f4, 36'h5269126ed};
            7'd58: {cosine_o, sine_o} = {36'h60ec38306, 36'h539b2aeff};
            7'd59: {cosine_o, sine_o} = {36'h5fe3b38db, 36'h54ca0a4ae};
            7'd60: {cosine_o, sine_o} = {36'h5ed77c89f, 36'h55f5a4d2b};
            7'd61: {cosine_o, sine_o} = {36'h5dc79d7cb, 36'h571deef9e};
            7'd62: {cosine_o, sine_o} = {36'h5cb420e03, 36'h5842dd54d};
            7'd63: {cosine_o, sine_o} = {36'h5b9d11540, 36'h596464981};
            7'd64: {cosine_o, sine_o} = {36'h5a82799a5, 36'h5a82799a6};
            default: {cosine_o, sine_o} = 72'd0;
        endcase
        case (fine_i)
            5'd0: {fine_o, versed_o} = {27'h0000000, 17'h00000};
            5'd1: {fine_o, versed_o} = {27'h06487ed, 17'h0013c};
            5'd2: {fine_o, versed_o} = {27'h0c90fd9, 17'h004ef};
            5'd3: {fine_o, versed_o} = {27'h12d97c4, 17'h00b1a};
            5'd4: {fine_o, versed_o} = {27'h1921fab, 17'h013bd};
            5'd5: {fine_o, versed_o} = {27'h1f6a78e, 17'h01ed8};
            5'd6: {fine_o, versed_o} = {27'h25b2f6d, 17'h02c6a};
            5'd7: {fine_o, versed_o} = {27'h2bfb746, 17'h03c74};
            5'd8: {fine_o, versed_o} = {27'h3243f18, 17'h04ef5};
            5'd9: {fine_o, versed_o} = {27'h388c6e2, 17'h063ee};
            5'd10: {fine_o, versed_o} = {27'h3ed4ea4, 17'h07b5f};
            5'd11: {fine_o, versed_o} = {27'h451d65c, 17'h09547};
            5'd12: {fine_o, versed_o} = {27'h4b65e09, 17'h0b1a7};
            5'd13: {fine_o, versed_o} = {27'h51ae5aa, 17'h0d07f};
            5'd14: {fine_o, versed_o} = {27'h57f6d3f, 17'h0f1ce};
            5'd15: {fine_o, versed_o} = {27'h5e3f4c7, 17'h11595};
            5'd16: {fine_o, versed_o} = {27'h6487c40, 17'h13bd4};
            default: {fine_o, versed_o} = 44'd0;
        endcase
    end
    localparam [2047:0] COSINES = {
        256'h020000804008000000010000000040030ba8000008000040800900200a000090,
        256'h88000000040000008442000004420020004100000404843884a8040000c00480,
        256'h88080000000004000000000004000c0009410002000880c00202000002412400,
        256'h00010020000120820c010000042a00400040282009a900c2081300200a000000,
        256'h0801040000400020000202b3894120428a0102808e4100c0848100808000b2a0,
        256'h8d070420820014c1860804000000000000004100061000000200000004122060,
        256'h8061008104490000084900820203000000001280890100000000008106050080,
        256'h0000000002498020854d10a00102c022068000c289090100001800000200a500
    };
    localparam [2047:0] SINES = {
        256'h0240a04082004020010010210c00004000002061000042410001280081000480,
        256'h0080002000000081000000000000409102210000000102600200e26210220000,
        256'h0000000000002060000000000000400100000000004090000406400080200022,
        256'h00000080000000100200000000004000004810042401000000010a00000100a2,
        256'h08210040000000000000a0800010000000000000000100000000020408000000,
        256'h0001000000000100004000200000000000002400020000800000000000002000,
        256'h0040008200084007042028100204000000000000000000300000000400000000,
        256'h0000040000010020000000420000400000000000000014a40000004000000000
    };
    assign missing_o = {SINES[angle_i], COSINES[angle_i]};
endmodule
`default_nettype wire
