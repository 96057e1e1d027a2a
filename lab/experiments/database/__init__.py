# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Databases with a load and a background burst of their own, for the experiment `databases`."""

from lab.experiments.database.base import Database
from lab.experiments.database.mariadb import (
    ForcedFlush,
    MariaDB,
    OnePurgeThread,
    TwoProcessors,
)
from lab.experiments.database.postgresql import PostgreSQL, SmallSegments
from lab.experiments.database.redis import Redis
from lab.experiments.database.rocksdb import RocksDB
from lab.experiments.database.wiredtiger import WiredTiger

DATABASES = (
    Redis(),
    RocksDB(),
    PostgreSQL(),
    SmallSegments(),
    WiredTiger(),
    MariaDB(),
    ForcedFlush(),
    OnePurgeThread(),
    TwoProcessors(),
)
ALL: dict[str, Database] = {database.name: database for database in DATABASES}
