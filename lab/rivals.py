# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Settings of the configurations without fgio, the best that their documentation has."""

import tomllib

from lab import drives, paths
from lab.configurations import DOCUMENTED, LOSSY, OWN_RATES, Configuration

# MB/s that each disk model reads and writes in large I/Os, one after the other.
MB_PER_S = {"volume": 125, "ssd": 530, "hdd": 145}
# Coefficients of blk-iocost's linear model, as the kernel's tools/cgroup/iocost_coef_gen.py
# measures them: bytes a second in I/Os of 1 MiB, and 4 KiB I/Os a second, one after the other and
# at random. The disk models of core/ were asked, 4 GiB large and with 32 I/Os at a time; other
# drives are asked when they are needed.
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
# bfq's weights end at 1,000 (Documentation/block/bfq-iosched.rst).
BFQ_WEIGHTS = (1000, 1)
# us that a 4 KiB read and write take alone, by the disk models of core/ (docs/results: depth,
# drive-priority); a hard disk's write, when its cache is full. Twice that is kyber's target: it
# throttles above it. Its own are 2 and 10 ms for every disk.
ALONE_US = {"volume": (610, 610), "ssd": (90, 35), "hdd": (12_000, 12_000)}
KYBER_FACTOR = 2
NS_PER_US = 1000
# Of RocksDB's limiter, whose own is 100 ms: it is tuned every 100 of them, so ten times in a run of
# ten seconds instead of once.
REFILL_US = 10_000


def _mb_per_s(device: str) -> int:
    return MB_PER_S[device] if device in MB_PER_S else drives.mb_per_s(device)


def _io_cost_model(device: str) -> str:
    return IO_COST_MODELS[device] if device in IO_COST_MODELS else drives.rates(device)


def _of_nearest(table: dict, device: str):
    nearest = drives.nearest(device)
    return table["ssd" if nearest == "nvme" else nearest]


def settings(configuration: Configuration, device: str) -> dict[str, object]:
    """Settings of a configuration on a disk model, for guest/rivals.sh."""
    values: dict[str, object] = {"SUBMITTERS": int(configuration.submitters)}
    if configuration.io_cost:
        values |= io_cost(device)
    if configuration.bfq_weights:
        foreground, background = BFQ_WEIGHTS
        values |= {"WEIGHT_FILE": "io.bfq.weight"}
        values |= {"FOREGROUND_WEIGHT": foreground, "BACKGROUND_WEIGHT": background}
    if configuration.kyber_targets:
        values["TUNABLES"] = kyber(device)
    return values


def io_cost(device: str) -> dict[str, object]:
    """Settings of blk-iocost for a disk model, as use_weights (guest/rivals.sh) takes them."""
    return {
        "WEIGHT_FILE": "io.weight",
        "IO_COST_MODEL": _io_cost_model(device),
        "IO_COST_QOS": _of_nearest(IO_COST_QUALITIES, device),
        "FOREGROUND_WEIGHT": FOREGROUND_WEIGHT,
        "BACKGROUND_WEIGHT": BACKGROUND_WEIGHT,
    }


def kyber(device: str) -> str:
    """Kyber's targets for a drive, by the model it resembles, as set_tunables takes them."""
    read_us, write_us = _of_nearest(ALONE_US, device)
    targets = {"read_lat_nsec": read_us, "write_lat_nsec": write_us}
    return " ".join(f"{name}={KYBER_FACTOR * us * NS_PER_US}" for name, us in targets.items())


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


# Name of a database's own throttle (configurations) -> settings for its script.
Throttles = dict[str, dict[str, object]]


def postgresql(device: str) -> Throttles:
    """PostgreSQL's own: checkpoints are spread, the backup is slow, the background writer busy.

    The backup reads as much as it writes: a third of the disk's speed is two thirds of its work.
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
    settings = {
        "SERVER_OPTIONS": server_options(options),
        "BACKUP_OPTIONS": f"--checkpoint=spread --max-rate={max(1, _mb_per_s(device) // 3)}M",
    }
    return {DOCUMENTED: settings}


def server_options(options: dict[str, str]) -> str:
    """PostgreSQL's parameters as start_server (guest/postgres-server.sh) takes them."""
    return " ".join(f"-c {name}={value}" for name, value in options.items())


def _bytes_s(device: str, percent: int) -> int:
    """Bytes a second, a share of the rate of a disk model."""
    return _mb_per_s(device) * 1_000_000 * percent // 100


def _rates(device: str) -> dict[str, int]:
    """The limits at a rate: name -> bytes a second."""
    return {f"{percent}%": _bytes_s(device, percent) for percent in OWN_RATES}


# RocksDB's tuning guide: data are written as they come, instead of all at once at the end.
SYNC_BYTES = 1 << 20


def rocksdb(device: str) -> Throttles:
    """RocksDB's, for db_bench: a limit on the writes of compaction and flushes.

    As documented (rocksdb.org/blog/2017/12/18/17-auto-tuned-rate-limiter.html): tuned by itself,
    below the disk's rate at most. And fixed, at several rates.
    """
    tuned = _limit(_bytes_s(device, 100), is_tuned=True)
    fixed = {name: _limit(rate, is_tuned=False) for name, rate in _rates(device).items()}
    return {
        how: {"THROTTLE": " ".join(f"--{name}={value}" for name, value in options.items())}
        for how, options in ({DOCUMENTED: tuned} | fixed).items()
    }


def _limit(bytes_s: int, is_tuned: bool) -> dict[str, object]:
    return {
        "rate_limiter_bytes_per_sec": bytes_s,
        "rate_limiter_auto_tuned": str(is_tuned).lower(),
        "rate_limiter_refill_period_us": REFILL_US,
        "bytes_per_sync": SYNC_BYTES,
        "wal_bytes_per_sync": SYNC_BYTES,
    }


def rocksdb_clients(device: str) -> Throttles:
    """The same for clients of our own (guest/lsm-clients.c)."""
    engine = f"bytes_per_sync={SYNC_BYTES};wal_bytes_per_sync={SYNC_BYTES}"
    limits = {DOCUMENTED: (_bytes_s(device, 100), 1)}
    limits |= {name: (rate, 0) for name, rate in _rates(device).items()}
    return {
        how: {
            "ENGINE": engine,
            "LIMIT_BYTES_S": bytes_s,
            "LIMIT_TUNED": is_tuned,
            "LIMIT_REFILL_US": REFILL_US,
        }
        for how, (bytes_s, is_tuned) in limits.items()
    }


def wiredtiger(device: str) -> Throttles:
    """WiredTiger's: a budget that checkpoints, eviction, the log and reads get shares of.

    As documented, and with its eviction triggers as they come, which leave little to a checkpoint.
    """

    def capacity(bytes_s: int) -> dict[str, object]:
        return {"CONNECTION": f"io_capacity=(total={max(1, bytes_s // 1_000_000)}M)"}

    documented = capacity(_bytes_s(device, 80)) | {"EVICTION": ""}
    return {DOCUMENTED: documented} | {
        name: capacity(rate) for name, rate in _rates(device).items()
    }


def redis() -> Throttles:
    """Redis has one throttle, and it is not free: its log is not synced while a child writes.

    redis.conf: in case of a crash "it is possible to lose up to 30 seconds of log in the worst
    scenario (with the default Linux settings)", also with `appendfsync always`.
    """
    return {LOSSY: {"NO_SYNC_ON_REWRITE": "yes"}}
