// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, reflected): the checksum of some words with one more word behind them. Included inside
// a module, because not every tool reads packages.
localparam [31:0] CRC_POLYNOMIAL = 32'h82F63B78;

// Each bit is the parity of some of the word's and the sum's: a tree of its own, where bit by bit of the word
// would be a chain.
function automatic [31:0] crc_behind(input [31:0] crc); // shifts 32 zeros through the CRC
    integer b;
    begin
        crc_behind = crc;
        for (b = 0; b < 32; b = b + 1) begin
            crc_behind = {1'b0, crc_behind[31:1]} ^ (crc_behind[0] ? CRC_POLYNOMIAL : 32'd0);
        end
    end
endfunction

function automatic [1023:0] crc_parities();
    integer from, to;
    reg [31:0] column;
    begin
        crc_parities = 1024'd0;
        for (from = 0; from < 32; from = from + 1) begin
            column = crc_behind(32'd1 << from);
            for (to = 0; to < 32; to = to + 1) crc_parities[32*to+from] = column[to];
        end
    end
endfunction
localparam [1023:0] CRC_PARITIES = crc_parities();

function automatic [31:0] crc_of(input [31:0] crc, input [31:0] word);
    integer b;
    for (b = 0; b < 32; b = b + 1) crc_of[b] = ^((crc ^ word) & CRC_PARITIES[32*b +: 32]);
endfunction
