-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- One of four shards: it has the records whose key is @shard modulo 4, @records of them, in a random
-- order of pages. `ended` is when a record was read: of a part's records, the last.
CREATE DATABASE bench;
USE bench;
CREATE TABLE items (
  place BIGINT NOT NULL PRIMARY KEY,
  k BIGINT NOT NULL,
  v VARCHAR(1000) CHARACTER SET latin1 NOT NULL,
  ended DECIMAL(16, 6) AS (UNIX_TIMESTAMP(SYSDATE(6))) VIRTUAL,
  KEY (k)
) ENGINE=InnoDB;
INSERT INTO items (place, k, v)
  SELECT CRC32(seq) * 4194304 + seq AS place, 4 * seq + @shard, RPAD(seq, 1000, 'x')
    FROM seq_0_to_4194303 WHERE seq < @records ORDER BY place;
ANALYZE TABLE items;
