// SPDX-License-Identifier: Apache-2.0
// The CKKS encoder and decoder at 31 bits, with the roundings of docs/encoding.md, sections 1 to 5 and 8:
// values become pairs of coefficients, and pairs of coefficients become values.
//
// One rotation of a complex number in three cycles, a step, serves butterflies and folding; the cycle between
// its own products is for those of a root that a later step needs. All else between values and pairs waits
// for it. The points are in two banks, by the parity of a point's number, so that the two of a butterfly,
// whose numbers differ in one bit, are never in the same one. A level starts without a pause behind the one
// before it: it meets points in nearly the same order, and needs none of the last ones until these are back.
//
// Values are written where the transform expects them, and read from there: no pass reorders them. Time
// depends only on the settings, except that a refused value ends the operation; then, as after a reset, the
// memories are cleared.
`default_nettype none
module cm_client_codec #(
    parameter integer LOG2_N = 12 // 10 .. 13
) (
    input  wire              clk_i,
    input  wire              rst_i,
    // Settings, which stay during an operation.
    input  wire              complex_i,     // complex slots instead of real ones
    input  wire              float_i,       // Values are binary32 instead of signed integers.
    input  wire signed [9:0] exponent_i,    // Integers count multiples of 2^exponent.
    input  wire [5:0]        scale_log2_i,  // s: the scale is 2^s
    input  wire [5:0]        limit_log2_i,  // L
    output wire              busy_o,        // high also while the memories are being cleared
    // Encoding: values, slot by slot, the last one marked; missing ones are zero.
    input  wire              encode_i,      // starts an encoding; only while busy_o is low
    input  wire              value_valid_i,
    output wire              value_ready_o,
    input  wire [31:0]       value_i,
    input  wire              value_last_i,
    output reg               too_many_o, // More values came than there are slots, which ends the operation.
    output reg               wrong_o, // A value is not finite or out of range, which ends the operation.
    output wire              pair_valid_o,
    input  wire              pair_ready_i,
    output wire [LOG2_N-2:0] pair_index_o,  // number j of the pair, in an order of the codec
    output wire [63:0]       pair_o,        // coefficient j in the lower half, j + n/2 in the upper
    output reg               done_o,        // The last pair has been taken.
    // Decoding: the coefficients times 2, or of real slots d[j] of section 8 in the lower half.
    input  wire              decode_i,      // starts a decoding; only while busy_o is low
    output wire              read_valid_o,
    output wire [LOG2_N-2:0] read_index_o,
    input  wire [63:0]       read_pair_i,   // the pair, a cycle after its index
    output wire              result_valid_o,
    input  wire              result_ready_i,
    output wire [31:0]       result_o,      // the value of the next slot
    output wire              result_last_o,
    output reg               result_wrong_o, // A number is too large, which ends the operation.
    // Operands for cm_client_products, and its products a cycle later.
    output wire [65:0]       coordinates_o,
    output wire [53:0]       first_digits_o,
    output wire [35:0]       second_digits_o,
    output wire              minus_o,
    input  wire [127:0]      wide_i,
    input  wire [101:0]      second_i
);
    `include "cm_refuse.svh"
    localparam integer INDEX = LOG2_N - 1;   // width of a point's number
    localparam integer ADDRESS = LOG2_N - 2; // width of a point's address in its bank
    localparam integer REAL = LOG2_N - 2;    // width of a point's number with real slots
    localparam [3:0] DRAIN = 4'd9; // cycles from the last issue of a phase to the first of the next
    generate
        `CM_REFUSE(g_refuse_ring, LOG2_N < 10 || LOG2_N > 13, "cm_client_codec: LOG2_N must be 10 .. 13")
    endgenerate

    // --- phases --------------------------------------------------------------------------------------------

    typedef enum logic [2:0] {
        CLEAR = 3'd0,
        IDLE = 3'd1,
        LOAD = 3'd2,
        LEVELS = 3'd3,
        FOLD = 3'd4,
        JOIN = 3'd5,
        SCAN = 3'd6,
        GIVE = 3'd7
    } phase_t;
    phase_t           phase;
    reg               decoding;
    reg               issues;  // The phase issues; else what was issued drains.
    reg  [3:0]        drain;
    reg  [LOG2_N:0]   count;   // number issued in a phase, or in a level of butterflies
    reg  [INDEX-1:0]  half;    // h of the level
    wire              rotating; // The phase works in steps.
    wire              advance; // Stages move; else an output waits, or a step goes on.
    reg  [1:0]        cycle;   // cycle of a step
    wire              settles; // A step's sums are there.
    wire              stores = settles || !rotating;
    wire              clearing = phase == CLEAR;
    wire              levels = phase == LEVELS;
    wire              folds = phase == FOLD || phase == JOIN;
    wire              gives = phase == GIVE || phase == SCAN;
    assign            rotating = levels || folds;
    wire              in_turns = folds && !complex_i; // Two points take four rotations.
    wire              refused;
    wire              ends;    // The last pair or result is taken.
    wire              slots_end; // The last slot is issued.

    wire [INDEX-1:0]  last_half = complex_i ? {1'b1, {(INDEX - 1){1'b0}}} : {2'b01, {(INDEX - 2){1'b0}}};
    // Butterflies are half as many as points.
    wire              level_ends =
        count[INDEX-2:0] == (complex_i ? {(INDEX - 1){1'b1}} : {1'b0, {(INDEX - 2){1'b1}}});
    wire              levels_end = level_ends && (decoding ? half[0] : half == last_half);
    wire [LOG2_N:0]   last_fold = complex_i ? {2'b00, {INDEX{1'b1}}} : {2'b01, {(LOG2_N - 3){1'b0}}, 2'b11};
    wire              issue_ends = levels ? levels_end : folds ? count == last_fold
                                   : (phase == LOAD || gives) ? slots_end : &count[ADDRESS-1:0];
    wire              issue = issues && (phase != LOAD || enters) && phase != IDLE;
    // Only results that are shifted to the left by two bits or more can be too large for an integer.
    wire signed [10:0] left = -{5'd0, scale_log2_i} - {exponent_i[9], exponent_i} - 11'sd1;
    wire              may_exceed = !float_i && left >= 11'sd2;
    wire              enters; // A value enters, or zero for a missing one.

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
                    default: issues <= 1'b0; // The phase ends when its last output has left.
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

    // --- slots: where they are among the points ------------------------------------------------------------

    // Slot j is at 3^j: one of 3^j and -3^j is 4 v + 1, and v is its sample (section 2).
    reg  [LOG2_N:0]   power;
    reg               odd, imaginary;
    reg  [INDEX-1:0]  slot_count;
    wire              slot_taken = advance && issue && (phase == LOAD || gives);
    wire [LOG2_N:0]   exponent = odd ? -power : power;
    wire [INDEX-1:0]  sample = exponent[LOG2_N:2];
    wire              slot_part = complex_i ? imaginary : sample[0];
    wire              slot_negates = odd && imaginary; // selects the conjugate
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

    // --- values come in ------------------------------------------------------------------------------------

    reg               ended; // No more values come: zeros follow.
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
        .negate_i(slot_negates), .value_i(ended ? 32'd0 : value_i), .valid_o(value_there),
        .wrong_o(value_wrong), .x_o(value_x)
    );
    cm_delay #(.WIDTH(INDEX + 1), .CYCLES(3)) u_place (
        .clk_i(clk_i), .data_i({slot_part, slot_point}), .data_o({value_part, value_point})
    );
    always_ff @(posedge clk_i) begin
        if (phase == IDLE) ended <= 1'b0;
        else if (slot_taken && phase == LOAD && value_last_i) ended <= 1'b1;
    end

    // --- reading: stages 0 to 2 ----------------------------------------------------------------------------

    // With real slots, k of a fold or join and its turn. Turn 0 of a rotation is two cycles behind that of
    // its read.
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
    reg               zero1, zero2; // k = 0 in stages 1 and 2
    reg               part1, part2, negates1, negates2, last1, last2;
    reg  [2:1]        issued;   // stages that hold a read
    reg  [5:1]        rotated;  // stages that hold a rotation
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
    wire [3:0]        bank_write;      // one bit for each part of bank 1, and of bank 0
    wire [ADDRESS-1:0] bank_place [0:1];
    wire [31:0]       bank_written [0:1]; // data for either part
    generate
        for (g = 0; g < 4; g = g + 1) begin : g_bank
            cm_ram #(.WIDTH(32), .DEPTH(1 << ADDRESS), .ADDRESS_WIDTH(ADDRESS), .BLOCK(1)) u_part (
                .clk_i(clk_i), .write_i(bank_write[g]), .write_address_i(bank_place[g / 2]),
                .write_data_i(bank_written[g / 2]),
                .read_i(busy_o), .read_address_i(advance ? place1[g / 2] : place2[g / 2]),
                .read_data_o(bank_data[g / 2][32*(g % 2) +: 32])
            );
        end
    endgenerate

    // --- stage 3: the points that are rotated --------------------------------------------------------------

    wire [63:0]       none = 64'd0;
    wire [63:0]       data_a = clearing ? none : phase == JOIN ? read_pair_i : bank2 ? bank_data[1]
        : bank_data[0];
    wire [63:0]       data_b = clearing ? none : bank2 ? bank_data[0] : bank_data[1];
    reg  [63:0]       first;
    reg  signed [32:0] u_x, u_y, v_x, v_y;
    function automatic [32:0] wide(input [31:0] x);
        wide = {x[31], x};
    endfunction
    // d[k] and d[n/2 - k], or d[M - k] and d[M + k]. The products with d[0] count twice, and what would be
    // d[n/2] is 0.
    wire              is_zero = zero2 && turn2[1];
    wire [32:0]       folded_x = is_zero ? {first[31:0], 1'b0} : wide(first[31:0]);
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
                if (turn2 == 2'd1) {v_x, v_y} <= {wide(first[31:0]), wide(data_a[31:0])};
                if (turn2 == 2'd3) {u_x, u_y} <= {folded_x, is_zero ? 33'd0 : wide(data_a[31:0])};
            end
        end
    end

    // --- rotations: their angles ---------------------------------------------------------------------------

    wire              rotates = in_turns ? issued[2] : issue && levels || issue && folds;
    reg  [LOG2_N:0]   rotation; // number of the rotation: k and the turn
    reg  [LOG2_N:0]   step;     // n / h of the level
    reg  [LOG2_N-1:0] angle;    // angle of the butterfly
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
        .wide_i(wide_i), .second_i(second_i), .cosine_o(cosine), .sine_o(sine)
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

    // --- stage 4: operands, and their products -------------------------------------------------------------

    reg  [1:0]        r_turn1, r_turn2, r_turn3;
    // Folding, with e = u + conj v and o = -i (u - conj v): conj e, conj o, e, o. Joining: v, conj u, v,
    // conj u.
    wire              sums = phase == FOLD && in_turns;
    wire              crosses = sums && r_turn3[0];
    wire              differs = levels && decoding;
    wire              from_v = (levels && !decoding) || (phase == JOIN && in_turns && !r_turn3[0]);
    wire signed [32:0] x_first = from_v ? v_x : crosses ? u_y : u_x;
    wire signed [32:0] x_second = crosses ? v_y : v_x;
    wire signed [32:0] y_one = crosses ? v_x : v_y;
    wire signed [32:0] y_two = crosses ? u_x : u_y;
    wire              conjugates = phase == JOIN && in_turns && r_turn3[0];
    wire              y_swaps = conjugates || (sums && (r_turn3 == 2'd0 || r_turn3 == 2'd3));
    wire signed [32:0] y_first = conjugates ? 33'sd0 : (from_v || y_swaps) ? y_one : y_two;
    wire signed [32:0] y_second = y_swaps ? y_two : y_one;
    reg  signed [32:0] x, y;
    // Sum in a step's second cycle of the real part, and after it of the imaginary one.
    wire signed [67:0] total;
    reg  [63:0]       beside;      // encoding: the other point, and 1 for either part; decoding: their sum
    reg  [31:0]       beside_late; // imaginary part of beside
    wire [31:0]       beside_x = u_x[31:0] + (decoding ? v_x[31:0] : 32'd1);
    wire [31:0]       beside_y = u_y[31:0] + (decoding ? v_y[31:0] : 32'd1);
    always_ff @(posedge clk_i) begin
        if (advance) begin
            r_turn1 <= r_turn;
            r_turn2 <= r_turn1;
            r_turn3 <= r_turn2;
            x <= (sums || differs) ? (sums ? x_first + x_second : x_first - x_second) : x_first;
            y <= (sums || differs || conjugates) ? y_first - y_second : y_first;
            beside <= (levels && !clearing) ? {beside_y, beside_x} : none;
            beside_late <= beside[63:32];
        end
    end
    wire              for_root = cycle == 2'd1;
    assign coordinates_o = for_root ? root_coordinates : rotated_coordinates;
    assign first_digits_o = for_root ? root_first : rotated_first;
    assign second_digits_o = for_root ? root_second : rotated_second;

    // --- stage 5: sums -------------------------------------------------------------------------------------

    // A real part is there in a step's last cycle and in the first one behind it, the imaginary one in the
    // cycle behind that, when the real one is the older.
    reg               sum_odd;   // The rotation that is added is the second of two.
    reg               moved;     // Stages moved a cycle ago: an imaginary part is there.
    reg               landed;    // A rotation has been added.
    reg  [LOG2_N:0]   out_count; // number of that rotation
    reg  [INDEX-1:0]  out_half;
    wire [1:0]        out_turn = out_count[1:0];
    wire [INDEX-1:0]  out_k = out_count[LOG2_N:2];
    wire              joins_two = phase == JOIN && in_turns;
    wire              out_level_ends = out_count[INDEX-2:0]
        == (complex_i ? {(INDEX - 1){1'b1}} : {1'b0, {(INDEX - 2){1'b1}}});
    reg  signed [67:0] newest, older, held_re, held_im;
    wire signed [67:0] half_up = ((levels && decoding) || (phase == JOIN && complex_i)) ? 68'sd1 <<< 30
        : (phase == FOLD && !complex_i) ? 68'sd1 <<< 33 : 68'sd1 <<< 31;
    // A join rounds the real part of one such sum plus the imaginary part of another.
    wire              adds_nothing = joins_two && !settles;
    wire [31:0]       beside_added = settles ? beside[31:0] : beside_late;
    wire signed [67:0] plus = sum_odd ? older
        : (levels && !decoding) ? {{5{beside_added[31]}}, beside_added, 31'd0} : adds_nothing ? 68'sd0
        : half_up;
    cm_client_rotate u_rotate (
        .first_i(cycle == 2'd0), .last_i(cycle == 2'd2), .x_i(x), .y_i(y), .cosine_i(cosine), .sine_i(sine),
        .coordinates_o(rotated_coordinates), .first_digits_o(rotated_first), .second_digits_o(rotated_second),
        .minus_o(minus_o), .wide_i(wide_i), .second_i(second_i), .plus_i(plus), .sum_o(total)
    );
    always_ff @(posedge clk_i) begin
        moved <= advance && rotating;
        if (moved || settles || clearing) begin
            newest <= total;
            older <= newest;
        end
        if ((settles && out_turn == 2'd1) || clearing) begin
            held_re <= older;
            held_im <= newest;
        end
        // The next part is the real one of the next rotation.
        if (moved) sum_odd <= in_turns && rotated[5] && !sum_odd;
        if (settles) begin
            landed <= rotated[4];
            if (landed) begin
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
        if (rst_i || refused || phase == IDLE) landed <= 1'b0;
    end

    // --- stage 6: points go back, part by part -------------------------------------------------------------

    // In the cycles in which a part is the newest: a step's last one, and its second. A join's points k and M
    // - k may be in the same bank, and go back one word a cycle: the imaginary part of k in the last cycle of
    // its turn 3, that of M - k in the cycle behind it, and the real parts in the same cycles of the next
    // step, when the imaginary part of what was added last is the older.
    wire              last_cycle = rotating && cycle == 2'd2;
    wire              writes_two = landed && levels && (last_cycle || settles);
    reg               joined;   // Turn 3 is complete.
    wire              joins_im = joins_two && landed && out_turn == 2'd3;
    wire [INDEX-1:0]  earlier = out_k - 1'b1;
    wire [INDEX-1:0]  joined_k = joined ? earlier : out_k;
    wire              k_is_last = joined_k[INDEX-2]; // k = M/2
    wire              writes_joined = (joins_im || joined)
        && (last_cycle || (moved && joined_k != {INDEX{1'b0}} && !k_is_last));
    wire              writes_one = joins_two ? writes_joined
        : landed && phase == JOIN && (last_cycle || settles);
    wire              real_part = joins_two ? joined : last_cycle;
    wire [INDEX-1:0]  out_mask = out_half - 1'b1;
    wire [INDEX-1:0]  out_point = levels
        ? ({out_count[INDEX-2:0] & ~out_mask[INDEX-2:0], 1'b0} | (out_count[INDEX-1:0] & out_mask))
        : complex_i ? out_count[INDEX-1:0] : last_cycle ? joined_k : middle - joined_k;
    wire              write_bank = ^out_point; // bank of the point that is written first
    wire [ADDRESS-1:0] first_written_place = out_point[INDEX-1:1];
    wire [ADDRESS-1:0] other_written_place = first_written_place | out_half[INDEX-1:1];
    // e.im + o.re and o.re - e.im; then e.re - o.im and e.re + o.im.
    wire signed [67:0] join_of = joined ? held_re : newest;
    wire signed [67:0] join_and = joined ? older : held_im;
    wire              join_differs = joined == last_cycle;
    wire signed [67:0] crossed = join_of + (join_and ^ {68{join_differs}}) + {67'd0, join_differs};
    function automatic far_at_31(input [67:0] sum); // sum / 2^31
        far_at_31 = sum[67:60] != {8{sum[67]}};
    endfunction
    function automatic far_at_32(input [67:0] sum);
        far_at_32 = sum[67:61] != {7{sum[67]}};
    endfunction
    function automatic far(input [31:0] sum);
        far = sum[31:29] != {3{sum[31]}};
    endfunction
    wire [31:0]       beside_written = settles ? beside_late : beside[31:0];
    wire [31:0]       encoded = newest[63:32];
    wire [31:0]       written_first = joins_two ? crossed[63:32] : !levels ? newest[62:31]
        : decoding ? beside_written : encoded;
    wire [31:0]       written_other = decoding ? newest[62:31] : beside_written + ~encoded;
    wire              first_far = joins_two ? far_at_32(crossed) : !levels ? far_at_31(newest)
        : far(beside_written);
    reg               is_far; // A written number is not in -2^29 .. 2^29 - 1.
    always_ff @(posedge clk_i) begin
        is_far <= decoding
            && (((writes_two || writes_one) && first_far) || (writes_two && far_at_31(newest)));
        if (settles) joined <= joins_im;
        if (rst_i || refused || phase == IDLE) joined <= 1'b0;
        if (rst_i || refused) is_far <= 1'b0;
    end

    generate
        for (g = 0; g < 2; g = g + 1) begin : g_write
            wire is_first = write_bank == g;
            wire here = writes_two || (writes_one && is_first);
            assign bank_write[2*g +: 2] = clearing ? 2'b11
                : value_there ? (((^value_point) == g) ? {value_part, !value_part} : 2'b00)
                : {here && !real_part, here && real_part};
            assign bank_place[g] = clearing ? count[ADDRESS-1:0] : value_there ? value_point[INDEX-1:1]
                : is_first ? first_written_place : other_written_place;
            assign bank_written[g] = clearing ? 32'd0 : value_there ? value_x
                : is_first ? written_first : written_other;
        end
    endgenerate

    // --- pairs ---------------------------------------------------------------------------------------------

    // Real slots: of m[k] and m[n/2 - k], or of m[M - k] and m[M + k], each with the other's negative behind
    // it. At k = 0 the second pair would be n/2 or M again; at M/2, M - k is k.
    reg               pair_valid, pair_last;
    reg  [INDEX-1:0]  pair_index;
    reg               pair_turned;    // selects the second pair of two numbers
    reg  [31:0]       pair_p, pair_q;
    wire [31:0]       pair_behind = pair_turned ? pair_p : pair_q;
    always_ff @(posedge clk_i) begin
        if (pair_ready_i) pair_valid <= 1'b0;
        if (stores) begin
            pair_turned <= !out_turn[0];
            if (complex_i) begin
                pair_valid <= landed && phase == FOLD;
                pair_index <= out_count[INDEX-1:0];
                pair_p <= older[63:32];
                pair_q <= newest[63:32];
                pair_last <= &out_count[INDEX-1:0];
            end else begin
                if (out_turn[0] || !landed) begin
                    pair_p <= older[65:34];
                    pair_q <= newest[65:34];
                end
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
                if (!landed || phase != FOLD) pair_valid <= 1'b0;
            end
        end
        if (rst_i || refused) pair_valid <= 1'b0;
    end
    assign pair_valid_o = pair_valid;
    assign pair_index_o = pair_index;
    assign pair_o = complex_i ? {pair_q, pair_p}
        : {32'd0 - pair_behind, pair_turned ? pair_q : pair_p};
    wire              pair_waits = pair_valid && !pair_ready_i;
    wire              last_pair_taken = pair_valid && pair_ready_i && pair_last;

    // --- results -------------------------------------------------------------------------------------------

    wire              given, given_wrong;
    reg  [3:0]        given_last;
    cm_client_result u_result (
        .clk_i(clk_i), .rst_i(rst_i || refused), .enable_i(advance), .float_i(float_i),
        .exponent_i(exponent_i), .scale_log2_i(scale_log2_i), .valid_i(issued[2] && gives),
        .negate_i(negates2), .x_i(part2 ? data_a[63:32] : data_a[31:0]), .valid_o(given),
        .wrong_o(given_wrong), .result_o(result_o)
    );
    always_ff @(posedge clk_i) begin
        if (advance) given_last <= {given_last[2:0], last2};
    end
    assign result_valid_o = given && phase == GIVE;
    assign result_last_o = given_last[3];
    assign settles = rotating && cycle == 2'd1;
    assign advance = rotating ? cycle == 2'd2 : !(result_valid_o && !result_ready_i);
    assign ends = last_pair_taken || (result_valid_o && result_ready_i && result_last_o);

    // --- refusals ------------------------------------------------------------------------------------------

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
