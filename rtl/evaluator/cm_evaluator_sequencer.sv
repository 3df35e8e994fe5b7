// SPDX-License-Identifier: Apache-2.0
// Runs programs: reads their words, and issues a term a cycle, for each row all terms of an instruction.
//
// A word is a receive word, which is passed over here (cm_evaluator_arrival takes those), a header or a term.
// A header waits until its instruction may begin; behind it come its terms, again for each row. A term waits
// for the transform that it reads, and for a memory's port if something that arrives or leaves needs it. A
// word that has no meaning where it stands ends the program.
//
// An instruction may begin while the results of the one before are still in the pipeline, of LATENCY cycles
// from a row's last term to the first cycle in which its result can be read: a row's turn comes again a whole
// pass of rows later at the earliest, and where rows are fewer than LATENCY, the next header waits for the
// rest.
`default_nettype none
module cm_evaluator_sequencer #(
    parameter integer ROW_BITS = 6,
    parameter integer LOG2_SLOTS_A = 6,
    parameter integer LOG2_SLOTS_B = 6,
    parameter integer LOG2_MODULI = 4,
    parameter integer LOG2_WEIGHTS = 12,
    parameter integer LOG2_PROGRAM = 13,
    parameter integer LATENCY = 18,
    parameter integer NUMBER = (LOG2_MODULI > 0) ? LOG2_MODULI : 1 // follows and must not be set
) (
    input  wire                           clk_i,
    input  wire                           rst_i,
    // The job that is next.
    input  wire                           start_i,    // It may begin.
    input  wire [LOG2_PROGRAM-1:0]        address_i,
    output wire                           starts_o,
    input  wire                           arrived_all_i, // Everything that its program receives is there,
    input  wire [7:0]                     arrived_i,     // or so many packets.
    // The program's memory: a word follows its address by a cycle, and stays.
    output wire                           fetch_o,
    output wire [LOG2_PROGRAM-1:0]        fetch_address_o,
    input  wire [63:0]                    word_i,
    // What instructions wait for.
    input  wire                           room_i,        // for what is to leave after an instruction
    output wire                           reserve_o,     // takes such a place
    input  wire [1:0]                     set_busy_i,
    input  wire [1:0]                     read_wanted_i, // reads of memory A, B: terms must leave them out
    input  wire [1:0]                     gap_wanted_i,  // writes to memory A, B: one is to be left out
    output wire [1:0]                     gap_given_o,
    input  wire [(1<<LOG2_MODULI)-1:0]    loaded_i,      // moduli
    output wire                           claim_o,
    output wire                           release_o,
    output wire                           claim_set_o,
    // The term that is issued, with its instruction.
    output reg                            issue_o,
    output reg  [ROW_BITS-1:0]            row_o,
    output reg                            first_o,
    output reg                            last_o,
    output reg                            last_row_o,
    output reg  [1:0]                     source_o,
    output reg  [9:0]                     slot_o,
    output reg                            product_o,
    output reg  [11:0]                    factor_o,
    output reg  [NUMBER-1:0]              modulus_o,
    output reg                            shifts_o,
    output reg  [5:0]                     shift_o,
    output reg  [1:0]                     destination_o,
    output reg  [9:0]                     result_slot_o,
    output reg                            send_o,
    output reg                            end_o,
    // How programs end.
    input  wire                           written_end_i, // The result of the last instruction is written.
    output wire                           abort_o,       // The program ended by a bad word.
    output wire                           bad_word_o,
    output wire                           unset_o        // A modulus is not loaded.
);
    localparam [1:0] HEADER_KIND = 2'd0, TERM_KIND = 2'd1, RECEIVE_KIND = 2'd2;
    localparam [1:0] FROM_A = 2'd0, FROM_B = 2'd1, FROM_SET = 2'd2, FROM_ONE = 2'd3;
    localparam [1:0] TO_A = 2'd0, TO_B = 2'd1, TO_SET = 2'd2, TO_NOTHING = 2'd3;
    localparam integer ROWS = 1 << ROW_BITS;
    // A header takes 3 cycles more than a term: it is fetched, and so are its first terms behind it.
    localparam integer GAP = (LATENCY > ROWS + 3) ? LATENCY - ROWS - 3 : 0;
    localparam integer WAIT_BITS = $clog2(LATENCY + 4);
    localparam [WAIT_BITS-1:0] DRAINED = LATENCY[WAIT_BITS-1:0] + {{(WAIT_BITS - 2){1'b0}}, 2'd2};

    typedef enum logic [2:0] {
        IDLE = 3'd0,
        HEAD = 3'd1,   // fetches a word that is no term
        DECODE = 3'd2, // waits for what it says
        TERMS = 3'd3,
        DRAIN = 3'd4,  // waits for the last results
        ABORT = 3'd5
    } state_t;
    state_t state;

    // The instruction whose terms are fetched or issued.
    reg [7:0]        terms;
    reg [NUMBER-1:0] modulus;
    reg              shifts;
    reg [5:0]        shift;
    reg [1:0]        destination;
    reg [9:0]        result_slot;
    reg              send;
    reg              ends;

    // --- fetch ---------------------------------------------------------------------------------------------

    reg [LOG2_PROGRAM:0]   address; // The top bit says that the program's memory has ended.
    reg [LOG2_PROGRAM:0]   first_address;
    reg [ROW_BITS-1:0]     row;
    reg [7:0]              term;
    wire                   advance;
    wire                   last_term = term + 1'b1 == terms;
    wire                   last_row = row == {ROW_BITS{1'b1}};
    assign fetch_o = advance && (state == HEAD || state == TERMS);
    assign fetch_address_o = address[LOG2_PROGRAM-1:0];

    // The word in the memory's register, then in this module's.
    reg                near, there;
    reg                near_head, there_head;
    reg                near_beyond, there_beyond;
    reg                near_first, there_first;
    reg                near_last, there_last;
    reg                near_last_row, there_last_row;
    reg [ROW_BITS-1:0] near_row, there_row;
    reg [63:0]         word;

    // --- headers -------------------------------------------------------------------------------------------

    reg                receiving; // No header has come yet.
    reg [WAIT_BITS-1:0] gap;
    wire [1:0]  kind = word[63:62];
    wire [3:0]  word_modulus = word[11:8];
    wire        word_shifts = word[12];
    wire [1:0]  word_destination = word[20:19];
    wire [9:0]  word_slot = word[30:21];
    wire        word_sends = word[39];
    wire        word_ends = word[40];
    wire        is_receive = kind == RECEIVE_KIND && receiving;
    wire        slot_good = word_destination == TO_A ? word_slot >> LOG2_SLOTS_A == 10'd0
        : word_destination == TO_B ? word_slot >> LOG2_SLOTS_B == 10'd0 : word_slot[9:2] == 8'd0;
    wire        header_good = kind == HEADER_KIND && !there_beyond && word[7:0] != 8'd0
        && word_modulus >> LOG2_MODULI == 4'd0 && word_destination != TO_NOTHING && slot_good
        && !(word_destination == TO_SET && (word_shifts || word_sends))
        && !(word_shifts && word[18:13] == 6'd0);
    wire        keeps_place = word_sends || word_ends;
    wire        may_begin = gap == {WAIT_BITS{1'b0}} && (arrived_all_i || arrived_i >= word[38:31])
        && (!keeps_place || room_i) && !(word_destination == TO_SET && set_busy_i[word_slot[0]]);
    wire        head = there && there_head;
    wire        begins = head && header_good && may_begin;
    wire        passes = head && is_receive && !there_beyond;
    wire        head_waits = head && header_good && !may_begin;
    wire        bad_head = head && !header_good && !passes;
    assign reserve_o = (begins && keeps_place) || abort_o;
    assign claim_o = begins && word_destination == TO_SET;
    assign unset_o = begins && !word_shifts && !loaded_i[word_modulus[NUMBER-1:0]];

    // --- terms ---------------------------------------------------------------------------------------------

    wire [1:0]  source = word[1:0];
    wire [9:0]  slot = word[11:2];
    wire        product = word[12];
    wire [11:0] factor = word[24:13];
    wire        reads_a = source == FROM_A;
    wire        reads_b = source == FROM_B || product;
    wire        source_good = source == FROM_A ? slot >> LOG2_SLOTS_A == 10'd0
        : source == FROM_B ? slot >> LOG2_SLOTS_B == 10'd0 && !product
        : source == FROM_ONE ? !product
        : slot >> 1 == 10'd0 && !(destination == TO_SET && slot[0] == result_slot[0]);
    wire        factor_good = product ? factor >> LOG2_SLOTS_B == 12'd0 : factor >> LOG2_WEIGHTS == 12'd0;
    wire        term_good = kind == TERM_KIND && !there_beyond && source_good && factor_good;
    wire [1:0]  writes = {destination == TO_B, destination == TO_A} & {2{there_last}};
    wire        leaves_gap = (writes & gap_wanted_i) != 2'b00;
    wire        term_waits = (source == FROM_SET && set_busy_i[slot[0]])
        || ({reads_b, reads_a} & read_wanted_i) != 2'b00 || leaves_gap;
    wire        is_term = there && !there_head;
    wire        issues = is_term && term_good && !term_waits;
    wire        bad_term = is_term && !term_good;
    assign gap_given_o = (is_term && term_good) ? writes & gap_wanted_i : 2'b00;
    assign advance = !head_waits && !(is_term && term_good && term_waits);

    // --- order ---------------------------------------------------------------------------------------------

    reg [WAIT_BITS-1:0] drain;
    reg                 claimed; // The instruction fills a set of which no row is written.
    assign starts_o = state == IDLE && start_i;
    assign bad_word_o = bad_head || bad_term;
    assign abort_o = state == ABORT && drain == DRAINED && room_i;
    assign release_o = abort_o && claimed;
    assign claim_set_o = (state == ABORT) ? result_slot[0] : word_slot[0];

    always_ff @(posedge clk_i) begin
        if (advance) begin
            near <= fetch_o;
            near_head <= state == HEAD;
            near_beyond <= address[LOG2_PROGRAM];
            near_first <= term == 8'd0;
            near_last <= last_term;
            near_last_row <= last_row;
            near_row <= row;
            there <= near;
            there_head <= near_head;
            there_beyond <= near_beyond;
            there_first <= near_first;
            there_last <= near_last;
            there_last_row <= near_last_row;
            there_row <= near_row;
            if (near) word <= word_i;
        end
        if (gap != {WAIT_BITS{1'b0}}) gap <= gap - 1'b1;
        if (issues && there_last && there_last_row) gap <= GAP[WAIT_BITS-1:0];
        drain <= (state == ABORT && drain != DRAINED) ? drain + 1'b1
            : (state == ABORT) ? drain : {WAIT_BITS{1'b0}};

        case (state)
            IDLE: begin
                address <= {1'b0, address_i};
                receiving <= 1'b1;
                claimed <= 1'b0;
                if (start_i) state <= HEAD;
            end
            HEAD: if (advance) begin
                address <= address + 1'b1;
                state <= DECODE;
            end
            DECODE: begin
                row <= {ROW_BITS{1'b0}};
                term <= 8'd0;
                first_address <= address;
                if (passes) state <= HEAD;
                if (begins) state <= TERMS;
            end
            TERMS: if (advance) begin
                term <= last_term ? 8'd0 : term + 1'b1;
                address <= (last_term && !last_row) ? first_address : address + 1'b1;
                if (last_term) row <= row + 1'b1;
                if (last_term && last_row) state <= ends ? DRAIN : HEAD;
            end
            DRAIN: if (written_end_i) state <= IDLE;
            default: if (abort_o) state <= IDLE; // ABORT
        endcase
        if (begins) begin
            receiving <= 1'b0;
            terms <= word[7:0];
            modulus <= word_modulus[NUMBER-1:0];
            shifts <= word_shifts;
            shift <= word[18:13];
            destination <= word_destination;
            result_slot <= word_slot;
            send <= word_sends;
            ends <= word_ends;
            claimed <= word_destination == TO_SET;
        end
        if (issues && there_last) claimed <= 1'b0;
        if (bad_word_o) begin
            state <= ABORT;
            near <= 1'b0;
            there <= 1'b0;
        end

        issue_o <= issues;
        row_o <= there_row;
        first_o <= there_first;
        last_o <= there_last;
        last_row_o <= there_last_row;
        source_o <= source;
        slot_o <= slot;
        product_o <= product;
        factor_o <= factor;
        modulus_o <= modulus;
        shifts_o <= shifts;
        shift_o <= shift;
        destination_o <= destination;
        result_slot_o <= result_slot;
        send_o <= send;
        end_o <= ends;
        if (rst_i) begin
            state <= IDLE;
            near <= 1'b0;
            there <= 1'b0;
            gap <= {WAIT_BITS{1'b0}};
            issue_o <= 1'b0;
            modulus <= {NUMBER{1'b0}};
            shifts <= 1'b0;
            shift <= 6'd0;
            row_o <= {ROW_BITS{1'b0}};
            there_row <= {ROW_BITS{1'b0}};
            near_row <= {ROW_BITS{1'b0}};
            row <= {ROW_BITS{1'b0}};
            word <= 64'd0;
        end
    end
endmodule
`default_nettype wire
