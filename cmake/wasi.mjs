// SPDX-License-Identifier: Apache-2.0
// Run a WebAssembly program that only prints: node wasi.mjs PROGRAM
//
// It has its own few lines of WASI: node 20's module calls back from compiled code in a way in which a garbage
// collection at the wrong moment ends node itself.
import { readFileSync, writeSync } from "node:fs";
import { argv, exit } from "node:process";

const success = 0;
const notSeekable = 70;
const characterDevice = 2;
let memory;

const system = {
  fd_write(descriptor, pieces, count, written) {
    const view = new DataView(memory.buffer);
    let total = 0;
    for (let piece = pieces; piece < pieces + 8 * count; piece += 8) {
      const start = view.getUint32(piece, true);
      const length = view.getUint32(piece + 4, true);
      let sent = 0;
      while (sent < length) {
        sent += writeSync(descriptor, new Uint8Array(memory.buffer, start + sent, length - sent));
      }
      total += length;
    }
    view.setUint32(written, total, true);
    return success;
  },
  fd_fdstat_get(_descriptor, status) {
    new Uint8Array(memory.buffer, status, 24).fill(0)[0] = characterDevice;
    return success;
  },
  fd_seek: () => notSeekable,
  fd_close: () => success,
  proc_exit: exit,
};

const program = new WebAssembly.Module(readFileSync(argv[2]));
const { exports } = new WebAssembly.Instance(program, { wasi_snapshot_preview1: system });
memory = exports.memory;
exports._start();
