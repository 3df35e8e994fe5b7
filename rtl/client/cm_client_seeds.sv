// SPDX-License-Identifier: Apache-2.0
// The seeds of a ciphertext from the device's secret, its counter and a fresh draw of 32 bytes (docs/encoding.md,
// section 6). A draw is refused, as by the C library, if its bytes or its halves are all alike, or if it is the last
// one again, of which an image is kept. A key's seed is the draw itself.
`default_nettype none
module cm_client_seeds (
    input  wire         clk_i,
    input  wire         rst_i,
    input  wire         start_i,
    input  wire         bare_i,   // with start_i: the private seed is the draw
    output wire         busy_o,
    output reg          done_o,   // with the last cycle in which busy_o is set: the seeds are there
    output reg          refused_o, // instead
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
    output reg  [511:0] public_o, // ChaCha20 takes its first half
    output reg  [255:0] private_o
);
    localparam [2:0] IDLE = 3'd0, DRAW = 3'd1, CHECK = 3'd2, DERIVE = 3'd3, PUBLIC = 3'd4, PRIVATE = 3'd5;
    localparam [31:0] LABEL_DERIVE = 32'd4, LABEL_PUBLIC = 32'd5, LABEL_PRIVATE = 32'd6, LABEL_CHECK = 32'd7;
    localparam integer IMAGE = 128; // bits that are kept of the last draw's

    reg [2:0]   state;
    reg         asked;
    reg         bare;
    reg [2:0]   words;   // of the draw, or of the block
    reg [255:0] draw;    // then the derived key
    reg [255:0] block;   // its first half
    reg [IMAGE-1:0] image;
    reg         drawn;

    assign busy_o = state != IDLE;
    assign entropy_ready_o = state == DRAW;
    assign request_o = state != IDLE && state != DRAW && !asked;
    assign key_o = (state == DERIVE) ? secret_i : draw;
    wire [31:0] label = (state == CHECK) ? LABEL_CHECK : (state == DERIVE) ? LABEL_DERIVE
        : (state == PUBLIC) ? LABEL_PUBLIC : LABEL_PRIVATE;
    assign position_o = (state == DERIVE) ? {32'd0, counter_i[63:32], label, counter_i[31:0]}
                                          : {64'd0, label, 32'd0};

    // Words 0 to 3 of a block, when the last one comes.
    wire same_bytes = draw[255:8] == draw[247:0];
    wire same_halves = draw[255:128] == draw[127:0];
    wire same_draw = drawn && block[IMAGE-1:0] == image;

    always_ff @(posedge clk_i) begin
        done_o <= 1'b0;
        refused_o <= 1'b0;
        if (request_o && ready_i) asked <= 1'b1;
        if (valid_i) begin
            words <= words + 1'b1;
            if (!words[2]) block <= {data_i, block[255:64]};
            if (state == PUBLIC) public_o <= {data_i, public_o[511:64]};
        end
        case (state)
            IDLE: begin
                words <= 3'd0;
                asked <= 1'b0;
                bare <= bare_i;
                if (start_i) state <= DRAW;
            end
            DRAW: if (entropy_valid_i) begin
                draw <= {entropy_i, draw[255:32]};
                words <= words + 1'b1;
                if (words == 3'd7) state <= CHECK;
            end
            default: if (valid_i && last_i) begin
                asked <= 1'b0;
                words <= 3'd0;
                if (state == CHECK) begin
                    state <= (same_bytes || same_halves || same_draw) ? IDLE : DERIVE;
                    refused_o <= same_bytes || same_halves || same_draw;
                    image <= block[IMAGE-1:0];
                    drawn <= 1'b1;
                    if (bare && !(same_bytes || same_halves || same_draw)) begin
                        private_o <= draw;
                        draw <= 256'd0;
                        block <= 256'd0;
                        done_o <= 1'b1;
                        state <= IDLE;
                    end
                end else if (state == DERIVE) begin
                    draw <= draw ^ block;
                    state <= PUBLIC;
                end else if (state == PUBLIC) begin
                    state <= PRIVATE;
                end else begin
                    private_o <= block;
                    draw <= 256'd0;
                    block <= 256'd0;
                    done_o <= 1'b1;
                    state <= IDLE;
                end
            end
        endcase
        if (rst_i) begin
            state <= IDLE;
            draw <= 256'd0;
            block <= 256'd0;
            public_o <= 512'd0;
            private_o <= 256'd0;
            image <= {IMAGE{1'b0}};
            drawn <= 1'b0;
            bare <= 1'b0;
        end
    end
endmodule
`default_nettype wire
