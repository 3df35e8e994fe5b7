// SPDX-License-Identifier: Apache-2.0
// Moves words between the memory and streams. In a cycle it writes a word: one that is received, or else two
// samples of the sensor, or else a zero where memory is to be cleared. And it reads one, if it lies in the
// other bank (cm_soc_ram): one that is sent, or else one that goes out of the system. A start sets the
// address of a channel and how many items it moves; nothing else stops it but another start. What is sent may
// be in pieces: the address is then that of a list, of an address and a length in bytes for each, all of them
// of whole words.
`default_nettype none
module cm_soc_dma #(
    parameter integer LOG2_WORDS = 18
) (
    input  wire                  clk_i,
    input  wire                  rst_i,
    // Starts of channels, for one cycle, with the address of a word and a count.
    input  wire                  send_i,
    input  wire                  receive_i,
    input  wire                  leave_i,
    input  wire                  clear_i,
    input  wire                  take_i,
    input  wire [LOG2_WORDS-1:0] address_i,
    input  wire [19:0]           count_i,   // send: items; take: samples
    input  wire                  halves_i,  // send: items of 16 bits, the lower one first
    input  wire                  odd_i,     // send: the first of them is an upper one
    input  wire                  signed_i,  // send: they are signed
    input  wire                  list_i,    // send: items are pieces
    input  wire [15:0]           modulus_i, // receive: cm_soc_centre
    output wire                  sends_o,
    output wire                  leaves_o,
    output wire                  clears_o,
    output wire                  takes_o,
    output reg  [19:0]           received_o, // words in memory since the start
    // Port of the memory.
    output wire                  write_o,
    output wire [LOG2_WORDS-1:0] write_address_o,
    output wire [31:0]           data_o,
    output wire [LOG2_WORDS-1:0] read_address_o,
    input  wire [31:0]           data_i,
    // Ports of the streams.
    output wire                  send_valid_o,
    input  wire                  send_ready_i,
    output wire [31:0]           send_data_o,
    output wire                  send_last_o,
    input  wire                  receive_valid_i,
    output wire                  receive_ready_o,
    input  wire [31:0]           receive_data_i,
    output reg                   leave_valid_o, // valid for a cycle: the port never waits
    output wire [31:0]           leave_data_o,
    input  wire                  sensor_valid_i,
    output wire                  sensor_ready_o,
    input  wire [15:0]           sensor_i
);
    `include "cm_refuse.svh"
    generate
        `CM_REFUSE(g_bad_log2_words, LOG2_WORDS < 10 || LOG2_WORDS > 26,
                   "cm_soc_dma: LOG2_WORDS must be from 10 to 26.")
    endgenerate
    localparam integer LOG2_QUEUE = 3;

    // --- from a stream to the memory -----------------------------------------------------------------------

    reg [19:0]           receive_left;
    reg [LOG2_WORDS-1:0] receive_at;
    reg [15:0]           modulus;
    wire                 receives = receive_valid_i && receive_ready_o;
    assign receive_ready_o = receive_left != 20'd0;
    always_ff @(posedge clk_i) begin
        if (receives) begin
            receive_at <= receive_at + 1'b1;
            receive_left <= receive_left - 1'b1;
            received_o <= received_o + 1'b1;
        end
        if (receive_i) begin
            receive_at <= address_i;
            receive_left <= count_i;
            received_o <= 20'd0;
            modulus <= modulus_i;
        end
        if (rst_i) begin
            receive_left <= 20'd0;
            received_o <= 20'd0;
        end
    end

    // --- from the sensor to the memory ---------------------------------------------------------------------

    reg [19:0]           take_left;
    reg [LOG2_WORDS-1:0] take_at;
    reg [15:0]           first;
    reg                  second; // The sample is the second one of its word.
    wire                 fills = second || take_left == 20'd1;
    wire                 taken = sensor_valid_i && sensor_ready_o;
    wire                 takes = taken && fills;
    assign takes_o = take_left != 20'd0;
    assign sensor_ready_o = takes_o && !(fills && receives);
    always_ff @(posedge clk_i) begin
        if (taken) begin
            first <= sensor_i;
            second <= !fills;
            take_left <= take_left - 1'b1;
            if (fills) take_at <= take_at + 1'b1;
        end
        if (take_i) begin
            take_at <= address_i;
            take_left <= count_i;
            second <= 1'b0;
        end
        if (rst_i) take_left <= 20'd0;
    end

    // --- from the memory to a stream -----------------------------------------------------------------------

    reg [19:0]           fetch_left; // number of words to fetch
    reg [LOG2_WORDS-1:0] fetch_at;
    reg                  fetched;    // The word is at data_i.
    reg [19:0]           send_left;  // number of items to send
    reg                  halves, is_signed, upper;
    reg [19:0]           list_left;  // number of pieces left
    reg [LOG2_WORDS-1:0] list_at;
    reg                  looked;     // A word of the list is at data_i.
    reg                  at_length;  // It is the piece's length instead of its address.
    wire                 queue_valid;
    wire [31:0]          queue_word;
    wire [LOG2_QUEUE:0]  level;
    wire                 sent = send_valid_o && send_ready_i;
    wire                 word_sent = sent && (!halves || upper || send_last_o);
    // A word under way has room too.
    wire                 looks = list_left != 20'd0 && fetch_left == 20'd0 && !looked
        && (!write_o || write_address_o[0] != list_at[0]);
    wire                 found = looked && at_length;
    wire [19:0]          length = data_i[21:2];
    wire                 fetches = fetch_left != 20'd0 && level < (4'd1 << LOG2_QUEUE) - 4'd1
        && (!write_o || write_address_o[0] != fetch_at[0]);
    wire [15:0]          half = upper ? queue_word[31:16] : queue_word[15:0];
    assign sends_o = send_left != 20'd0 || list_left != 20'd0;
    assign send_valid_o = queue_valid && send_left != 20'd0;
    assign send_data_o = halves ? {{16{is_signed && half[15]}}, half} : queue_word;
    assign send_last_o = send_left == 20'd1;
    cm_client_fifo #(.WIDTH(32), .LOG2_DEPTH(LOG2_QUEUE)) u_queue (
        .clk_i(clk_i), .rst_i(rst_i || send_i), .wipe_i(1'b0), .write_i(fetched), .data_i(data_i),
        .valid_o(queue_valid), .take_i(word_sent), .data_o(queue_word), .level_o(level)
    );
    always_ff @(posedge clk_i) begin
        fetched <= fetches;
        if (fetches) begin
            fetch_at <= fetch_at + 1'b1;
            fetch_left <= fetch_left - 1'b1;
        end
        if (sent) upper <= !upper;
        send_left <= send_left + (found ? length : 20'd0) - {19'd0, sent};
        looked <= looks;
        if (looks) list_at <= list_at + 1'b1;
        if (looked) at_length <= !at_length;
        if (looked && !at_length) fetch_at <= data_i[LOG2_WORDS+1:2];
        if (found) begin
            fetch_left <= length;
            list_left <= list_left - 1'b1;
        end
        if (send_i) begin
            fetch_at <= address_i;
            list_at <= address_i;
            list_left <= list_i ? count_i : 20'd0;
            fetch_left <= list_i ? 20'd0 : halves_i ? (count_i + 20'd1 + {19'd0, odd_i}) >> 1 : count_i;
            send_left <= list_i ? 20'd0 : count_i;
            looked <= 1'b0;
            at_length <= 1'b0;
            halves <= halves_i;
            is_signed <= signed_i;
            upper <= odd_i;
            fetched <= 1'b0;
        end
        if (rst_i) begin
            fetch_left <= 20'd0;
            send_left <= 20'd0;
            list_left <= 20'd0;
            fetched <= 1'b0;
            looked <= 1'b0;
        end
    end

    // --- out of the system ---------------------------------------------------------------------------------

    reg [19:0]           leave_left;
    reg [LOG2_WORDS-1:0] leave_at;
    wire                 reads_out = leave_left != 20'd0 && !fetches && !looks
        && (!write_o || write_address_o[0] != leave_at[0]);
    assign leaves_o = leave_left != 20'd0 || leave_valid_o;
    assign leave_data_o = data_i;
    always_ff @(posedge clk_i) begin
        leave_valid_o <= reads_out;
        if (reads_out) begin
            leave_at <= leave_at + 1'b1;
            leave_left <= leave_left - 1'b1;
        end
        if (leave_i) begin
            leave_at <= address_i;
            leave_left <= count_i;
        end
        if (rst_i) begin
            leave_left <= 20'd0;
            leave_valid_o <= 1'b0;
        end
    end

    // --- zeros ---------------------------------------------------------------------------------------------

    reg [19:0]           clear_left;
    reg [LOG2_WORDS-1:0] clear_at;
    wire                 clears = clear_left != 20'd0 && !receives && !takes;
    assign clears_o = clear_left != 20'd0;
    always_ff @(posedge clk_i) begin
        if (clears) begin
            clear_at <= clear_at + 1'b1;
            clear_left <= clear_left - 1'b1;
        end
        if (clear_i) begin
            clear_at <= address_i;
            clear_left <= count_i;
        end
        if (rst_i) clear_left <= 20'd0;
    end

    wire [31:0] centred;
    cm_soc_centre u_centre (.modulus_i(modulus), .word_i(receive_data_i), .word_o(centred));
    assign write_o = receives || takes || clears;
    assign write_address_o = receives ? receive_at : takes ? take_at : clear_at;
    assign data_o = receives ? centred : !takes ? 32'd0 : second ? {sensor_i, first} : {16'd0, sensor_i};
    assign read_address_o = fetches ? fetch_at : looks ? list_at : leave_at;
endmodule
`default_nettype wire
