# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The experiment `databases` reads the files of guests, and makes its boots."""

import copy
import json
import re
import tomllib

import pytest

from lab import configurations, experiments, host, paths, rivals, threads
from lab.experiments.base import compile_object, submitters
from lab.experiments.database import ALL, ycsb
from lab.experiments.database.mariadb import transactions
from lab.experiments.database.readwhilewriting import ReadWhileWriting
from lab.experiments.database.readwhilewriting_paced import ReadWhileWritingPaced
from lab.experiments.database.redis_ycsb import RedisYcsb
from lab.experiments.database.sqlite import Sqlite
from lab.experiments.ycsb_redis import YcsbRedis

THREADS = """\
  100   100 redis-server    redis-server *:6379
  100   101 bio_aof_fsync   redis-server *:6379
  100   102 bio_lazy_free   redis-server *:6379
  100   103 bio_lazy_free   redis-server *:6379
  140   140 redis-server    redis-rdb-bgsave *:6379
  200   200 redis-cli       redis-cli PING
"""
DB_BENCH = """\
readrandomwriterandom :    2175.330 micros/op 3586 ops/sec 4.000 seconds 15992 operations; ( ... )
Microseconds per read:
Count: 14400 Average: 39.1546  StdDev: 1392.68
Min: 0  Median: 3.9180  Max: 75881
Percentiles: P50: 4.00 P75: 5.96 P99: 51.00 P99.9: 165.00 P99.99: 71333.33
------------------------------------------------------
[       0,       1 ]     2733  18.979%  18.979% ####
Microseconds per write:
Count: 1592 Average: 21686.7770  StdDev: 9616.36
Min: 136  Median: 22846.1538  Max: 72532
Percentiles: P50: 22846.00 P75: 29200.29 P99: 48701.03 P99.9: 65050.00 P99.99: 72532.00
rocksdb.compact.write.bytes COUNT : 3145728
rocksdb.flush.write.bytes COUNT : 0
"""
SYSBENCH = """\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       5.180 |******                                   500
      16.119 |**********                               495
    2449.355 |                                         5

SQL statistics:
    transactions:                        1000   (50.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)

General statistics:
    total time:                          20.0000s

Latency (ms):
         min:                                    5.10
         max:                                 2440.53
"""
READ_WHILE_WRITING = """\
readwhilewriting :    2175.330 micros/op 3586 ops/sec 2.000 seconds 15992 operations; ( ... )
Microseconds per read:
Count: 1000 Average: 39.1546  StdDev: 1392.68
Min: 0  Median: 3.9180  Max: 9000
Percentiles: P50: 4.00 P75: 5.96 P99: 51.00 P99.9: 165.00 P99.99: 71333.33
------------------------------------------------------
rocksdb.db.write.micros P50 : 700.5 P95 : 900.0 P99 : 1500.0 P100 : 8000.0 COUNT : 500 SUM : 1
rocksdb.compact.write.bytes COUNT : 3145728
"""
SUBMITTERS = """\
# event histogram
{ comm: kworker/u4:0   , ioprio:      16388, rwbs: W     } hitcount:        462  bytes:    1048576
{ comm: rocksdb:low    , ioprio:      24576, rwbs: RA    } hitcount:       7057  bytes:  680484864

Totals:
    Hits: 7519
"""
HEAD = "#usecs,operations,cumulative-operations,total-operations\n"


def test_threads_are_listed_by_the_class_that_the_kernel_has_for_them(tmp_path):
    tags = [
        {"tid": 100, "class": "foreground"},
        {"tid": 101, "class": "foreground"},
        {"tid": 140, "class": "background"},
        {"tid": 200, "class": "foreground"},
    ]
    (tmp_path / "status.BGSAVE").write_text(json.dumps({"tags": tags}))
    (tmp_path / "threads.BGSAVE").write_text(THREADS)
    (tmp_path / "status.json").write_text(json.dumps({"tags": []}))
    assert threads.by_class(tmp_path, "redis-server") == {
        "BGSAVE": {
            "foreground": {"redis-server *:6379": 1, "bio_aof_fsync": 1},
            "background": {"redis-rdb-bgsave *:6379": 1},
            "none": {"bio_lazy_free": 2},
        }
    }


def test_figures_of_db_bench(tmp_path):
    (tmp_path / "db_bench.txt").write_text(DB_BENCH)
    measured = ALL["rocksdb"].read(tmp_path, 0, 4)
    assert measured.foregrounds["reads"] == {
        "throughput": 3600.0,
        "p50_ms": 0.004,
        "p99_ms": 0.051,
        "p999_ms": 0.165,
        "max_ms": 75.881,
        "n": 14400,
    }
    assert measured.foregrounds["writes"]["n"] == 1592
    assert measured.background == {"compacted_mib": 3.0, "flushed_mib": 0.0}


def test_figures_of_a_writer_beside_readers(tmp_path):
    (tmp_path / "db_bench.txt").write_text(READ_WHILE_WRITING)
    measured = ReadWhileWriting().read(tmp_path, 0, 2)
    assert measured.foregrounds["reads"]["throughput"] == 500
    assert measured.foregrounds["writes"] == {
        "throughput": 250.0,
        "p50_ms": 0.7005,
        "p99_ms": 1.5,
        "max_ms": 8.0,
        "n": 500,
    }
    assert measured.background == {"compacted_mib": 3.0, "flushed_mib": None}


def test_figures_of_readers_and_a_writer_at_a_rate(tmp_path):
    (tmp_path / "requests").write_text("10500000 2000 1\n11500000 1000 0\n21000000 7 0\n")
    (tmp_path / "statistics").write_text(READ_WHILE_WRITING)
    measured = ReadWhileWritingPaced().read(tmp_path, 10, 20)
    latency_ms = {kind: part.latency_ms.tolist() for kind, part in measured.foregrounds.items()}
    assert latency_ms == {"": [2, 1], "reads": [1], "writes": [2]}
    assert measured.background == {"compacted_mib": 3.0, "flushed_mib": None}


def test_figures_of_sqlite(tmp_path):
    (tmp_path / "requests.0").write_text("11500000 1000 0\n21000000 7 0\n")
    (tmp_path / "requests.1").write_text("10500000 2000 1\n")
    (tmp_path / "moments").write_text("burst_begin 11\nburst_end 14\n")
    (tmp_path / "burst.log").write_text("51404 3\n")
    measured = Sqlite().read(tmp_path, 10, 20)
    latency_ms = {kind: part.latency_ms.tolist() for kind, part in measured.foregrounds.items()}
    assert latency_ms == {"reads": [1], "writes": [2]}
    assert measured.background == {"copied_mib": 200.8}
    assert measured.burst_s == (1, 4)


def test_paced_redis_has_a_processor_that_its_children_do_not_fill():
    speeds = {one.name: one.instructions_per_ns for one in YcsbRedis.databases.values()}
    assert speeds == {"redis": 1, "redis-paced": 8}


def test_requests_of_all_clients_of_ycsb(tmp_path):
    (tmp_path / "requests.1").write_text("10500000 2000 1\n11500000 1000 0\n21000000 7 0\n")
    (tmp_path / "requests.2").write_text("10600000 4000 1\n")
    (tmp_path / "info.1").write_text("rdb_saves:2\naof_rewrites:1\naof_delayed_fsync:3\n")
    (tmp_path / "info.2").write_text("rdb_saves:1\naof_rewrites:0\naof_delayed_fsync:0\n")
    measured = RedisYcsb("redis", 0).read(tmp_path, 10, 20)
    latency_ms = {kind: part.latency_ms.tolist() for kind, part in measured.foregrounds.items()}
    assert latency_ms == {"": [2, 1, 4], "reads": [1], "updates": [2, 4]}
    assert measured.foregrounds["reads"].end_s.tolist() == [1.5]
    assert measured.background == {"snapshots": 3, "rewrites": 1, "late_syncs": 3}


def test_clients_of_ycsb_without_an_answer_are_an_error(tmp_path):
    (tmp_path / "requests").touch()
    with pytest.raises(host.LabError, match="no request was answered"):
        ycsb.requests(tmp_path, 0, 1)


def test_figures_of_wtperf(tmp_path):
    (tmp_path / "latency.read").write_text(HEAD + "100,98,98,100\n3000,1,99,100\n9000,1,100,100\n")
    (tmp_path / "latency.update").write_text(HEAD + "2000,10,10,10\n")
    checkpoint = {"total succeed number of checkpoints": 3, "max time (msecs)": 450}
    line = json.dumps({"wiredTiger": {"checkpoint": checkpoint}})
    # The last line is cut where the client ended.
    (tmp_path / "statistics").write_text(f"{line}\n{line[:40]}")
    measured = ALL["wiredtiger"].read(tmp_path, 10, 20)
    reads = measured.foregrounds["reads"]
    assert (reads["throughput"], reads["p50_ms"], reads["p99_ms"]) == (10.0, 0.1, 3.0)
    assert (reads["max_ms"], reads["n"]) == (9.0, 100)
    assert measured.background == {"checkpoints": 3, "checkpoint_s": 0.45}


def test_labels_from_inside_are_used_where_a_database_has_them():
    experiment = experiments.find("databases")
    inside = configurations.BY_NAME["fgio-inside"]
    having = {name for name in ALL if experiment.has(inside, name)}
    flushes = {"mariadb-flush", "mariadb-flush-purge", "mariadb-flush-cpus"}
    assert having == {"redis", "postgresql", "small-segments", "mariadb", *flushes}
    assert all(experiment.has(configurations.BY_NAME["fgio"], name) for name in ALL)


def test_an_unknown_database_is_refused():
    with pytest.raises(host.LabError, match="choose from: redis"):
        experiments.find("databases").choose_part("oracle")


def test_rivals_run_where_they_can():
    databases = experiments.ALL["databases"]

    def having(name: str) -> set[str]:
        chosen = configurations.BY_NAME[name]
        return {variant for variant in ALL if databases.has(chosen, variant)}

    # Threads of one process cannot be in different cgroups for I/O; Redis has no throttle.
    assert having("io-cost") == {"redis", "postgresql", "small-segments"}
    assert having("bfq-weights") == having("io-cost")
    throttled = {"rocksdb", "postgresql", "small-segments", "wiredtiger"}
    assert having("own-throttle") == throttled
    assert having("own-rate-25") == {"rocksdb", "wiredtiger"}
    # Only Redis has a setting that loses data, and it is no rival unless asked for.
    assert having("own-lossy") == {"redis"} and "own-lossy" not in configurations.STOCK
    assert having("wbt") == having("fgio-split-a") == set(ALL)
    assert having("mq-deadline-batch") == having("bfq-strict") == set(ALL)


def settings(experiment: str, database: str, name: str) -> dict[str, object]:
    """The settings of a database's boot under a configuration."""
    found = copy.copy(experiments.ALL[experiment])
    found.device = "volume"
    return found._settings(configurations.BY_NAME[name], 1, found.databases[database])


@pytest.mark.parametrize(
    ("name", "tunables", "queue"),
    [
        ("mq-deadline", "", ""),
        ("mq-deadline-batch", "fifo_batch=1 async_depth=32", ""),
        ("mq-deadline-short", "", "nr_requests=16"),
        ("kyber-targets", "read_lat_nsec=1220000 write_lat_nsec=1220000", ""),
        ("bfq-fair", "low_latency=0", ""),
        ("bfq-busy", "low_latency=0 slice_idle=0", ""),
        ("bfq-strict", "low_latency=0 strict_guarantees=1", ""),
        ("bfq-weights", "low_latency=0", ""),
        ("fixed-4", "noncritical_in_device_max=4", ""),
    ],
)
def test_tuned_schedulers_get_their_settings(name, tunables, queue):
    found = settings("databases", "rocksdb", name)
    assert (found["TUNABLES"], found["QUEUE"]) == (tunables, queue)


def test_foreground_is_above_the_writeback_that_has_no_priority():
    found = settings("databases", "rocksdb", "mq-deadline-rt")
    assert (found["FOREGROUND_PRIORITY"], found["JOURNAL_PRIORITY"]) == ("1,0", "1,0")
    assert found["BACKGROUND_PRIORITY"] == "3,0"


def test_cgroups_have_the_weights_of_their_scheduler():
    assert settings("databases", "redis", "io-cost")["WEIGHT_FILE"] == "io.weight"
    found = settings("databases", "redis", "bfq-weights")
    assert "IO_COST_MODEL" not in found
    assert (found["WEIGHT_FILE"], found["FOREGROUND_WEIGHT"]) == ("io.bfq.weight", 1000)
    assert "WEIGHT_FILE" not in settings("databases", "redis", "bfq")


def test_own_throttles_are_as_documented_and_at_rates():
    tuned = settings("rocksdb", "readwhilewriting-paced", "own-throttle")
    assert (tuned["LIMIT_BYTES_S"], tuned["LIMIT_TUNED"]) == (125_000_000, 1)
    fixed = settings("rocksdb", "readwhilewriting-paced", "own-rate-25")
    assert (fixed["LIMIT_BYTES_S"], fixed["LIMIT_TUNED"]) == (31_250_000, 0)
    none = settings("rocksdb", "readwhilewriting-paced", "mq-deadline")
    assert none["LIMIT_BYTES_S"] == 0
    bench = settings("databases", "rocksdb", "own-throttle")["THROTTLE"]
    assert "--rate_limiter_bytes_per_sec=125000000 --rate_limiter_auto_tuned=true" in bench
    engine = settings("ycsb", "fits-paced", "own-throttle")
    assert (engine["CONNECTION"], engine["EVICTION"]) == ("io_capacity=(total=100M)", "")
    assert "eviction_dirty_trigger=95" in settings("ycsb", "fits-paced", "own-rate-50")["EVICTION"]
    assert settings("ycsb", "fits-evicting-paced", "fgio")["EVICTION"] == ""
    assert settings("databases", "redis", "own-lossy")["NO_SYNC_ON_REWRITE"] == "yes"
    assert settings("databases", "redis", "fgio")["NO_SYNC_ON_REWRITE"] == "no"


def test_checkpoints_that_the_server_times_are_its_defaults():
    found = settings("tpcc", "tpcc-fits-timed", "mq-deadline")
    assert "-c checkpoint_timeout=5min -c checkpoint_completion" in found["TIMED_OPTIONS"]
    # The first begins 300 s after the server, and takes 270 s.
    assert found["WARM_S"] < 300 and found["WARM_S"] + found["DURATION_S"] >= 300 + 270
    assert settings("tpcc", "tpcc-fits-paced", "mq-deadline")["TIMED_OPTIONS"] == ""


def test_submitters_are_read_from_the_kernels_histogram(tmp_path):
    (tmp_path / "submitters").write_text(SUBMITTERS)
    assert submitters(tmp_path) == [
        {
            "thread": "rocksdb:low",
            "class": "idle",
            "level": 0,
            "what": "RA",
            "requests": 7057,
            "mib": 648.961,
        },
        {
            "thread": "kworker/u4:0",
            "class": "best-effort",
            "level": 4,
            "what": "W",
            "requests": 462,
            "mib": 1.0,
        },
    ]
    assert submitters(tmp_path / "nowhere") == []


@pytest.mark.parametrize("name", ["postgresql", "redis"])
def test_processes_enter_the_cgroups_of_their_classes(name):
    rules = [line.split("\t") for line in rivals.titles(name).splitlines()]

    def group(title: str) -> str | None:
        return next((group for group, pattern in rules if re.fullmatch(pattern, title)), None)

    profile = tomllib.loads((paths.ROOT / "profiles" / f"{name}.toml").read_text())
    seen = set()
    for case in profile["case"]:
        # A program of another name may have any title, as a test of the profile.
        if case.get("rule") not in {"backend", "wal-writer", "server", "wal-sender", "snapshot"}:
            continue
        for title in case["title"] if isinstance(case["title"], list) else [case["title"]]:
            wanted = "foreground" if case["class"] == "foreground" else "background"
            assert group(title) == wanted, title
            seen.add(wanted)
    assert "background" in seen


def test_the_limiter_of_rocksdb_compiles():
    # Nothing else that CI runs needs it: it once found the repository's ./new for <new>.
    assert compile_object("lsm-limiter").is_file()


def test_transactions_of_sysbench():
    assert transactions(SYSBENCH) == {
        "throughput": 50.0,
        "p50_ms": 5.18,
        "p99_ms": 16.119,
        "p999_ms": 2449.355,
        "max_ms": 2440.53,
        "n": 1000,
    }


@pytest.mark.parametrize(
    "text", ["", SYSBENCH.replace("errors:                      0 ", "errors:  3 ")]
)
def test_sysbench_that_failed(text):
    with pytest.raises(host.LabError, match="did not do as it should"):
        transactions(text)
