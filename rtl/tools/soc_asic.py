# SPDX-License-Identifier: Apache-2.0
"""Energy a cycle of the chip's core, while it encrypts in software, on the open library IHP SG13G2.

    CIPHERMOTE_PDK=<folder> python3 rtl/tools/soc_asic.py

prints Report as JSON. The core, a PicoRV32, is mapped as the client engine is (client_asic.py). The firmware
runs on the chip of rtl/soc under Verilator, and the mapped netlist takes the same inputs, with its cells'
delays, from the reset to the end of an encryption at n = 1024; in each cycle it must ask memory for the same.
The memory is modelled: an access is a read of an SRAM macro, without wires or what selects the macro.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import asic
import gates
import liberty
import netlist
import power
import soc

from tools import BUILD, ToolError, picorv32

TOP = "picorv32"
SHAPE = {
    "BARREL_SHIFTER": 1,
    "COMPRESSED_ISA": 1,
    "ENABLE_FAST_MUL": 1,
    "ENABLE_DIV": 1,
    "ENABLE_IRQ": 1,
    "LATCHED_IRQ": 0,
}
"""cm_soc's, but for registers that are zero at the start: no flip-flop of a chip is."""
INTERRUPT = 3
UART = 0x10000000
MEMORY = "RM_IHPSG13_2P_1024x32"
"""The library's macro whose words of 32 bits take the least."""
WHAT = {"set": "n1024_q26", "t": 12289, "ciphertexts": 1, "seed": 1}


@dataclass(frozen=True)
class Report:
    """core_pj: a cycle, by part. accesses: of memory, a cycle; access_pj: of a macro."""

    kge: float
    slack_ns: float | None
    clock_ns: float
    wire_load: str
    cycles: int
    core_pj: dict[str, float]
    accesses: float
    access_pj: float


@dataclass(frozen=True)
class Cycle:
    """The core's ports; ready, read: what enters it; valid and what follows: what it asks of memory."""

    resetn: int
    ready: int
    read: int
    interrupt: int
    valid: int
    address: int
    write: int
    strobe: int

    @property
    def inputs(self) -> dict[str, int]:
        return {
            "resetn": self.resetn,
            "mem_ready": self.ready,
            "mem_rdata": self.read,
            "irq": self.interrupt << INTERRUPT,
        }

    @property
    def access(self) -> tuple[int, ...]:
        """Return the core's access to memory, with don't-cares removed."""
        return (self.address, self.strobe, self.write if self.strobe else 0) if self.valid else ()


def recorded(path: Path) -> Iterator[Cycle]:
    with path.open(encoding="ascii") as lines:
        for line in lines:
            yield Cycle(*(int(number, 16) for number in line.split()))


def encryption(record: Path) -> tuple[int, int]:
    """The cycles from which and up to which the firmware encrypts: the UART says how many, right after."""
    field = soc.field("energy", **WHAT)
    outcome = soc.run_program(field, soc.firmware(field, engine=False), soc.SOFTWARE, record)
    if outcome.code or soc.decrypted(field, soc.SOFTWARE) != field.ciphertexts:
        raise ToolError(f"{field.name}: the owner does not decrypt what the firmware sent.")
    end = next(at for at, cycle in enumerate(recorded(record)) if cycle.valid and cycle.address == UART)
    return end - outcome.encryptions[0], end


def simulate(found: asic.Mapped, record: Path, window: tuple[int, int]) -> power.Activity:
    """The activity of the window. Raises ToolError if the netlist asks memory for something else."""
    inputs = (cycle.inputs for cycle in islice(recorded(record), window[1]))
    outputs, (activity,) = gates.simulate(
        found.cells, found.directory, inputs, [window], found.clock_ns, clock="clk"
    )
    for at, (cycle, now) in enumerate(zip(recorded(record), outputs, strict=False)):
        ports = ("mem_valid", "mem_addr", "mem_wdata", "mem_wstrb")
        asked = Cycle(0, 0, 0, 0, *(now[port] for port in ports)).access
        if cycle.resetn and asked != cycle.access:
            raise ToolError(f"{found.directory.name}: in cycle {at} the netlist asks for something else.")
    return activity


def access_pj(target: asic.Target) -> float:
    """pJ of a cycle in which a memory's macro is read, without what it drives."""
    cell = next(cell for name, cell in target.every_cell.items() if name.startswith(MEMORY))
    on = {"A_MEN": True, "A_REN": True}
    slew = netlist.SLEW_NS

    def holds(group: liberty.Power) -> bool:
        return group.when is None or group.when.value({pin: on.get(pin, False) for pin in group.when.pins})

    (group,) = (group for group in cell.pins["A_CLK"].power if holds(group))
    return group.rise.at(slew, 0.0) + group.fall.at(slew, 0.0)


def report() -> Report:
    record = BUILD / "soc" / "energy.record"
    record.parent.mkdir(parents=True, exist_ok=True)
    window = encryption(record)
    found = asic.synthesise(TOP, [picorv32()], SHAPE, includes=(), recipe=asic.FOR_PRODUCTS)
    slack = asic.slack(found, "clk")
    if slack is None or slack < 0:
        raise ToolError(f"{TOP}: slower than {found.clock_ns} ns; its energy would be of another clock.")
    activity = simulate(found, record, window)
    cycles = window[1] - window[0]
    total = power.Energy()
    for part in power.energy(asic.calculator(found, activity)).values():
        total.add(part)
    asked = sum(cycle.valid and cycle.ready for cycle in islice(recorded(record), *window))
    record.unlink()
    nand = found.target.library.cells[found.target.nand].area
    return Report(
        kge=round(sum(i.cell.area for i in found.cells.instances) / nand / 1000, 3),
        slack_ns=slack,
        clock_ns=found.clock_ns,
        wire_load=found.target.wire_load,
        cycles=cycles,
        core_pj={part: round(value / cycles, 3) for part, value in asdict(total).items()},
        accesses=round(asked / cycles, 4),
        access_pj=round(access_pj(found.target), 3),
    )


def main() -> int:
    try:
        print(json.dumps(asdict(report())))
    except (ToolError, liberty.LibertyError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
