# SPDX-License-Identifier: Apache-2.0 OR MIT
"""RocksDB's readers beside a writer and compaction, as fast as they go and paced."""

from lab.experiments.database.readwhilewriting import ReadWhileWriting
from lab.experiments.database.readwhilewriting_paced import ReadWhileWritingPaced
from lab.experiments.databases import CPU_IDLE, WRITTEN, Evaluation, named


class RocksDBExperiment(Evaluation):
    """Reads that compaction is in the way of."""

    name = "rocksdb"
    title = "RocksDB, readers and a writer"
    description = "RocksDB's readers and a durable writer beside compaction; labels from profiles"
    databases = named(ReadWhileWriting(), ReadWhileWritingPaced())
    units = {
        "foreground.throughput": "requests per second",
        "background.compacted_mib": "MiB that compaction wrote",
        "background.flushed_mib": "MiB that flushes of memtables wrote",
        **WRITTEN,
        **CPU_IDLE,
    }
