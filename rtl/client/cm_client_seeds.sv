// SPDX-License-Identifier: Apache-2.0
// The seeds of a ciphertext from the device's secret, its counter and a fresh draw of 32 bytes (docs/encoding.md,
// section 6). A draw is refused, as by the C library, if its bytes or its halves are all alike, or if it is the last
// one again, of which an image is kept. A key's seed is the draw itself.
//
// The public seed leaves as it is made, once it is asked for: until then, the key that both are derived with stays. One
// of 32 bytes leaves room beside it, where that key is kept, so that the next ciphertext's can be derived.
`default_nettype none
module cm_client_seeds (
    input  wire         clk_i,
    input  wire         rst_i,
    input  wire         keys_stay_i, // with rst_i: so does the image of the last draw
    output wire         free_o,
    input  wire         start_i,  // a cycle after free_o
    input  wire         bare_i,   // with start_i: the private seed is the draw, and there is no public one
    output reg          done_o,   // the private seed is there
    output reg          refused_o, // instead
    output wire         holds_o,  // a key is there, for a public seed
    input  wire         publish_i, // while holds_o
    input  wire         whole_i,  // the public seed takes 64 bytes, a whole block; else half, and a key can be kept
    output wire         public_o, // two of its words are in data_i
    output reg          published_o, // behind the last
    output wire         keep_o,   // two words of a key to be kept, or of zeros
    output wire [63:0]  keep_data_o,
    input  wire [255:0] kept_i,
    input  wire [255:0] secret_i,
    input  wire [63:0]  counter_i,
    // The draw, eight words.
    input  wire         entropy_valid_i,
    output wire         entropy_ready_o,
    input  wire [31:0]  entropy_i,
    // Blocks of key stream.
    output wire         request_o,
    input  wire         ready_i,
    output wire [255:0] key_o,
    output wire [127:0] position_o,
    input  wire         valid_i,
    input  wire         last_i,
    input  wire [63:0]  data_i,
    output reg  [255:0] private_o
);
    localparam [2:0] IDLE = 3'd0, DRAW = 3'd1, CHECK = 3'd2, DERIVE = 3'd3, PRIVATE = 3'd4, PUBLIC = 3'd5, TURN = 3'd6;
    localparam [31:0] LABEL_DERIVE = 32'd4, LABEL_PUBLIC = 32'd5, LABEL_PRIVATE = 32'd6, LABEL_CHECK = 32'd7;
    localparam integer IMAGE = 128; // bits that are kept of the last draw's

    reg [2:0]   state;
    reg         asked;
    reg         bare;
    reg [2:0]   words; // of the block
    reg [2:0]   drawn_words;
    reg [255:0] draw;  // then the derived key
    reg         has_key;  // which it is, for a public seed
    reg         has_kept; // there is one in kept_i
    reg         drawing;
    reg [IMAGE-1:0] image;
    reg         drawn; // there is an image
    reg         same_bytes, same_halves, same_draw; // as far as they are known

    assign free_o = state == IDLE && !has_key && !publish_i;
    assign holds_o = whole_i ? has_key : has_kept;
    assign keep_o = state == TURN && !bare && !whole_i;
    assign keep_data_o = has_key ? draw[63:0] : 64'd0;
    assign entropy_ready_o = state == DRAW;
    assign request_o = state != IDLE && state != DRAW && state != TURN && !asked;
    assign public_o = valid_i && state == PUBLIC && (whole_i || !words[2]);
    assign key_o = (state == DERIVE) ? secret_i : (state == PUBLIC && !whole_i) ? kept_i : draw;
    wire [31:0] label = (state == CHECK) ? LABEL_CHECK : (state == DERIVE) ? LABEL_DERIVE
        : (state == PUBLIC) ? LABEL_PUBLIC : LABEL_PRIVATE;
    assign position_o = (state == DERIVE) ? {32'd0, counter_i[63:32], label, counter_i[31:0]}
                                          : {64'd0, label, 32'd0};

    wire refused = same_bytes || same_halves || (drawn && same_draw);
    wire draws = state == DRAW && entropy_valid_i;
    wire turns = (state == DERIVE && valid_i && !words[2]) || (state == TURN && (has_key || bare));
    wire [63:0] turned = (state == DERIVE) ? draw[63:0] ^ data_i : 64'd0;

    always_ff @(posedge clk_i) begin
        done_o <= 1'b0;
        refused_o <= 1'b0;
        published_o <= 1'b0;
        if (request_o && ready_i) asked <= 1'b1;
        // Half a block is used of each but the public one; both draw and image turn by as many words as come.
        if (valid_i) begin
            words <= words + 1'b1;
            if (state == CHECK && words[2:1] == 2'd0) begin
                image <= {data_i, image[127:64]};
                if (data_i != image[63:0]) same_draw <= 1'b0;
            end
        end
        if (draws || turns) draw <= draws ? {entropy_i, draw[255:32]} : {turned, draw[255:64]};
        if ((state == PRIVATE && valid_i && !words[2]) || (state == TURN && bare)) begin
            private_o <= {bare ? draw[63:0] : data_i, private_o[255:64]};
        end
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
                        || (drawn_words != 3'd0 && entropy_i[7:0] != draw[255:248])) begin
                        same_bytes <= 1'b0;
                    end
                    if (drawn_words[2] && entropy_i != draw[159:128]) same_halves <= 1'b0;
                    if (drawn_words == 3'd7) begin
                        drawing <= 1'b0;
                        state <= CHECK;
                    end
                end
            end
            TURN: begin
                words <= words + 1'b1;
                if (words == 3'd3) begin
                    words <= 3'd0;
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
                    default: begin // the key is not used again
                        published_o <= 1'b1;
                        state <= TURN;
                    end
                endcase
            end
        endcase
        if (rst_i) begin
            state <= IDLE;
            words <= 3'd0;
            draw <= 256'd0;
            private_o <= 256'd0;
            bare <= 1'b0;
            has_key <= 1'b0;
            has_kept <= 1'b0;
            drawing <= 1'b0;
            drawn_words <= 3'd0;
            same_bytes <= 1'b0;
            same_halves <= 1'b0;
            same_draw <= 1'b0;
        end
        if (rst_i && !keys_stay_i) begin
            image <= {IMAGE{1'b0}};
            drawn <= 1'b0;
        end
    end
endmodule
`default_nettype wire
