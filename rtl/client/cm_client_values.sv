// SPDX-License-Identifier: Apache-2.0
// Takes the values of a message: compares each with the bound, and scales those of BFV for the message's
// memory. Values that are missing behind the last one are zero. CKKS's values go to its encoder, which says
// when it is done.
//
// value_valid_i and value_ready_o are a handshake, one value a cycle. A scaled value leaves five cycles after
// it entered, with scaled_valid_o and its place filled_o, and must be accepted.
`default_nettype none
module cm_client_values #(
    parameter integer LOG2_N = 12,
    parameter integer WIDTH = 27
) (
    input  wire               clk_i,
    input  wire               rst_i,
    input  wire               starts_i,    // An encryption is accepted.
    input  wire               begins_i,    // A command begins whose counts start at zero.
    input  wire               message_free_i, // The message's memory may be filled.
    // Settings.
    input  wire               ckks_i,
    input  wire               float_values_i,
    input  wire               signed_values_i,
    input  wire [WIDTH-1:0]   t_i,
    input  wire [WIDTH-1:0]   t_half_i,
    input  wire [31:0]        largest_i,
    input  wire               value_valid_i,
    output wire               value_ready_o,
    input  wire [31:0]        value_i,
    input  wire               value_last_i,
    // The encoder of CKKS.
    input  wire               ckks_ready_i,
    input  wire               ckks_busy_i,
    input  wire               ckks_done_i,
    // The products that scaling takes (cm_client_products).
    output wire [WIDTH-1:0]   m_o,
    input  wire [WIDTH:0]     product_i,
    input  wire [WIDTH:0]     whole_i,
    output wire               scaled_valid_o,
    output wire [WIDTH-1:0]   scaled_o,
    output reg  [LOG2_N:0]    filled_o,    // number of values stored
    output wire               filling_o,
    output wire               busy_o,      // A message is expected, or not yet stored.
    output reg  [7:0]         fills_done_o, // number of messages stored
    // Faults.
    output wire               out_of_range_o,
    output wire               too_many_o
);
    `include "cm_client_items.svh"
    typedef enum logic [1:0] {
        IDLE = 2'd0,
        WAIT = 2'd1, // until the message's memory is free
        FILL = 2'd2
    } state_t;
    state_t          state;
    reg              ended;   // No more values come: zeros follow.
    reg [LOG2_N:0]   entered; // number of values that entered the scaling
    wire             all_entered = entered[LOG2_N];
    wire             scaled_wrong;
    assign filling_o = state == FILL;
    wire             enters = filling_o && !all_entered && (ended || value_valid_i);
    wire             fills = filling_o && filled_o[LOG2_N]; // high for a cycle, at the end of a message
    assign busy_o = state != IDLE || ckks_busy_i;
    assign value_ready_o = ckks_ready_i || (filling_o && !all_entered && !ended);
    // COUNTERMEASURE: VALUE_COUNT
    assign too_many_o = filling_o && all_entered && !ended && value_valid_i;

    cm_client_scale #(.WIDTH(WIDTH)) u_scale (
        .clk_i(clk_i), .rst_i(rst_i), .t_i(t_i), .half_i(t_half_i), .signed_i(signed_values_i),
        .valid_i(enters), .value_i(ended ? 32'd0 : value_i), .m_o(m_o), .product_i(product_i),
        .whole_i(whole_i), .valid_o(scaled_valid_o), .wrong_o(scaled_wrong), .r_o(scaled_o)
    );

    // COUNTERMEASURE: VALUE_RANGE
    // The bound is one of magnitudes. Those of binary32 compare as their bits do.
    wire [31:0] magnitude = (ckks_i && float_values_i) ? {1'b0, value_i[30:0]}
        : (value_i[31] && (ckks_i || signed_values_i)) ? 32'd0 - value_i : value_i;
    reg         beyond;
    always_ff @(posedge clk_i) beyond <= value_valid_i && value_ready_o && magnitude > largest_i;
    assign out_of_range_o = (scaled_valid_o && scaled_wrong) || beyond;

    always_ff @(posedge clk_i) begin
        if (starts_i && !ckks_i) state <= WAIT;
        if (state == WAIT && message_free_i) begin
            state <= FILL;
            ended <= 1'b0;
            entered <= {(LOG2_N + 1){1'b0}};
            filled_o <= {(LOG2_N + 1){1'b0}};
        end
        if (enters) begin
            entered <= entered + 1'b1;
            if (value_last_i && !ended) ended <= 1'b1;
        end
        if (scaled_valid_o) filled_o <= filled_o + 1'b1;
        if (fills) state <= IDLE;
        if (fills || ckks_done_i) fills_done_o <= fills_done_o + 1'b1;
        if (rst_i) state <= IDLE;
        if (rst_i || begins_i) fills_done_o <= {COUNT{1'b0}};
    end
endmodule
`default_nettype wire
