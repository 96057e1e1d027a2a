# SPDX-License-Identifier: Apache-2.0 OR MIT
"""SQLite's readers and writer beside a checkpoint of its log, alone and with a second writer."""

from lab.configurations import ABLATION
from lab.experiments.database.sqlite import Sqlite, SqliteBatch
from lab.experiments.databases import CPU_IDLE, WRITTEN, Evaluation, named


class SqliteExperiment(Evaluation):
    """Processes that share a database by locks of files and of its index in memory."""

    name = "sqlite"
    title = "SQLite in WAL mode"
    description = "SQLite's readers and a writer beside a checkpoint of 200 MiB; labels by profile"
    databases = named(Sqlite(), SqliteBatch())
    configurations = ("floor", "none", "mq-deadline", "kyber", "bfq", "fgio")
    extra_configurations = (*Evaluation.configurations, *Evaluation.extra_configurations, *ABLATION)
    units = {
        "foreground.throughput": "requests per second",
        "background.burst_s": "seconds that the checkpoint took; at_least: without end",
        "background.copied_mib": "MiB of the log that the checkpoint copied",
        **WRITTEN,
        **CPU_IDLE,
    }
