-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- The front: a table without records of its own.
CREATE SERVER s0 FOREIGN DATA WRAPPER mysql
  OPTIONS (SOCKET '/tmp/mariadb-0', DATABASE 'bench', USER 'root');
CREATE SERVER s1 FOREIGN DATA WRAPPER mysql
  OPTIONS (SOCKET '/tmp/mariadb-1', DATABASE 'bench', USER 'root');
CREATE SERVER s2 FOREIGN DATA WRAPPER mysql
  OPTIONS (SOCKET '/tmp/mariadb-2', DATABASE 'bench', USER 'root');
CREATE SERVER s3 FOREIGN DATA WRAPPER mysql
  OPTIONS (SOCKET '/tmp/mariadb-3', DATABASE 'bench', USER 'root');
CREATE DATABASE bench;
USE bench;
CREATE TABLE items (
  k BIGINT NOT NULL,
  v VARCHAR(1000) CHARACTER SET latin1 NOT NULL,
  ended DECIMAL(16, 6),
  KEY (k)
) ENGINE=SPIDER COMMENT='wrapper "mysql", table "items"' PARTITION BY HASH (k) PARTITIONS 4 (
  PARTITION p0 COMMENT='srv "s0"', PARTITION p1 COMMENT='srv "s1"',
  PARTITION p2 COMMENT='srv "s2"', PARTITION p3 COMMENT='srv "s3"');
