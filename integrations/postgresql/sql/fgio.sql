-- The extension's objects, with the module in the kernel or without it.
CREATE EXTENSION fgio;
-- Servers of later versions would list the views' row types, too.
SELECT pg_describe_object(classid, objid, 0) AS object FROM pg_depend
  WHERE deptype = 'e' AND classid <> 'pg_type'::regclass
  AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'fgio') ORDER BY object;
SELECT pid, foreground_statements >= 0 AS counted, foreground_time >= 0 AS timed,
  labelled = (SELECT available FROM pg_stat_fgio_module) AS labelled_with_the_module
  FROM pg_stat_fgio WHERE pid = pg_backend_pid() \gset mine_
SELECT :mine_pid = pg_backend_pid() AS pid, :'mine_counted' AS counted, :'mine_timed' AS timed,
  :'mine_labelled_with_the_module' AS labelled_with_the_module;

-- One row stands for the sessions that have ended.
SELECT count(*) FROM pg_stat_fgio WHERE pid IS NULL;

-- No process of the server's own has a row.
SELECT count(*) FROM pg_stat_fgio JOIN pg_stat_activity USING (pid)
  WHERE backend_type <> 'client backend';

-- Of the kernel's module, all or nothing.
SELECT available = (version IS NOT NULL) AND available = (boosts IS NOT NULL) AS consistent
  FROM pg_stat_fgio_module;

-- Counters count each statement once, and start again at a reset.
SELECT pg_stat_fgio_reset();
SELECT 1 AS one;
SELECT 2 AS two;
SELECT foreground_statements, background_statements FROM pg_stat_fgio WHERE pid = pg_backend_pid();

-- Time is measured on request.
SET fgio.track_time = on;
SELECT pg_sleep(0.01);
RESET fgio.track_time;
SELECT foreground_time >= 10 AS timed FROM pg_stat_fgio WHERE pid = pg_backend_pid();

-- A reset needs a privilege.
CREATE ROLE regress_fgio;
SET ROLE regress_fgio;
SELECT count(*) > 0 AS visible FROM pg_stat_fgio;
SELECT pg_stat_fgio_reset();
RESET ROLE;
DROP ROLE regress_fgio;
