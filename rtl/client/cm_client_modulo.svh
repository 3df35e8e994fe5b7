// SPDX-License-Identifier: Apache-2.0
// Cycles of cm_client_modulo: the first 20 bits of 64 are less than a q of 22 bits or more. Included inside a module,
// because not every tool reads packages.
localparam integer MODULO_STAGES = 22;
