// SPDX-License-Identifier: Apache-2.0
// Writes words i * 37 + 5 into a mapped cm_ram of 64 words of 8 bits and reads them back, dumping from the
// first write.
`timescale 1ps / 1ps
`default_nettype none
module memory_bench #(
    parameter integer DEPTH = 64,
    parameter integer ADDRESS_WIDTH = 6
);
    reg                     clk = 1'b0;
    reg                     write = 1'b0;
    reg [ADDRESS_WIDTH-1:0] address = {ADDRESS_WIDTH{1'b0}};
    reg [7:0]               data = 8'b0;
    wire [7:0]              read;
    reg [8*256-1:0]         name;
    integer                 i;

    cm_ram dut (
        .clk_i(clk), .write_i(write), .write_address_i(address), .write_data_i(data), .read_i(1'b1),
        .read_address_i(~address), .read_data_o(read)
    );

    always #5000 clk = ~clk;

    initial begin
        if (!$value$plusargs("dump=%s", name)) $fatal(1, "no name for the dump");
        repeat (2) @(posedge clk);
        #200;
        $dumpfile(name);
        $dumpvars(1, dut);
        for (i = 0; i < DEPTH; i = i + 1) begin
            write = 1'b1;
            address = i;
            data = i * 37 + 5;
            @(posedge clk);
            #200;
        end
        write = 1'b0;
        for (i = 0; i < DEPTH; i = i + 1) begin
            address = ~i;
            @(posedge clk);
            #9000;
            if (read !== ((i * 37 + 5) & 255)) $fatal(1, "word %0d is wrong", i);
            @(negedge clk);
        end
        $display("words match");
        $finish;
    end
endmodule
`default_nettype wire
