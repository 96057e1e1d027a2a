# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the configurations without fgio are set to, at the best that their documentation says."""

import tomllib

from lab import drives, paths

# MB/s that each disk model reads and writes in large I/Os, one after the other.
MB_PER_S = {"volume": 125, "ssd": 530, "hdd": 145}
# Coefficients of blk-iocost's linear model, of what the kernel's tools/cgroup/iocost_coef_gen.py
# measures: bytes a second in I/Os of 1 MiB, and 4 KiB I/Os a second, one after the other and at
# random. The disk models of core/ were asked, 4 GiB large and with 32 I/Os at a time; other drives
# are asked when they are needed.
IO_COST_MODELS = {
    "volume": "rbps=125000000 rseqiops=3000 rrandiops=3000 "
    "wbps=125000000 wseqiops=3000 wrandiops=3000",
    "ssd": "rbps=530000000 rseqiops=117455 rrandiops=106131 "
    "wbps=530000000 wseqiops=129390 wrandiops=56189",
    "hdd": "rbps=144928608 rseqiops=48364 rrandiops=161 "
    "wbps=146659496 wseqiops=60387 wrandiops=223",
}
# Latencies (us) above which the kernel lets less I/O into the disk than the model says, down to
# half: a large I/O alone takes the volume 8 ms and the SSD 2 ms; the disk's are those of the
# kernel's documentation.
IO_COST_QUALITIES = {
    "volume": "rpct=95.00 rlat=5000 wpct=95.00 wlat=20000 min=50.00 max=100.00",
    "ssd": "rpct=95.00 rlat=5000 wpct=95.00 wlat=10000 min=50.00 max=100.00",
    "hdd": "rpct=95.00 rlat=75000 wpct=95.00 wlat=150000 min=50.00 max=100.00",
}
FOREGROUND_WEIGHT = 10_000
BACKGROUND_WEIGHT = 10


def _mb_per_s(device: str) -> int:
    return MB_PER_S[device] if device in MB_PER_S else drives.mb_per_s(device)


def _io_cost_model(device: str) -> str:
    return IO_COST_MODELS[device] if device in IO_COST_MODELS else drives.rates(device)


def _io_cost_quality(device: str) -> str:
    nearest = drives.nearest(device)
    return IO_COST_QUALITIES["ssd" if nearest == "nvme" else nearest]


def io_cost(device: str) -> dict[str, object]:
    """Settings of blk-iocost for a disk model, as use_io_cost (guest/rivals.sh) takes them."""
    return {
        "IO_COST_MODEL": _io_cost_model(device),
        "IO_COST_QOS": _io_cost_quality(device),
        "FOREGROUND_WEIGHT": FOREGROUND_WEIGHT,
        "BACKGROUND_WEIGHT": BACKGROUND_WEIGHT,
    }


def titles(profile: str) -> str:
    """A profile's rules for processes by their titles, for sort_processes: class, tab, pattern."""
    rules = tomllib.loads((paths.ROOT / "profiles" / f"{profile}.toml").read_text())["rule"]
    lines = []
    for rule in rules:
        patterns = rule.get("title", [])
        group = "foreground" if rule["class"] == "foreground" else "background"
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            lines.append(f"{group}\t{pattern}\n")
    return "".join(lines)


def postgresql(device: str) -> dict[str, object]:
    """PostgreSQL's own: checkpoints are spread, the backup is slow, the background writer busy.

    The backup reads what it writes, so a third of the disk's speed makes two thirds of its work.
    """
    options = {
        "checkpoint_completion_target": "0.9",
        "checkpoint_timeout": "30s",
        "checkpoint_flush_after": "256kB",
        "bgwriter_delay": "20ms",
        "bgwriter_lru_maxpages": "1000",
        "bgwriter_lru_multiplier": "10",
        "bgwriter_flush_after": "256kB",
    }
    return {
        "SERVER_OPTIONS": " ".join(f"-c {name}={value}" for name, value in options.items()),
        "BACKUP_OPTIONS": f"--checkpoint=spread --max-rate={max(1, _mb_per_s(device) // 3)}M",
    }


def _most_of(device: str) -> int:
    """Bytes a second, four fifths of what a disk model can do."""
    return _mb_per_s(device) * 1_000_000 * 8 // 10


def rocksdb(device: str) -> dict[str, object]:
    """RocksDB's: a limit on what compaction and flushes write, which it lowers when it can."""
    options = {
        "rate_limiter_bytes_per_sec": _most_of(device),
        "rate_limiter_auto_tuned": "true",
        "bytes_per_sync": 1 << 20,
        "wal_bytes_per_sync": 1 << 20,
    }
    return {"THROTTLE": " ".join(f"--{name}={value}" for name, value in options.items())}


def rocksdb_options(device: str) -> str:
    """The same for its C interface, which has no limit that is tuned.

    One that is begins with half of what it is told, and stays there for 10 s.
    """
    limit = _most_of(device) // 2
    sync = 1 << 20
    return f"rate_limiter_bytes_per_sec={limit};bytes_per_sync={sync};wal_bytes_per_sync={sync}"


def wiredtiger(device: str) -> dict[str, object]:
    """WiredTiger's: a budget that checkpoints, eviction, the log and reads get shares of."""
    return {"CONNECTION": f"io_capacity=(total={max(1, _most_of(device) // 1_000_000)}M)"}
