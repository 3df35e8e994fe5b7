// SPDX-License-Identifier: Apache-2.0
// The CKKS encoder and decoder at 31 bits, with the roundings of docs/encoding.md, sections 1 to 5 and 8: values become
// pairs of coefficients, and pairs of coefficients become values.
//
// One rotation of a complex number in three cycles, a step, serves butterflies and folding; the cycle between its own
// products is for those of a root that a later step needs. All else between values and pairs waits for it. The points
// are in two banks, by the parity of a point's number, so that the two of a butterfly, whose numbers differ in one bit,
// are never in the same one. A level starts without a pause behind the one before it: it meets points in nearly the
// same order, and needs none of the last ones until these are back.
//
// Values are written where the transform expects them, and read from there: no pass reorders them. Time depends on the
// settings alone, except that a refused value ends the operation; then, as after a reset, the memories are cleared.
`default_nettype none
module cm_client_codec #(
    parameter integer LOG2_N = 12 // 10 .. 13
) (
    input  wire              clk_i,
    input  wire              rst_i,
    // Settings, which stay during an operation.
    input  wire              complex_i,     // complex slots, else real ones
    input  wire              float_i,       // values are binary32, else signed integers
    input  wire signed [9:0] exponent_i,    // an integer counts as itself times 2^exponent
    input  wire [5:0]        scale_log2_i,  // s: the scale is 2^s
    input  wire [5:0]        limit_log2_i,  // L
    output wire              busy_o,        // also while the memories are being cleared
    // Encoding: values, slot by slot, the last one marked; missing ones are zero.
    input  wire              encode_i,      // while !busy_o
    input  wire              value_valid_i,
    output wire              value_ready_o,
    input  wire [31:0]       value_i,
    input  wire              value_last_i,
    output reg               too_many_o,    // the value of the last slot was not the last one: nothing more comes
    output reg               wrong_o,       // a value is not finite or out of range: nothing more comes
    output wire              pair_valid_o,
    input  wire              pair_ready_i,
    output wire [LOG2_N-2:0] pair_index_o,  // j, in an order of its own
    output wire [63:0]       pair_o,        // coefficients j + n/2 and, in the lower half, j
    output reg               done_o,        // the last pair has been taken
    // Decoding: the coefficients times 2.
    input  wire              decode_i,      // while !busy_o
    output wire              read_valid_o,
    output wire [LOG2_N-2:0] read_index_o,
    input  wire [63:0]       read_pair_i,   // in the next cycle
    output wire              result_valid_o,
    input  wire              result_ready_i,
    output wire [31:0]       result_o,      // slot by slot
    output wire              result_last_o,
    output reg               result_wrong_o, // a number is too large: nothing more comes
    // For cm_client_products, whose products are there a cycle later.
    output wire [65:0]       coordinates_o,
    output wire [53:0]       first_digits_o,
    output wire [35:0]       second_digits_o,
    input  wire [121:0]      first_i,
    input  wire [101:0]      second_i
);
    `include "cm_refuse.svh"
    localparam integer INDEX = LOG2_N - 1;   // bits of a point's number
    localparam integer ADDRESS = LOG2_N - 2; // of a point in its bank
    localparam integer REAL = LOG2_N - 2;    // of a point's number, for real slots
    localparam [3:0] DRAIN = 4'd9; // from the last issue of a phase to the first of the next
    generate
        `CM_REFUSE(g_refuse_ring, LOG2_N < 10 || LOG2_N > 13, "cm_client_codec: LOG2_N must be 10 .. 13")
    endgenerate

    // --- phases ----------------------------------------------------------------------------------------------------

    localparam [2:0] CLEAR = 3'd0, IDLE = 3'd1, LOAD = 3'd2, LEVELS = 3'd3, FOLD = 3'd4, JOIN = 3'd5, SCAN = 3'd6,
                     GIVE = 3'd7;
    reg  [2:0]        phase;
    reg               decoding;
    reg               issues;  // else what was issued drains
    reg  [3:0]        drain;
    reg  [LOG2_N:0]   count;   // of what is issued in a phase, or in a level of butterflies
    reg  [INDEX-1:0]  half;    // of a level: h
    wire              rotating; // in steps
    wire              advance; // else nothing moves, for an output waits, or a step goes on
    reg  [1:0]        cycle;   // of a step
    wire              settles; // a step's sums are there
    wire              stores = settles || !rotating;
    wire              clearing = phase == CLEAR;
    wire              levels = phase == LEVELS;
    wire              folds = phase == FOLD || phase == JOIN;
    wire              gives = phase == GIVE || phase == SCAN;
    assign            rotating = levels || folds;
    wire              in_turns = folds && !complex_i; // four rotations for two points
    wire              refused;
    wire              ends;    // the last pair or result is taken
    wire              slots_end; // the last slot is issued

    wire [INDEX-1:0]  last_half = complex_i ? {1'b1, {(INDEX - 1){1'b0}}} : {2'b01, {(INDEX - 2){1'b0}}};
    // Butterflies are half as many as points.
    wire              level_ends = count[INDEX-2:0] == (complex_i ? {(INDEX - 1){1'b1}} : {1'b0, {(INDEX - 2){1'b1}}});
    wire              levels_end = level_ends && (decoding ? half[0] : half == last_half);
    wire [LOG2_N:0]   last_fold = complex_i ? {2'b00, {INDEX{1'b1}}} : {2'b01, {(LOG2_N - 3){1'b0}}, 2'b11};
    wire              issue_ends = levels ? levels_end : folds ? count == last_fold
                                   : (phase == LOAD || gives) ? slots_end : &count[ADDRESS-1:0];
    wire              issue = issues && (phase != LOAD || enters) && phase != IDLE;
    // Only results that are shifted to the left by two bits or more can be too large for an integer.
    wire signed [10:0] left = -{5'd0, scale_log2_i} - {exponent_i[9], exponent_i} - 11'sd1;
    wire              may_exceed = !float_i && left >= 11'sd2;
    wire              enters; // a value, or zero for a missing one

    always_ff @(posedge clk_i) begin
        cycle <= cycle + 1'b1;
        if (!rotating || cycle == 2'd2 || (cycle == 2'd0 && pair_waits) || rst_i || refused) cycle <= 2'd0;
        if (advance) begin
            if (issue) begin
                count <= count + 1'b1;
                if (levels && level_ends) begin
                    count <= {(LOG2_N + 1){1'b0}};
                    half <= decoding ? half >> 1 : half << 1;
                end
                if (issue_ends) begin
                    issues <= 1'b0;
                    drain <= DRAIN;
                end
            end else if (drain != 4'd0) drain <= drain - 1'b1;
            else if (!issues) begin
                count <= {(LOG2_N + 1){1'b0}};
                issues <= 1'b1;
                case (phase)
                    LOAD: begin
                        phase <= LEVELS;
                        half <= {{(INDEX - 1){1'b0}}, 1'b1};
                    end
                    JOIN: begin
                        phase <= LEVELS;
                        half <= last_half;
                    end
                    LEVELS: phase <= !decoding ? FOLD : may_exceed ? SCAN : GIVE;
                    SCAN: phase <= GIVE;
                    CLEAR: phase <= IDLE;
                    default: issues <= 1'b0; // its last output is waited for
                endcase
            end
        end
        if (phase == IDLE && (encode_i || decode_i)) begin
            phase <= encode_i ? LOAD : JOIN;
            decoding <= !encode_i;
            count <= {(LOG2_N + 1){1'b0}};
        end
        if (ends) begin
            phase <= IDLE;
            issues <= 1'b1;
            drain <= 4'd0;
        end
        if (rst_i || refused) begin
            phase <= CLEAR;
            issues <= 1'b1;
            drain <= 4'd0;
            count <= {(LOG2_N + 1){1'b0}};
        end
        if (rst_i) begin
            decoding <= 1'b0;
            half <= {INDEX{1'b0}};
        end
    end
    assign busy_o = phase != IDLE;

    // --- slots: where they are among the points ------------------------------------------------------------------------

    // Slot j is at 3^j: one of 3^j and -3^j is 4 v + 1, and v is its sample (section 2).
    reg  [LOG2_N:0]   power;
    reg               odd, imaginary;
    reg  [INDEX-1:0]  slot_count;
    wire              slot_taken = advance && issue && (phase == LOAD || gives);
    wire [LOG2_N:0]   exponent = odd ? -power : power;
    wire [INDEX-1:0]  sample = exponent[LOG2_N:2];
    wire              slot_part = complex_i ? imaginary : sample[0];
    wire              slot_negates = odd && imaginary; // the conjugate
    wire [INDEX-1:0]  slot_point;
    assign slots_end = (&slot_count) && (imaginary || !complex_i);
    genvar g;
    generate
        for (g = 0; g < INDEX; g = g + 1) begin : g_reversed
            assign slot_point[g] = complex_i ? sample[INDEX-1-g] : (g < REAL) && sample[REAL-(g%REAL)];
        end
    endgenerate
    always_ff @(posedge clk_i) begin
        if (slot_taken) begin
            if (complex_i) imaginary <= !imaginary;
            if (!complex_i || imaginary) begin
                power <= power + {power[LOG2_N-1:0], 1'b0};
                odd <= !odd;
                slot_count <= slot_count + 1'b1;
            end
        end
        if (phase == IDLE || levels || (phase == SCAN && !issues)) begin
            power <= {{LOG2_N{1'b0}}, 1'b1};
            odd <= 1'b0;
            imaginary <= 1'b0;
            slot_count <= {INDEX{1'b0}};
        end
    end

    // --- values come in ------------------------------------------------------------------------------------------------

    reg               ended; // no more values: zeros
    wire              value_there, value_wrong;
    wire [31:0]       value_x;
    wire [INDEX-1:0]  value_point;
    wire              value_part;
    assign value_ready_o = phase == LOAD && issues && !ended;
    assign enters = ended || value_valid_i;
    wire              is_too_many = slot_taken && phase == LOAD && slots_end && !ended && !value_last_i;
    cm_client_value u_value (
        .clk_i(clk_i), .rst_i(rst_i || refused), .float_i(float_i), .exponent_i(exponent_i),
        .scale_log2_i(scale_log2_i), .limit_log2_i(limit_log2_i), .valid_i(slot_taken && phase == LOAD),
        .negate_i(slot_negates), .value_i(ended ? 32'd0 : value_i), .valid_o(value_there), .wrong_o(value_wrong),
        .x_o(value_x)
    );
    cm_delay #(.WIDTH(INDEX + 1), .CYCLES(3)) u_place (
        .clk_i(clk_i), .data_i({slot_part, slot_point}), .data_o({value_part, value_point})
    );
    always_ff @(posedge clk_i) begin
        if (phase == IDLE) ended <= 1'b0;
        else if (slot_taken && phase == LOAD && value_last_i) ended <= 1'b1;
    end

    // --- reading: stages 0 to 2 ------------------------------------------------------------------------------------------

    // Of real slots, k of a fold or join and its turn. Turn 0 of a rotation is two cycles behind that of its read.
    wire [1:0]        turn = count[1:0];
    wire [INDEX-1:0]  k = count[LOG2_N:2];
    wire [INDEX-1:0]  middle = {1'b1, {(INDEX - 1){1'b0}}}; // M = n/4
    wire [INDEX-1:0]  low_mask = half - 1'b1;
    wire [INDEX-1:0]  first_point = levels
        ? ({count[INDEX-2:0] & ~low_mask[INDEX-2:0], 1'b0} | (count[INDEX-1:0] & low_mask))
        : gives ? slot_point : complex_i ? count[INDEX-1:0]
        : {1'b0, turn[0] ? k[REAL-1:0] : {REAL{1'b0}} - k[REAL-1:0]}; // M - k, of which 0 stands for M
    wire [ADDRESS-1:0] first_place = first_point[INDEX-1:1];
    wire [ADDRESS-1:0] other_place = first_place | (levels ? half[INDEX-1:1] : {ADDRESS{1'b0}});
    wire              first_bank = ^first_point;
    wire [INDEX-1:0]  wanted_pair = complex_i ? count[INDEX-1:0]
        : (turn == 2'd0) ? middle - k : (turn == 2'd1) ? middle + k : (turn == 2'd2) ? k : {INDEX{1'b0}} - k;
    reg  [ADDRESS-1:0] place1 [0:1];
    reg  [ADDRESS-1:0] place2 [0:1];
    reg  [INDEX-1:0]  pair1, pair2;
    reg               reads1, reads2;
    reg               bank1, bank2;
    reg  [1:0]        turn1, turn2;
    reg               zero1, zero2; // k = 0
    reg               part1, part2, negates1, negates2, last1, last2;
    reg  [2:1]        issued;   // stages that hold a read
    reg  [5:1]        rotated;  // a rotation
    always_ff @(posedge clk_i) begin
        if (advance) begin
            place1[0] <= first_bank ? other_place : first_place;
            place1[1] <= first_bank ? first_place : other_place;
            bank1 <= first_bank;
            turn1 <= turn;
            zero1 <= k == {INDEX{1'b0}};
            pair1 <= wanted_pair;
            reads1 <= issue && phase == JOIN;
            pair2 <= pair1;
            reads2 <= reads1;
            part1 <= slot_part;
            negates1 <= slot_negates;
            last1 <= slots_end;
            place2[0] <= place1[0];
            place2[1] <= place1[1];
            bank2 <= bank1;
            turn2 <= turn1;
            zero2 <= zero1;
            part2 <= part1;
            negates2 <= negates1;
            last2 <= last1;
            issued <= {issued[1], issue && phase != LOAD && !clearing};
        end
        if (rst_i || refused || phase == IDLE) begin
            reads1 <= 1'b0;
            reads2 <= 1'b0;
            issued <= 2'b00;
        end
    end
    // While nothing moves, what was read stays, here as in the banks.
    assign read_valid_o = advance ? reads1 : reads2;
    assign read_index_o = advance ? pair1 : pair2;

    wire [63:0]       bank_data [0:1]; // {imaginary part, real part}
    wire [3:0]        bank_write;      // parts of bank 1, and of bank 0
    wire [ADDRESS-1:0] bank_place [0:1];
    wire [63:0]       bank_written [0:1];
    generate
        for (g = 0; g < 4; g = g + 1) begin : g_bank
            cm_ram #(.WIDTH(32), .DEPTH(1 << ADDRESS), .ADDRESS_WIDTH(ADDRESS), .BLOCK(1)) u_part (
                .clk_i(clk_i), .write_i(bank_write[g]), .write_address_i(bank_place[g / 2]),
                .write_data_i(bank_written[g / 2][32*(g % 2) +: 32]),
                .read_i(busy_o), .read_address_i(advance ? place1[g / 2] : place2[g / 2]),
                .read_data_o(bank_data[g / 2][32*(g % 2) +: 32])
            );
        end
    endgenerate

    // --- stage 3: the points that are rotated ------------------------------------------------------------------------------

    wire [63:0]       none = 64'd0;
    wire [63:0]       data_a = clearing ? none : phase == JOIN ? read_pair_i : bank2 ? bank_data[1] : bank_data[0];
    wire [63:0]       data_b = clearing ? none : bank2 ? bank_data[0] : bank_data[1];
    reg  [63:0]       first;
    reg  signed [32:0] u_x, u_y, v_x, v_y;
    function automatic [32:0] wide(input [31:0] x);
        wide = {x[31], x};
    endfunction
    // d[k] and - d[n/2 - k], or d[M - k] and d[M + k], of section 8. d[0] is m[0], here as half the sum of two, and
    // what would be d[n/2] is 0.
    wire              is_zero = zero2 && turn2[1];
    wire [32:0]       folded_x = wide(first[31:0]) - (is_zero ? -wide(first[31:0]) : wide(data_a[63:32]));
    wire [32:0]       folded_y = is_zero ? 33'd0 : wide(data_a[31:0]) - wide(first[63:32]);
    wire [32:0]       minus_folded_y = is_zero ? 33'd0 : wide(first[63:32]) - wide(data_a[31:0]);
    always_ff @(posedge clk_i) begin
        if (advance) begin
            first <= data_a;
            if (!in_turns) begin
                {u_x, u_y} <= {wide(data_a[31:0]), wide(data_a[63:32])};
                {v_x, v_y} <= {wide(data_b[31:0]), wide(data_b[63:32])};
            end else if (phase == FOLD) begin
                if (turn2 == 2'd2) begin
                    {u_x, u_y} <= {wide(first[31:0]), wide(first[63:32])};
                    {v_x, v_y} <= {wide(data_a[31:0]), wide(data_a[63:32])};
                end
            end else begin
                if (turn2 == 2'd1) {v_x, v_y} <= {folded_x, folded_y};
                if (turn2 == 2'd3) {u_x, u_y} <= {folded_x, minus_folded_y};
            end
        end
    end

    // --- rotations: their angles -------------------------------------------------------------------------------------------

    wire              rotates = in_turns ? issued[2] : issue && levels || issue && folds;
    reg  [LOG2_N:0]   rotation; // how many: k and the turn
    reg  [LOG2_N:0]   step;     // of a level: n / h
    reg  [LOG2_N-1:0] angle;    // of a butterfly
    wire [1:0]        r_turn = rotation[1:0];
    wire [LOG2_N:0]   r_k = {2'b00, rotation[LOG2_N:2]};
    wire              five = (phase == FOLD) ? r_turn[0] : r_turn[1];
    wire              opposite = (phase == FOLD) ? r_turn[1] : !r_turn[0];
    wire [LOG2_N:0]   times = five ? {r_k[LOG2_N-2:0], 2'b00} + r_k : r_k;
    // n/4 - k and, for it is subtracted, n + n/4 - 5 k
    wire [LOG2_N:0]   plain = levels ? {1'b0, angle} : complex_i ? rotation
        : opposite ? {five, 2'b01, {(LOG2_N - 2){1'b0}}} - times : times;
    wire              backwards = levels ? !decoding : complex_i ? !decoding : decoding && opposite;
    wire signed [32:0] cosine, sine;
    wire [65:0]       root_coordinates, rotated_coordinates;
    wire [53:0]       root_first, rotated_first;
    wire [35:0]       root_second, rotated_second;
    cm_client_roots #(.LOG2_N(LOG2_N)) u_roots (
        .clk_i(clk_i), .rst_i(rst_i), .enable_i(advance && rotating), .angle_i(backwards ? -plain : plain),
        .coordinates_o(root_coordinates), .first_digits_o(root_first), .second_digits_o(root_second),
        .first_i(first_i), .second_i(second_i), .cosine_o(cosine), .sine_o(sine)
    );
    always_ff @(posedge clk_i) begin
        if (advance) begin
            rotated <= {rotated[4:1], rotates};
            if (rotates) begin
                rotation <= rotation + 1'b1;
                angle <= angle + step[LOG2_N-1:0];
                if (levels && level_ends) step <= decoding ? step << 1 : step >> 1;
            end
            if (!issues && drain == 4'd0) begin
                rotation <= {(LOG2_N + 1){1'b0}};
                angle <= {LOG2_N{1'b0}};
                step <= !decoding ? {1'b1, {LOG2_N{1'b0}}} : complex_i ? {{(LOG2_N - 2){1'b0}}, 3'd4}
                                                                      : {{(LOG2_N - 3){1'b0}}, 4'd8};
            end
        end
        if (rst_i || refused || phase == IDLE) begin
            rotated <= 5'd0;
            rotation <= {(LOG2_N + 1){1'b0}};
        end
    end

    // --- stage 4: operands, and their products -----------------------------------------------------------------------------------

    reg  [1:0]        r_turn1, r_turn2, r_turn3;
    // Folding, with e = u + conj v and o = -i (u - conj v): conj e, conj o, e, o. Joining: v, u, v, u.
    wire              sums = phase == FOLD && in_turns;
    wire              crosses = sums && r_turn3[0];
    wire              differs = levels && decoding;
    wire              from_v = (levels && !decoding) || (phase == JOIN && in_turns && !r_turn3[0]);
    wire signed [32:0] x_first = from_v ? v_x : crosses ? u_y : u_x;
    wire signed [32:0] x_second = crosses ? v_y : v_x;
    wire signed [32:0] y_one = crosses ? v_x : v_y;
    wire signed [32:0] y_two = crosses ? u_x : u_y;
    wire              y_swaps = sums && (r_turn3 == 2'd0 || r_turn3 == 2'd3);
    wire signed [32:0] y_first = (from_v || y_swaps) ? y_one : y_two;
    wire signed [32:0] y_second = y_swaps ? y_two : y_one;
    reg  signed [32:0] x, y;
    reg  [63:0]       beside, beside_late; // encoding: the other point, and 1 for either part; decoding: their sum
    wire [31:0]       beside_x = u_x[31:0] + (decoding ? v_x[31:0] : 32'd1);
    wire [31:0]       beside_y = u_y[31:0] + (decoding ? v_y[31:0] : 32'd1);
    wire signed [66:0] part; // in a step's second cycle the real part, and behind it the imaginary one
    always_ff @(posedge clk_i) begin
        if (advance) begin
            r_turn1 <= r_turn;
            r_turn2 <= r_turn1;
            r_turn3 <= r_turn2;
            x <= (sums || differs) ? (sums ? x_first + x_second : x_first - x_second) : x_first;
            y <= (sums || differs) ? y_first - y_second : y_first;
            beside <= (levels && !clearing) ? {beside_y, beside_x} : none;
            beside_late <= beside;
        end
    end
    cm_client_rotate u_rotate (
        .last_i(cycle == 2'd2), .x_i(x), .y_i(y), .cosine_i(cosine), .sine_i(sine),
        .coordinates_o(rotated_coordinates), .first_digits_o(rotated_first), .second_digits_o(rotated_second),
        .real_i(cycle == 2'd1), .first_i(first_i), .second_i(second_i), .part_o(part)
    );
    wire              for_root = cycle == 2'd1;
    assign coordinates_o = for_root ? root_coordinates : rotated_coordinates;
    assign first_digits_o = for_root ? root_first : rotated_first;
    assign second_digits_o = for_root ? root_second : rotated_second;

    // --- stage 5: sums, until its second cycle --------------------------------------------------

    reg               sum_odd;   // the rotation that is added is the second of two
    reg               sum_late_odd;
    reg               moved;     // a cycle ago: an imaginary part is there
    reg  [LOG2_N:0]   out_count; // of the rotation that has been added
    reg  [INDEX-1:0]  out_half;
    wire [1:0]        out_turn = out_count[1:0];
    wire [INDEX-1:0]  out_k = out_count[LOG2_N:2];
    wire              joins_two = phase == JOIN && in_turns;
    wire              joins_last = joins_two && out_turn == 2'd3;
    wire              out_level_ends = out_count[INDEX-2:0]
        == (complex_i ? {(INDEX - 1){1'b1}} : {1'b0, {(INDEX - 2){1'b1}}});
    reg  signed [67:0] sum_re, sum_im, held_re, held_im;
    wire signed [67:0] half_up = ((levels && decoding) || (phase == JOIN && complex_i)) ? 68'sd1 <<< 30
        : (phase == FOLD && !complex_i) ? 68'sd1 <<< 33 : 68'sd1 <<< 31;
    // A join rounds the real part of one such sum plus the imaginary part of another.
    wire signed [67:0] half_up_im = (phase == JOIN && !complex_i) ? 68'sd0 : half_up;
    wire              adds_point = levels && !decoding;
    wire signed [67:0] add_re = sum_odd ? sum_re
        : adds_point ? {{5{beside[31]}}, beside[31:0], 31'd0} : half_up;
    wire signed [67:0] add_im = sum_late_odd ? sum_im
        : adds_point ? {{5{beside_late[63]}}, beside_late[63:32], 31'd0} : half_up_im;
    always_ff @(posedge clk_i) begin
        moved <= advance && rotating;
        if (moved || clearing) sum_im <= {part[66], part} + add_im;
        if (settles || clearing) begin
            sum_re <= {part[66], part} + add_re;
            if ((out_turn[0] && !joins_last) || clearing) begin
                held_re <= sum_re;
                held_im <= sum_im;
            end
        end
        if (advance) begin
            sum_late_odd <= sum_odd;
            if (rotated[4]) sum_odd <= in_turns && !sum_odd;
            if (rotated[5]) begin
                out_count <= out_count + 1'b1;
                if (levels && out_level_ends) begin
                    out_count <= {(LOG2_N + 1){1'b0}};
                    out_half <= decoding ? out_half >> 1 : out_half << 1;
                end
            end
        end
        if (!issues && drain == 4'd0 || clearing || phase == IDLE) begin
            sum_odd <= 1'b0;
            out_count <= {(LOG2_N + 1){1'b0}};
            out_half <= decoding ? last_half : {{(INDEX - 1){1'b0}}, 1'b1};
        end
    end

    // --- stage 6: points go back ------------------------------------------------------------------------------------------

    // In the cycle in which a step's sums are there. A join's turn 3 completes the points k and M - k, which may be in the
    // same bank: the latter is written a cycle later, and what needs the sum that goes by then waits in a register.
    wire              writes_two = rotated[5] && levels && settles;
    wire              k_is_last = out_k[INDEX-2]; // M/2
    wire              writes_later = rotated[5] && joins_last && cycle == 2'd2 && out_k != {INDEX{1'b0}} && !k_is_last;
    wire              writes_one = writes_later
        || (rotated[5] && phase == JOIN && settles && (complex_i || out_turn == 2'd3));
    wire [INDEX-1:0]  out_mask = out_half - 1'b1;
    wire [INDEX-1:0]  out_point = levels
        ? ({out_count[INDEX-2:0] & ~out_mask[INDEX-2:0], 1'b0} | (out_count[INDEX-1:0] & out_mask))
        : complex_i ? out_count[INDEX-1:0] : writes_later ? middle - out_k : out_k;
    wire              write_bank = ^out_point; // of what is written first
    wire [ADDRESS-1:0] first_written_place = out_point[INDEX-1:1];
    wire [ADDRESS-1:0] other_written_place = first_written_place | out_half[INDEX-1:1];
    // Of k, and then of M - k, whose imaginary part comes in the cycle before k.
    wire signed [67:0] joined_re = held_re + (settles ? ~sum_im : sum_im) + {67'd0, settles};
    wire signed [67:0] joined_im = sum_re + (settles ? held_im : ~held_im) + {67'd0, !settles};
    reg  [31:0]       later_im;
    reg               later_far;
    wire [INDEX-1:0]  earlier = out_k - 1'b1;
    wire [31:0]       encoded_x = sum_re[63:32], encoded_y = sum_im[63:32];
    function automatic far_at_31(input [67:0] x); // x / 2^31
        far_at_31 = x[67:60] != {8{x[67]}};
    endfunction
    function automatic far_at_32(input [67:0] x);
        far_at_32 = x[67:61] != {7{x[67]}};
    endfunction
    function automatic far(input [31:0] x);
        far = x[31:29] != {3{x[31]}};
    endfunction
    wire [63:0]       plain_out = {sum_im[62:31], sum_re[62:31]};
    wire              plain_far = far_at_31(sum_re) || far_at_31(sum_im);
    wire [63:0]       joined = {settles ? joined_im[63:32] : later_im, joined_re[63:32]};
    wire [63:0]       written_first = joins_two ? joined : !levels ? plain_out : decoding ? beside_late
        : {encoded_y, encoded_x};
    wire [63:0]       written_other = decoding ? plain_out
        : {beside_late[63:32] + ~encoded_y, beside_late[31:0] + ~encoded_x};
    wire              joined_far = far_at_32(joined_re) || (settles ? far_at_32(joined_im) : later_far);
    wire              first_far = joins_two ? joined_far : !levels ? plain_far
        : far(beside_late[31:0]) || far(beside_late[63:32]);
    reg               is_far; // what was written is not in -2^29 .. 2^29 - 1
    always_ff @(posedge clk_i) begin
        is_far <= decoding && (((writes_two || writes_one) && first_far) || (writes_two && plain_far));
        if (joins_two && cycle == 2'd0) begin
            later_im <= joined_im[63:32];
            later_far <= far_at_32(joined_im);
        end
        if (clearing) begin
            later_im <= 32'd0;
            later_far <= 1'b0;
        end
        if (rst_i || refused) is_far <= 1'b0;
    end

    generate
        for (g = 0; g < 2; g = g + 1) begin : g_write
            wire is_first = write_bank == g;
            assign bank_write[2*g +: 2] = clearing ? 2'b11
                : value_there ? (((^value_point) == g) ? {value_part, !value_part} : 2'b00)
                : {2{writes_two || (writes_one && is_first)}};
            assign bank_place[g] = clearing ? count[ADDRESS-1:0] : value_there ? value_point[INDEX-1:1]
                : is_first ? first_written_place : other_written_place;
            assign bank_written[g] = clearing ? none : value_there ? {value_x, value_x}
                : is_first ? written_first : written_other;
        end
    endgenerate

    // --- pairs -----------------------------------------------------------------------------------------------------------

    // Real slots: of m[k] and m[n/2 - k], or of m[M - k] and m[M + k], each with the other's negative behind it. At k = 0
    // the second pair would be n/2 or M again; at M/2, M - k is k.
    reg               pair_valid, pair_last;
    reg  [INDEX-1:0]  pair_index;
    reg  [63:0]       pair;
    wire [31:0]       folded_p = out_turn[0] ? sum_re[65:34] : held_re[65:34];
    wire [31:0]       folded_q = out_turn[0] ? sum_im[65:34] : held_im[65:34];
    always_ff @(posedge clk_i) begin
        if (pair_ready_i) pair_valid <= 1'b0;
        if (stores) begin
            if (complex_i) begin
                pair_valid <= rotated[5] && phase == FOLD;
                pair_index <= out_count[INDEX-1:0];
                pair <= {encoded_y, encoded_x};
                pair_last <= &out_count[INDEX-1:0];
            end else begin
                pair <= out_turn[0] ? {32'd0 - folded_q, folded_p} : {32'd0 - folded_p, folded_q};
                pair_last <= k_is_last && out_turn == 2'd2;
                case (out_turn)
                    2'd0: begin
                        pair_valid <= out_k[INDEX-1:1] != {(INDEX - 1){1'b0}};
                        pair_index <= middle + earlier;
                    end
                    2'd1: begin
                        pair_valid <= 1'b1;
                        pair_index <= out_k;
                    end
                    2'd2: begin
                        pair_valid <= out_k != {INDEX{1'b0}};
                        pair_index <= {INDEX{1'b0}} - out_k;
                    end
                    default: begin
                        pair_valid <= !k_is_last;
                        pair_index <= middle - out_k;
                    end
                endcase
                if (!rotated[5] || phase != FOLD) pair_valid <= 1'b0;
            end
        end
        if (rst_i || refused) pair_valid <= 1'b0;
    end
    assign pair_valid_o = pair_valid;
    assign pair_index_o = pair_index;
    assign pair_o = pair;
    wire              pair_waits = pair_valid && !pair_ready_i;
    wire              last_pair_taken = pair_valid && pair_ready_i && pair_last;

    // --- results ---------------------------------------------------------------------------------------------------------

    wire              given, given_wrong;
    reg  [3:0]        given_last;
    cm_client_result u_result (
        .clk_i(clk_i), .rst_i(rst_i || refused), .enable_i(advance), .float_i(float_i), .exponent_i(exponent_i),
        .scale_log2_i(scale_log2_i), .valid_i(issued[2] && gives), .negate_i(negates2),
        .x_i(part2 ? data_a[63:32] : data_a[31:0]), .valid_o(given), .wrong_o(given_wrong), .result_o(result_o)
    );
    always_ff @(posedge clk_i) begin
        if (advance) given_last <= {given_last[2:0], last2};
    end
    assign result_valid_o = given && phase == GIVE;
    assign result_last_o = given_last[3];
    assign settles = rotating && cycle == 2'd1;
    assign advance = rotating ? cycle == 2'd2 : !(result_valid_o && !result_ready_i);
    assign ends = last_pair_taken || (result_valid_o && result_ready_i && result_last_o);

    // --- refusals --------------------------------------------------------------------------------------------------------

    wire              value_refused = value_there && value_wrong;
    wire              result_refused = is_far || (given && given_wrong);
    assign refused = value_refused || is_too_many || result_refused;
    always_ff @(posedge clk_i) begin
        wrong_o <= value_refused && !rst_i;
        too_many_o <= is_too_many && !value_refused && !rst_i;
        result_wrong_o <= result_refused && !rst_i;
        done_o <= last_pair_taken && !rst_i;
    end
endmodule
`default_nettype wire
