// SPDX-License-Identifier: Apache-2.0
// Derives the seeds of a ciphertext from the device's secret, its counter and a fresh draw of 32 bytes
// (docs/encoding.md, section 6). A draw is refused, as by the C library, if its bytes or its halves are all
// alike, or if it repeats the last one, of which an image is kept. The seed of a secret key is the draw
// itself.
//
// start_i begins a derivation while free_o, and done_o or refused_o is high for a cycle at its end; it takes
// as long as the entropy source and the key stream do. The entropy port and the requests of blocks have a
// handshake of valid and ready.
//
// The public seed is made once it is asked for: until then, the key that both are derived with stays. One of
// 32 bytes leaves room beside it, where that key is kept, so that the next ciphertext's can be derived. A
// seed that frames bring takes the public one's place.
`default_nettype none
module cm_client_seeds (
    input  wire         clk_i,
    input  wire         rst_i,
    input  wire         keys_stay_i, // With rst_i: the image of the last draw stays, too.
    output wire         free_o,
    input  wire         start_i,  // begins a derivation, a cycle after free_o
    input  wire         bare_i,   // With start_i: the draw is the private seed, and there is no public one.
    output reg          done_o,   // The private seed is there.
    output reg          refused_o, // The draw was refused.
    output wire         holds_o,  // A key for a public seed is there.
    input  wire         publish_i, // asks for the public seed; only while holds_o
    input  wire         whole_i,  // The public seed has 64 bytes, a whole block, instead of 32.
    output reg          published_o, // The public seed is there, for a cycle.
    input  wire         read_i,   // Two words of a seed are read from a frame.
    input  wire         read_whole_i, // That seed has 64 bytes.
    input  wire [63:0]  read_data_i,
    input  wire [255:0] secret_i,
    input  wire [63:0]  counter_i,
    // The entropy port: a draw takes eight words.
    input  wire         entropy_valid_i,
    output wire         entropy_ready_o,
    input  wire [31:0]  entropy_i,
    // Requests of blocks of key stream, and their words.
    output wire         request_o,
    input  wire         ready_i,
    output wire [255:0] key_o,
    output wire [127:0] position_o,
    input  wire         valid_i,
    input  wire         last_i,
    input  wire [63:0]  data_i,
    output reg  [255:0] private_o,
    output reg  [511:0] public_o  // the public seed, or the one that was read; 32 bytes are in its upper half
);
    typedef enum logic [2:0] {
        IDLE = 3'd0,
        DRAW = 3'd1,
        CHECK = 3'd2,
        DERIVE = 3'd3,
        PRIVATE = 3'd4,
        PUBLIC = 3'd5,
        TURN = 3'd6
    } state_t;
    localparam [31:0] LABEL_DERIVE = 32'd4, LABEL_PUBLIC = 32'd5, LABEL_PRIVATE = 32'd6, LABEL_CHECK = 32'd7;
    localparam integer IMAGE = 128; // bits of the image of the last draw

    state_t     state;
    reg         asked;
    reg         bare;
    reg [2:0]   words; // words of the block that came
    reg [2:0]   drawn_words;
    reg [255:0] draw;  // the draw, then the derived key
    reg         has_key;  // draw has the key for a public seed.
    reg         has_kept; // public_o's lower half has one.
    reg         drawing;
    reg [IMAGE-1:0] image;
    reg         drawn; // An image exists.
    reg         same_bytes, same_halves, same_draw; // what is known so far of the draw

    assign free_o = state == IDLE && !has_key && !publish_i;
    assign holds_o = whole_i ? has_key : has_kept;
    assign entropy_ready_o = state == DRAW;
    assign request_o = state != IDLE && state != DRAW && state != TURN && !asked;
    assign key_o = (state == DERIVE) ? secret_i : (state == PUBLIC && !whole_i) ? public_o[255:0] : draw;
    wire [31:0] label = (state == CHECK) ? LABEL_CHECK : (state == DERIVE) ? LABEL_DERIVE
        : (state == PUBLIC) ? LABEL_PUBLIC : LABEL_PRIVATE;
    assign position_o = (state == DERIVE) ? {32'd0, counter_i[63:32], label, counter_i[31:0]}
                                          : {64'd0, label, 32'd0};

    // COUNTERMEASURE: DRAW_FRESH
    wire refused = same_bytes || same_halves || (drawn && same_draw);
    wire draws = state == DRAW && entropy_valid_i;
    wire turns = state == TURN && (has_key || bare);
    wire comes = valid_i && !(state == PUBLIC && words[2] && !whole_i);
    reg  [2:0] read_words;

    // All words go by one bus, and each has its place: as latches behind a register, they take little
    // (rtl/tools/ latches.py). Those of the draw are derived from in their turn, or leave for another place;
    // then they are cleared.
    wire [1:0]  at = draws ? {1'b0, drawn_words[1]} : words[1:0];
    wire [63:0] drawn_pair = draw[64*at +: 64];
    wire [63:0] word = ({64{state == DERIVE || (turns && !words[2])}} & drawn_pair)
        ^ ({64{valid_i}} & data_i);
    wire [63:0] bus = {64{!rst_i}}
        & (word | ({64{draws}} & {entropy_i, entropy_i}) | ({64{read_i}} & read_data_i));
    wire [2:0]  public_at = read_i ? {read_words[2] || !read_whole_i, read_words[1:0]}
        : (state == TURN) ? words : {words[2] || !whole_i, words[1:0]};
    wire        public_word = read_i || (state == PUBLIC && comes)
        || (state == TURN && !bare && !whole_i && !words[2]);
    wire        private_word = !words[2] && ((state == PRIVATE && valid_i) || (state == TURN && bare));
    integer i;
    always_ff @(posedge clk_i) begin
        for (i = 0; i < 8; i = i + 1) begin
            if (rst_i || (draws && drawn_words == i) || (state == DERIVE && valid_i && words == i / 2)
                || (turns && words == 4 + i / 2)) begin
                draw[32*i +: 32] <= bus[32*(i%2) +: 32];
            end
            if (rst_i || (public_word && public_at == i)) public_o[64*i +: 64] <= bus;
        end
        for (i = 0; i < 4; i = i + 1) if (rst_i || (private_word && words == i)) private_o[64*i +: 64] <= bus;
        for (i = 0; i < 2; i = i + 1) begin
            if ((rst_i && !keys_stay_i) || (state == CHECK && valid_i && words == i))
                image[64*i +: 64] <= bus;
        end
        if (read_i) read_words <= read_whole_i ? read_words + 1'b1 : {1'b0, read_words[1:0] + 2'd1};
        if (rst_i) read_words <= 3'd0;
    end

    always_ff @(posedge clk_i) begin
        done_o <= 1'b0;
        refused_o <= 1'b0;
        published_o <= 1'b0;
        if (request_o && ready_i) asked <= 1'b1;
        // Only the public seed uses a whole block.
        if (valid_i) words <= words + 1'b1;
        if (state == CHECK && valid_i && words[2:1] == 2'd0 && data_i != image[64*words[0] +: 64])
            same_draw <= 1'b0;
        case (state)
            IDLE: begin
                words <= 3'd0;
                asked <= 1'b0;
                if (start_i) begin
                    bare <= bare_i;
                    drawing <= 1'b1;
                    state <= DRAW;
                end else if (publish_i) begin
                    state <= PUBLIC;
                end
                drawn_words <= 3'd0;
                same_bytes <= 1'b1;
                same_halves <= 1'b1;
                same_draw <= 1'b1;
            end
            // Random words may take long, and the public seed must not.
            DRAW: begin
                if (publish_i) state <= PUBLIC;
                if (draws) begin
                    drawn_words <= drawn_words + 1'b1;
                    if (entropy_i[31:8] != entropy_i[23:0]
                        || (drawn_words != 3'd0 && entropy_i[7:0] != draw[7:0])) begin
                        same_bytes <= 1'b0;
                    end
                    if (drawn_words[2] && entropy_i != drawn_pair[32*drawn_words[0] +: 32])
                        same_halves <= 1'b0;
                    if (drawn_words == 3'd7) begin
                        drawing <= 1'b0;
                        state <= CHECK;
                    end
                end
            end
            TURN: begin
                words <= words + 1'b1;
                if (words == 3'd7) begin
                    bare <= 1'b0;
                    done_o <= bare;
                    has_kept <= has_key && !whole_i;
                    has_key <= 1'b0;
                    state <= drawing ? DRAW : IDLE;
                end
            end
            default: if (valid_i && last_i) begin
                asked <= 1'b0;
                words <= 3'd0;
                case (state)
                    CHECK: begin
                        drawn <= 1'b1;
                        refused_o <= refused;
                        state <= refused ? IDLE : bare ? TURN : DERIVE;
                    end
                    DERIVE: state <= PRIVATE;
                    PRIVATE: begin
                        has_key <= 1'b1;
                        done_o <= 1'b1;
                        state <= (whole_i || has_kept) ? IDLE : TURN;
                    end
                    default: begin // The key is not used again.
                        published_o <= 1'b1;
                        state <= TURN;
                    end
                endcase
            end
        endcase
        if (rst_i) begin
            state <= IDLE;
            words <= 3'd0;
            bare <= 1'b0;
            has_key <= 1'b0;
            has_kept <= 1'b0;
            drawing <= 1'b0;
            drawn_words <= 3'd0;
            same_bytes <= 1'b0;
            same_halves <= 1'b0;
            same_draw <= 1'b0;
        end
        if (rst_i && !keys_stay_i) drawn <= 1'b0;
    end
endmodule
`default_nettype wire
