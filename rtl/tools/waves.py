# SPDX-License-Identifier: Apache-2.0
"""Draws an encryption and a decryption, as the integrators' bench simulates them, for the page:
docs/images/client_engine_job.svg.

    build/rtl-venv/bin/python rtl/tools/waves.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from integration import COMMAND, SCRIPT

from tools import BUILD, ROOT, RTL, ToolError, run

PICTURE = ROOT / "docs/images/client_engine_job.svg"
DIRECTORY = BUILD / "integration"
CYCLE = 10_000
"""Picoseconds, the VCD's unit, in a cycle of the bench's clock."""
BENCH, TOP = "client_bench", "client_bench.dut"
STREAMS = {
    "entropy": "s_axis_entropy",
    "value": "s_axis_value",
    "frame": "m_axis_frame",
    "read": "s_axis_read",
    "result": "m_axis_result",
}
LEFT, WIDTH, ROW, HIGH, TOP_MARGIN = 130, 720, 34, 18, 40


def simulate(*options: str) -> str:
    """Run the bench and return its output. Raises ToolError if it finds a wrong word."""
    program = DIRECTORY / "client_bench"
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    sources = [RTL / "integration/client_bench.sv", *sorted((RTL / "engine").glob("*.sv"))]
    sources += sorted((RTL / "client").glob("*.sv"))
    includes = [f"-I{RTL / room}" for room in ("integration", "engine", "client")]
    run(
        ["iverilog", "-g2012", *includes, "-s", BENCH, "-o", program, *sources],
        program.with_suffix(".build.log"),
    )
    return run(["vvp", "-n", program, f"+script={SCRIPT}", *options], program.with_suffix(".log"))


@dataclass
class Wave:
    """A signal of one clock's cycles: its changes, in order."""

    changes: list[tuple[int, int]]

    def high(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The spans of cycles in which it is not 0."""
        begins, value = first, 0
        for cycle, now in [*self.changes, (last, 0)]:
            cycle = min(max(cycle, first), last)
            if bool(now) != bool(value):
                if value and cycle > begins:
                    yield begins, cycle
                begins, value = cycle, now


def waves_of(path: Path, names: dict[str, str]) -> dict[str, Wave]:
    """Read signals of a VCD file. names: by the names that they are to have, scope and all."""
    wanted = {full: name for name, full in names.items()}
    scope: list[str] = []
    codes: dict[str, list[str]] = {}
    waves = {name: Wave([]) for name in names}
    time = 0
    for line in path.read_text(encoding="ascii").splitlines():
        words = line.split()
        if line.startswith("$scope"):
            scope.append(words[2])
        elif line.startswith("$upscope"):
            scope.pop()
        elif line.startswith("$var") and (name := wanted.get(".".join([*scope, words[4]]))):
            codes.setdefault(words[3], []).append(name)
        elif line.startswith("#"):
            time = int(line[1:])
        elif found := re.fullmatch(r"([01xz])(\S+)|b(\S+) (\S+)", line):
            bits, code = (found[1], found[2]) if found[1] else (found[3], found[4])
            value = int(bits, 2) if set(bits) <= {"0", "1"} else 0
            for name in codes.get(code, ()):
                waves[name].changes.append((time // CYCLE, value))
    return waves


def both(first: Wave, second: Wave) -> Wave:
    """Combine two signals: high where neither is 0."""
    changes, values = [], [0, 0]
    events = [(cycle, 0, value) for cycle, value in first.changes]
    events += [(cycle, 1, value) for cycle, value in second.changes]
    for cycle, which, value in sorted(events, key=lambda event: event[0]):
        values[which] = value
        changes.append((cycle, int(all(values))))
    return Wave(changes)


def commands(waves: dict[str, Wave]) -> list[int]:
    """The cycles in which commands are written."""
    offsets = dict(waves["address"].changes)
    taken = [cycle for cycle, value in both(waves["write"], waves["write_ready"]).changes if value]
    at = lambda cycle: [value for when, value in offsets.items() if when <= cycle][-1]  # noqa: E731
    return [cycle for cycle in taken if at(cycle) == COMMAND]


def drawn(waves: dict[str, Wave]) -> str:
    """The picture: from the last command but one, which encrypts, to the end of the last, which decrypts."""
    begin, decrypt = commands(waves)[-2:]
    transfers = {name: both(waves[f"{name} valid"], waves[f"{name} ready"]) for name in STREAMS}
    end = max(cycle for cycle, _ in transfers["result"].changes) + 1
    first, last = begin - (end - begin) // 40, end + (end - begin) // 40
    x = lambda cycle: round(LEFT + WIDTH * (cycle - first) / (last - first), 1)  # noqa: E731
    rows = {"STATUS.IDLE": waves["idle"], **transfers}
    height = TOP_MARGIN + ROW * (len(rows) + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {height}" '
        f'font-family="sans-serif" font-size="13">',
        "<title>An encryption and a decryption on the client engine</title>",
        f'<rect width="{LEFT + WIDTH + 20}" height="{height}" fill="white"/>',
    ]
    for cycle, text in ((begin, "SYMMETRIC"), (decrypt, "DECRYPT")):
        lines.append(f'<path d="M{x(cycle)} {TOP_MARGIN - 10}V{height - ROW}" stroke="#999" fill="none"/>')
        lines.append(f'<text x="{x(cycle)}" y="{TOP_MARGIN - 16}">{text}, cycle {cycle - begin:,}</text>')
    for number, (name, wave) in enumerate(rows.items()):
        base = TOP_MARGIN + ROW * number + HIGH + 4
        lines.append(f'<text x="{LEFT - 10}" y="{base}" text-anchor="end">{name}</text>')
        lines.append(f'<path d="M{LEFT} {base}H{LEFT + WIDTH}" stroke="#bbb" fill="none"/>')
        merged: list[list[float]] = []
        for begins, ends in wave.high(first, last):
            left, right = x(begins), x(ends)
            if merged and left - merged[-1][1] < 0.5:
                merged[-1][1] = right
            else:
                merged.append([left, right])
        fill = "#4a7ab5" if name in STREAMS else "#8aa88a"
        lines += [
            f'<rect x="{left}" y="{base - HIGH}" width="{max(0.8, round(right - left, 1))}" '
            f'height="{HIGH}" fill="{fill}"/>'
            for left, right in merged
        ]
    axis = height - ROW + 12
    lines.append(f'<text x="{x(end)}" y="{axis}" text-anchor="end">cycle {end - begin:,}</text>')
    return "\n".join([*lines, "</svg>", ""])


def picture() -> str:
    """Simulate and draw. Raises ToolError if the bench finds a wrong word."""
    path = DIRECTORY / "client_bench.vcd"
    said = simulate(f"+waves={path}")
    if "PASSED" not in said:
        raise ToolError(f"The bench fails: {said}")
    names = {"idle": f"{TOP}.idle", "address": f"{BENCH}.awaddr"}
    names |= {"write": f"{BENCH}.awvalid", "write_ready": f"{BENCH}.awready"}
    for name, port in STREAMS.items():
        names |= {f"{name} valid": f"{TOP}.{port}_tvalid", f"{name} ready": f"{TOP}.{port}_tready"}
    return drawn(waves_of(path, names))


def main() -> int:
    try:
        PICTURE.write_text(picture(), encoding="utf-8")
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
