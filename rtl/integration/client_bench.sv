// SPDX-License-Identifier: Apache-2.0
// A self-checking bench of the client engine behind a bus: loads a key, encrypts, decrypts, and has a write
// refused, with the C library's bytes and values as what must come out. It knows the bus by two tasks alone
// (client_bench_bus.vh), so that it runs against any wrapper.
//
//     iverilog -g2012 -I integration -I engine -I client -s client_bench -o bench \
//         integration/client_bench.sv engine/*.sv client/*.sv
//     vvp -n bench +script=integration/client_bench.txt
//
// +stalls: every stream pauses at random. +waves=FILE: the signals of the bench and of what it tests, as VCD.
// It ends with PASSED, or with FAILED and a status of 1.
//
// A script has a line for each step, numbers in hexadecimal:
//
// w OFFSET DATA          writes a register or a setting
// r OFFSET MASK DATA     reads one: under the mask, DATA must come
// i                      waits until STATUS.IDLE is 1
// e DATA                 a random word for later; v DATA LAST: a value; d DATA: a word of frames to decrypt
// f DATA LAST            a word of frames that must come, and m DATA LAST one of results
// q                      every such word must have come
`default_nettype none
`timescale 1ns / 1ps
module client_bench;
    localparam integer MOST = 8192; // words of a stream
    localparam integer PATIENCE = 2_000_000; // cycles that a step may take
    localparam [14:0] STATUS = 15'h8;

    reg clk = 0, rst = 1;
    always #5 clk = !clk;

    reg  [31:0] entropy_data = 0, value_data = 0, read_data = 0;
    reg         entropy_valid = 0, value_valid = 0, value_last = 0, read_valid = 0;
    reg         frame_ready = 0, result_ready = 0;
    `include "client_bench_bus.vh"

    // Words by stream: what goes in, or must come out; a bit above a word says whether it is the last.
    reg [32:0] entropy [0:MOST-1], value [0:MOST-1], frames_in [0:MOST-1];
    reg [32:0] frame [0:MOST-1], result [0:MOST-1];
    integer entropies = 0, values = 0, reads = 0, frames = 0, results = 0;
    integer entropy_at = 0, value_at = 0, read_at = 0, frame_at = 0, result_at = 0;
    reg     stalls = 0;
    integer seed = 1, failures = 0;

    function automatic goes(input paused); // whether a stream goes on in the next cycle
        goes = !paused || ($urandom(seed) & 3) != 0;
    endfunction

    task automatic fail(input [8*40-1:0] what, input [31:0] got, input [31:0] wanted);
        begin
            failures = failures + 1;
            $display("%0t: %0s: %h came where %h must", $time, what, got, wanted);
            if (failures > 10) finish;
        end
    endtask

    task automatic finish;
        begin
            if (failures == 0) $display("PASSED: %0d words of frames, %0d of results", frame_at, result_at);
            else $display("FAILED");
            if (failures == 0) $finish;
            else $fatal(1, "client_bench");
        end
    endtask

    always @(posedge clk) begin
        if (entropy_valid && entropy_ready) entropy_valid <= 0;
        if ((!entropy_valid || entropy_ready) && entropy_at < entropies && goes(stalls)) begin
            entropy_data <= entropy[entropy_at][31:0];
            entropy_valid <= 1;
            entropy_at = entropy_at + 1;
        end
        if (value_valid && value_ready) value_valid <= 0;
        if ((!value_valid || value_ready) && value_at < values && goes(stalls)) begin
            {value_last, value_data} <= value[value_at];
            value_valid <= 1;
            value_at = value_at + 1;
        end
        if (read_valid && read_ready) read_valid <= 0;
        if ((!read_valid || read_ready) && read_at < reads && goes(stalls)) begin
            read_data <= frames_in[read_at][31:0];
            read_valid <= 1;
            read_at = read_at + 1;
        end
        if (frame_valid && frame_ready) begin
            if (frame_at >= frames) fail("a word of a frame too many", frame_data, 0);
            else if ({frame_last, frame_data} !== frame[frame_at])
                fail("frame", frame_data, frame[frame_at][31:0]);
            frame_at = frame_at + 1;
        end
        if (result_valid && result_ready) begin
            if (result_at >= results) fail("a word of a result too many", result_data, 0);
            else if ({result_last, result_data} !== result[result_at])
                fail("result", result_data, result[result_at][31:0]);
            result_at = result_at + 1;
        end
        frame_ready <= goes(stalls);
        result_ready <= goes(stalls);
    end

    integer      file, found, waited;
    reg [7:0]    step;
    reg [31:0]   first, second, third, data;
    reg [8*256:0] name;
    task automatic add(input [7:0] stream, input [32:0] word);
        case (stream)
            "e": begin entropy[entropies] = word; entropies = entropies + 1; end
            "v": begin value[values] = word; values = values + 1; end
            "d": begin frames_in[reads] = word; reads = reads + 1; end
            "f": begin frame[frames] = word; frames = frames + 1; end
            default: begin result[results] = word; results = results + 1; end
        endcase
    endtask

    initial begin
        if ($test$plusargs("stalls")) stalls = 1; // verilog_lint: waive plusarg-assignment
        if ($value$plusargs("waves=%s", name)) begin
            $dumpfile(name);
            $dumpvars(2, client_bench);
        end
        if (!$value$plusargs("script=%s", name)) $fatal(1, "client_bench: name a script with +script=FILE");
        file = $fopen(name, "r");
        if (file == 0) $fatal(1, "client_bench: the script cannot be opened");
        repeat (8) @(posedge clk);
        rst <= 0;
        @(posedge clk);
        found = $fscanf(file, " %c", step);
        while (found == 1) begin
            case (step)
                "w": begin
                    found = $fscanf(file, " %h %h", first, second);
                    bus_write(first[14:0], second);
                end
                "r": begin
                    found = $fscanf(file, " %h %h %h", first, second, third);
                    bus_read(first[14:0], data);
                    if ((data & second) !== third) fail("register", data & second, third);
                end
                "i": begin
                    waited = 0;
                    data = 0;
                    while (!data[0] && waited < PATIENCE) begin
                        bus_read(STATUS, data);
                        waited = waited + 1;
                    end
                    if (!data[0]) fail("STATUS.IDLE", data, 1);
                end
                "v", "f", "m": begin
                    found = $fscanf(file, " %h %h", first, second);
                    add(step, {second[0], first});
                end
                "e", "d": begin
                    found = $fscanf(file, " %h", first);
                    add(step, {1'b0, first});
                end
                "q": begin
                    if (frame_at !== frames) fail("words of frames", frame_at, frames);
                    if (result_at !== results) fail("words of results", result_at, results);
                end
                default: $fatal(1, "client_bench: the script has an unknown step");
            endcase
            found = $fscanf(file, " %c", step);
        end
        finish;
    end
endmodule
`default_nettype wire
