-- Parallel workers are what their leader is.
CREATE TABLE regress_fgio_many AS SELECT generate_series(1, 10000) AS value;
ALTER TABLE regress_fgio_many SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SELECT count(*) FROM regress_fgio_many WHERE fgio_class() = 'foreground';
SET fgio.class = 'background';
SELECT count(*) FROM regress_fgio_many WHERE fgio_class() = 'background';
SET fgio.scope = 'never';
SELECT count(*) FROM regress_fgio_many WHERE fgio_class() IS NULL;
RESET fgio.scope;
RESET fgio.class;
DROP TABLE regress_fgio_many;
