// SPDX-License-Identifier: Apache-2.0
// The first four words of every ChaCha20 block (RFC 8439). Included inside a module, because not every tool
// reads packages.
localparam [127:0] CONSTANTS = {32'h6b206574, 32'h79622d32, 32'h3320646e, 32'h61707865};
