// SPDX-License-Identifier: Apache-2.0
// Runs one transform on the mapped netlist of cm_ntt_engine, with the delays of its cells, and dumps its nets from the
// start of the job to its end. Twiddles, words and the transform expected come as hexadecimal files (+twiddles=,
// +words=, +expected=), the prime as +q=, the dump's name as +dump=. Prints the cycles dumped; stops at a wrong result.
`timescale 1ps / 1ps
`default_nettype none
module energy #(
    parameter integer LOG2_N = 10,
    parameter integer WIDTH = 32,
    parameter integer LOG2_LANES = 2,
    parameter integer PERIOD_PS = 10000
);
    localparam integer N = 1 << LOG2_N;
    localparam integer LANES = 1 << LOG2_LANES;

    reg                            clk = 1'b0;
    reg                            rst = 1'b1;
    reg                            start = 1'b0;
    reg                            host_write = 1'b0;
    reg                            transformed = 1'b0;
    reg                            table_write = 1'b0;
    reg  [WIDTH-1:0]               q;
    reg  [LOG2_N-1:0]              index = {LOG2_N{1'b0}};
    reg  [(WIDTH << LOG2_LANES)-1:0] data = {(WIDTH << LOG2_LANES){1'b0}};
    reg  [WIDTH-1:0]               word = {WIDTH{1'b0}};
    wire [(WIDTH << LOG2_LANES)-1:0] result;
    wire                           done;
    wire                           busy;

    reg [WIDTH-1:0] twiddles [0:N-1];
    reg [WIDTH-1:0] words [0:N-1];
    reg [WIDTH-1:0] expected [0:N-1];
    reg [8*256-1:0] name;

    cm_ntt_engine dut (
        .clk_i(clk), .rst_i(rst), .q_i(q),
        .start_i(start), .set_i(1'b0), .forward_i(1'b1), .products_i(2'b0), .operand_i(1'b0), .inverse_i(1'b0),
        .page_i(1'b0), .busy_o(busy), .done_o(done),
        .host_write_i(host_write), .host_write_set_i(1'b0), .host_write_page_i(1'b0),
        .host_write_transformed_i(1'b0), .host_write_index_i(index), .host_write_data_i(data),
        .host_read_set_i(1'b0), .host_read_page_i(1'b0), .host_read_transformed_i(transformed),
        .host_read_index_i(index), .host_read_data_o(result),
        .table_write_i(table_write), .table_is_operand_i(1'b0), .table_operand_i(1'b0), .table_index_i(index),
        .table_data_i(word)
    );

    always #(PERIOD_PS / 2) clk = ~clk;

    // Inputs change a little after the edge, as those from other flops do.
    task automatic tick;
        begin
            @(posedge clk);
            #200;
        end
    endtask

    integer i;
    integer lane;
    integer cycles;
    initial begin
        if (!$value$plusargs("q=%d", q)) $fatal(1, "no prime");
        if ($value$plusargs("twiddles=%s", name)) $readmemh(name, twiddles);
        if ($value$plusargs("words=%s", name)) $readmemh(name, words);
        if ($value$plusargs("expected=%s", name)) $readmemh(name, expected);
        repeat (3) tick;
        rst = 1'b0;
        table_write = 1'b1;
        for (i = 0; i < N; i = i + 1) begin
            index = i;
            word = twiddles[i];
            tick;
        end
        table_write = 1'b0;
        host_write = 1'b1;
        for (i = 0; i < N; i = i + LANES) begin
            index = i;
            for (lane = 0; lane < LANES; lane = lane + 1) data[WIDTH*lane +: WIDTH] = words[i+lane];
            tick;
        end
        host_write = 1'b0;
        repeat (4) tick;
        if (!$value$plusargs("dump=%s", name)) $fatal(1, "no name for the dump");
        $dumpfile(name);
        $dumpvars(1, dut);
        start = 1'b1;
        cycles = 0;
        while (!done) begin
            tick;
            start = 1'b0;
            cycles = cycles + 1;
            if (cycles > 100 * N) $fatal(1, "the job does not end");
        end
        $dumpoff;
        $dumpflush;
        tick;
        transformed = 1'b1;
        for (i = 0; i < N; i = i + LANES) begin
            index = i;
            repeat (3) tick;
            for (lane = 0; lane < LANES; lane = lane + 1) begin
                if (result[WIDTH*lane +: WIDTH] !== expected[i+lane]) $fatal(1, "output %0d is wrong", i + lane);
            end
        end
        $display("cycles %0d", cycles);
        $finish;
    end
endmodule
`default_nettype wire
