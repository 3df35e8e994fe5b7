// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, reflected) of a word behind what was summed. Included inside a module, because not every tool
// reads packages.
localparam [31:0] CRC_POLYNOMIAL = 32'h82F63B78;

function automatic [31:0] crc_of(input [31:0] crc, input [31:0] word);
    integer b;
    begin
        crc_of = crc ^ word;
        for (b = 0; b < 32; b = b + 1) crc_of = {1'b0, crc_of[31:1]} ^ (crc_of[0] ? CRC_POLYNOMIAL : 32'd0);
    end
endfunction
