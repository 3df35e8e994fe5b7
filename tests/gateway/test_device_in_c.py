# SPDX-License-Identifier: Apache-2.0
"""The C of docs/gateway.md, added to README.md's sensor: built, delivered, and receipted."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from ciphermote import Owner
from ciphermote.fleet import enroll
from gateway_support import Server, refused, run_job
from owner_support import attached

ROOT = Path(__file__).resolve().parents[2]
SECTION = (ROOT / "docs/gateway.md").read_text().partition("### A device in C\n")[2].partition("\n### ")[0]
SOURCES = {
    name: text
    for text, name in re.findall(
        r"^```c\n(/\* (\w+\.c) \*/\n.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE
    )
}
FLAGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")

DEVICE = r"""
#define main send_untagged
#include "main.c"
#undef main

/* Each line of standard input: n sends new readings, a the last ones again; r checks receipt.bin. */
int main(void)
{
    const float readings[] = {21.4f, -27.0f};
    const cm_platform platform = {draw_random, read_counter, write_counter, "counter"};
    FILE *radio = NULL;
    cm_status status = CM_OK;
    for (int asked = getchar(); asked != EOF; asked = getchar()) {
        uint8_t bytes[CM_RECEIPT_BYTES + 1];
        cm_verdict verdict = CM_VERDICT_NONE;
        FILE *file = NULL;
        switch (asked) {
        case 'n':
        case 'a':
            if (!radio) {
                radio = fopen("window.bin", "wb");
                status = sensor_start(&platform, (cm_sink){transmit, radio});
                sensor_tag();
            }
            rewind(radio);
            if (status == CM_OK) {
                status = sensor_send_window(readings, 2, asked == 'n');
            }
            (void)fflush(radio);
            break;
        case 'r':
            file = fopen("receipt.bin", "rb");
            status = sensor_take_receipt(bytes, fread(bytes, 1, sizeof bytes, file), &verdict);
            (void)fclose(file);
            break;
        default:
            continue;
        }
        printf("%s %d\n", cm_status_text(status), (int)verdict);
        (void)fflush(stdout);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def folder(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the README's sources and device 7's header, enrolled in fleet "sensors"."""
    found = tmp_path_factory.mktemp("device")
    keys = found / "keys"
    Owner.generate("n4096_q26x3_p27", relin=False).save(keys)
    attachment = attached(server, keys, "sensors")
    enroll(attachment, 7, found / "provisioned_keys.h", found / "device7.json")
    for name, text in SOURCES.items():
        (found / name).write_text(text)
    return found


def build(folder: Path, source: str) -> Path:
    program = folder / source.removesuffix(".c")
    library = [str(path) for path in sorted(ROOT.glob("core/src/*/*.c"))]
    include = (f"-I{ROOT}/core/include", f"-I{ROOT}/core/src")
    for command in (
        ("cc", *FLAGS, "-c", source, *include, "-o", "/dev/null"),
        ("cc", source, *library, *include, "-o", str(program)),
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    return program


def test_a_sensor_without_a_sender_is_told_what_it_lacks(server: Server, folder: Path) -> None:
    sent = subprocess.run(
        build(folder, "main.c"), cwd=folder, capture_output=True, timeout=60, check=True
    ).stdout
    token = json.loads((folder / "device7.json").read_text())["token"]
    response = server.client(token).post("/v1/fleets/sensors/deliveries", content=sent)
    refused(response, 400, "untagged")
    said = response.json()["detail"]
    assert "`ciphermote owner enroll`" in said and "cm_frame_writer_tag" in said


def test_the_pages_lines_send_windows_and_check_receipts(server: Server, folder: Path) -> None:
    (lines,) = re.findall(r"^```c\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
    (folder / "sensor.c").write_text(SOURCES["sensor.c"] + lines)
    (folder / "device.c").write_text(DEVICE)
    client = server.client(json.loads((folder / "device7.json").read_text())["token"])
    with subprocess.Popen(
        build(folder, "device.c"), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None

        def ask(what: str) -> tuple[str, int]:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(f"{what}\n")
            process.stdin.flush()
            status, _, verdict = process.stdout.readline().rpartition(" ")
            return status, int(verdict)

        def deliver(what: str) -> tuple[str, int]:
            fine, _ = ask(what)
            response = client.post(
                "/v1/fleets/sensors/deliveries", content=(folder / "window.bin").read_bytes()
            )
            assert response.status_code == 200, response.text
            (folder / "receipt.bin").write_bytes(response.content)
            status, verdict = ask("r")
            return ("fine" if status == fine else status), verdict

        assert deliver("n") == ("fine", 1)
        assert deliver("a") == ("fine", 2), "another attempt of the same window counts"
        before = (folder / "receipt.bin").read_bytes()
        assert deliver("n") == ("fine", 1)
        (folder / "receipt.bin").write_bytes(before)
        assert ask("r")[1] == 0, "of another attempt"
        process.stdin.close()
        assert process.wait(60) == 0
    job, _ = run_job(server.owner(), "sensors", {"per_device": 9})
    assert job["result"]["windows"] == 2
