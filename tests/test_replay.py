# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Loads that a guest recorded: what is read from its logs, and what the simulator makes of it."""

import json
import random
import subprocess
import time

import pytest

from lab import host, paths, recorded, replay
from lab import report as lab_report

EPOCH = 1_704_067_200
CLIENTS = 3
SHARDS = 2
SECTORS = 16
LARGEST_KIB = 128
# Of a process: reads or writes, its bios, and the requests that become of them.
BACKGROUND = {7: ("W", (600,), (256, 256, 88)), 8: ("R", (16, 16), (32,))}


def run(*arguments, cwd=None):
    """Runs `lab/run replay` to its end."""
    command = [str(part) for part in (paths.LAB / "run", "replay", *arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


class Boot:
    """A folder as a boot of lab/run sharded leaves it, with requests that are drawn at random."""

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self.events, self.log, self.requests = [], [], []
        self.background = {process: [] for process in BACKGROUND}
        self.clients = {client: [] for client in range(CLIENTS)}
        self.free_us = dict.fromkeys(range(CLIENTS), 0)
        self.sectors = iter(range(0, 1 << 30, 1024))

    def _trace(self, at_us, process, event):
        self.events.append((at_us, process, event))

    def part(self, taken_us, client, shard):
        """The part's times and reads in us as a load has them, and when it ended."""
        process = 100 + 10 * shard + client
        at = taken_us + (before := self.rng.randrange(1, 500))
        reads, between = self.rng.randrange(4), 0
        for each in range(reads):
            if each:
                at += (pause := self.rng.randrange(1, 300))
                between += pause
            sector = next(self.sectors)
            self._trace(at, process, f"block_bio_queue: 253,{shard} RA {sector} + 16 [postgres]")
            at += self.rng.randrange(100, 9000)
            self._trace(at, 0, f"block_rq_complete: 253,{shard} RA () {sector} + 16 none,0,0 [0]")
        after = self.rng.randrange(1, 500) if reads else 0
        return (before, reads, between, after), process, at + after

    def request(self, due_us):
        """A request, by any client: one that is due later may be taken earlier."""
        client = self.rng.randrange(CLIENTS)
        taken = max(due_us, self.free_us[client])
        parts = [self.part(taken, client, shard) for shard in range(SHARDS)]
        last = max(end for _, _, end in parts)
        tail = self.rng.randrange(1, 90)
        ended = self.free_us[client] = last + tail
        texts = [
            f"{shard}:{process}:{EPOCH + end / 1e6:.6f}"
            for shard, (_, process, end) in enumerate(parts)
        ]
        gap = last - min(end for _, _, end in parts)
        self.log.append(
            f"2024-01-01 UTC [9] LOG:  request {client} {EPOCH + last / 1e6:.6f} "
            f"{gap / 1e6:.6f} {' '.join(texts)}"
        )
        rows = self.clients[client]
        rows.append(
            f"{client} {len(rows)} {ended - due_us} 0 {EPOCH + ended // 1_000_000} "
            f"{ended % 1_000_000} {taken - due_us}"
        )
        line = [due_us, tail] + [number for part, _, _ in parts for number in part]
        self.requests.append(line)

    def add_background(self, at_us):
        """A read of another process, of two bios, or a write that the kernel splits."""
        process = self.rng.choice(sorted(self.background))
        ends = [end for _, end, *_ in self.background[process]]
        # Rounding is not to decide which came first.
        if any(abs(at_us - end) < 5 for end in ends):
            return
        end_us = at_us + self.rng.randrange(50, 60_000)
        shard, first = self.rng.randrange(SHARDS), next(self.sectors)
        way, bios, pieces = BACKGROUND[process]
        sector = first
        for size in bios:
            self._trace(at_us, process, f"block_bio_queue: 253,{shard} {way} {sector} + {size} [x]")
            sector += size
        sector = first
        for size in pieces:
            event = f"block_rq_complete: 253,{shard} {way} () {sector} + {size} be,0,4 [0]"
            self._trace(end_us, 0, event)
            self.background[process].append((at_us, end_us, shard, sector, size))
            sector += size

    def lines(self):
        """The background as a load has it."""
        some = [(process, ios) for process, ios in sorted(self.background.items()) if ios]
        found = []
        for number, (process, ios) in enumerate(some):
            way = {"R": "read", "W": "write"}[BACKGROUND[process][0]]
            last = done = 0
            for at, end, shard, sector, size in ios:
                # From before the first request.
                if at < 0:
                    continue
                after = at >= done
                relation = (
                    f"after {number} {at - done}" if after else f"beside {number} {at - last}"
                )
                found.append(f"{way} {relation} {shard} {sector} {size}")
                last, done = at, max(done, end)
        return found

    def write(self):
        """The files of the folder."""
        self.folder.mkdir(parents=True)
        lines = []
        # What others do to a disk of their own is none of it, and a flush is no I/O of a size.
        self._trace(5, 1, "block_bio_queue: 259,0 R 0 + 8 [sh]")
        self._trace(6, 1, "block_bio_queue: 253,0 FWS 0 + 0 [sh]")
        for at, process, event in sorted(self.events):
            name = f"postgres-{process}" if process else "<idle>-0"
            lines.append(f"  {name:>16} [000] d.h1. {EPOCH + at / 1e6:.6f}: {event}")
        (self.folder / "io").write_text("\n".join(lines) + "\n")
        (self.folder / "drives").write_text(
            "".join(f"253:{each} {LARGEST_KIB}\n" for each in range(SHARDS))
        )
        (self.folder / "server").mkdir()
        (self.folder / "server" / "log").write_text("\n".join(self.log) + "\n")
        rows = [row for some in self.clients.values() for row in some]
        (self.folder / "pgbench.7").write_text("\n".join(rows) + "\n")
        span = f"measure_begin {EPOCH + 0.05}\nmeasure_end {EPOCH + 0.8}\n"
        (self.folder / "moments").write_text(span)


def draw(folder, count=60):
    """A boot with requests at random, of a fresh seed."""
    seed = time.time_ns()
    print(f"SEED={seed}")
    boot = Boot(folder, random.Random(seed))
    due = 0
    boot.add_background(-100_000)
    for _ in range(count):
        boot.request(due)
        boot.add_background(due + 5)
        # So far from the end of the one before that rounding does not decide.
        due += boot.rng.choice((20, boot.rng.randrange(100, 30_000)))
    boot.write()
    return boot


def load_of(folder):
    """A folder's load: the numbers of each request, and the background's lines."""
    lines = recorded.text(recorded.load(folder)).splitlines()
    requests = [list(map(int, line.split())) for line in lines if line[0].isdigit()]
    return requests, [line for line in lines if line[0] in "rw"]


def _near(found, expected):
    """Whether lines are the same but for gaps, by the 3 us that doubles of the epoch are off."""
    pairs = [(one.split(), other.split()) for one, other in zip(found, expected, strict=True)]
    return all(
        one[:3] + one[4:] == other[:3] + other[4:] and abs(int(one[3]) - int(other[3])) <= 3
        for one, other in pairs
    )


def test_a_load_is_what_the_guest_did_without_its_drives(tmp_path):
    boot = draw(tmp_path / "boot")
    found, background = load_of(boot.folder)
    assert _near(background, boot.lines())
    assert len(found) == len(boot.requests)
    for one, other in zip(found, boot.requests, strict=True):
        # Clocks are read in us and kept in doubles of the epoch.
        assert all(abs(a - b) <= 3 for a, b in zip(one, other, strict=True)), (one, other)
        assert one[3::4] == other[3::4]


def test_recordings_that_do_not_fit_are_refused(tmp_path):
    boot = draw(tmp_path / "boot")
    log = boot.folder / "server" / "log"
    whole = log.read_text()
    log.write_text(whole.replace("LOG:  request", "LOG:  another", 1))
    with pytest.raises(host.LabError, match="do not have the same requests"):
        recorded.load(boot.folder)
    log.write_text(whole)
    reads = boot.folder / "io"
    kept = [line for line in reads.read_text().splitlines() if "rq_complete" not in line]
    reads.write_text("\n".join(kept))
    with pytest.raises(host.LabError, match="before its reads"):
        recorded.load(boot.folder)


def test_a_folder_without_recordings_is_refused(tmp_path):
    row = {"config": "none", "seed": 1, "cell": "uniform", "device": "volume"}
    told = []
    for content in ({}, {"rows": [{}]}, {"experiment": "sharded", "rows": [row]}):
        (tmp_path / "summary.json").write_text(json.dumps(content))
        with pytest.raises(host.LabError, match="no recorded load"):
            list(replay.recordings(tmp_path, told.append))
    assert told == ["replay: none-1-uniform has no recorded load: left out"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--out", "x"], "--of"),
        (["--of", "y"], "--out"),
        (["--of", "y", "--out", "x", "--configs", "bfq"], "fgio-unordered"),
        (["--of", "y", "--out", "x", "--only", "z"], "--only"),
    ],
)
def test_wrong_usage_is_explained(arguments, says, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_replay_has_the_guest_and_every_policy(tmp_path):
    folder = tmp_path / "sharded"
    draw(folder / "raw" / "fgio-1-uniform-quiet")
    row = {"config": "fgio", "seed": 1, "cell": "uniform-quiet", "device": "volume"}
    (folder / "summary.json").write_text(json.dumps({"experiment": "sharded", "rows": [row]}))
    out = tmp_path / "out"
    chosen = ("--configs", "none,fgio-fifo-lm,oracle", "--seeds", "2")
    done = run("--of", folder, *chosen, "--out", out)
    assert done.returncode == 0, done.stderr
    rows = json.loads((out / "summary.json").read_text())["rows"]
    guest, *simulated = rows
    assert guest["vehicle"] == "plproxy" and guest["n"] > 10
    assert [(one["config"], one["drive_seed"]) for one in simulated] == [
        (config, seed) for config in ("none", "fgio-fifo-lm", "oracle") for seed in (1, 2)
    ]
    assert {one["n"] for one in simulated} == {guest["n"]}
    report = (out / "report.md").read_text()
    assert "| uniform-quiet | fgio | 1 |" in report and "| oracle |" in report
    assert lab_report.again(out, tmp_path / "again")[0].read_text() == report
