// SPDX-License-Identifier: Apache-2.0
// Chooses whose block of key stream is computed next: tags and seeds first, then what leaves, then noise for
// later. It is combinational: the user that is granted in a cycle has made its request once the stream is
// ready in that cycle.
`default_nettype none
module cm_client_arbiter (
    input  wire       stream_ready_i,
    input  wire       tag_request_i,
    input  wire       seeds_request_i,
    input  wire       uniform_request_i,
    input  wire       sample_request_i,
    input  wire [2:0] sample_tag_i,     // whether the samples are of noise or of u
    output wire       request_o,
    output wire [2:0] tag_o,            // the user, by its number in cm_client_users.svh
    output wire       tag_granted_o,
    output wire       seeds_granted_o,
    output wire       uniform_granted_o,
    output wire       sample_granted_o
);
    `include "cm_client_users.svh"
    assign request_o = tag_request_i || seeds_request_i || uniform_request_i || sample_request_i;
    assign tag_o = tag_request_i ? FOR_TAG : seeds_request_i ? FOR_SEEDS : uniform_request_i ? FOR_UNIFORM
                                                                                             : sample_tag_i;
    assign tag_granted_o = stream_ready_i;
    assign seeds_granted_o = stream_ready_i && !tag_request_i;
    assign uniform_granted_o = stream_ready_i && !tag_request_i && !seeds_request_i;
    assign sample_granted_o = stream_ready_i && !tag_request_i && !seeds_request_i && !uniform_request_i;
endmodule
`default_nettype wire
