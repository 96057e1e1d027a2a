-- The class of a session while it runs a statement, and between statements.
SELECT fgio_class();
SET fgio.class = 'background';
SELECT fgio_class();
SET fgio.class = 'foreground';
SELECT fgio_class();
RESET fgio.class;
SET fgio.scope = 'never';
SELECT fgio_class() IS NULL AS not_labelled;
SET fgio.scope = 'session';
SELECT fgio_class();
RESET fgio.scope;
SELECT fgio_class();

-- A function that handles errors, and statements in it that fail.
CREATE FUNCTION regress_fgio_survivor() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 / 0;
EXCEPTION WHEN division_by_zero THEN
  RETURN fgio_class();
END $$;
SELECT regress_fgio_survivor(), fgio_class();

-- Procedures that end transactions go on as they began.
CREATE PROCEDURE regress_fgio_batches() LANGUAGE plpgsql AS $$
DECLARE class text;
BEGIN
  class := fgio_class(); COMMIT; RAISE NOTICE 'committed: %, %', class, fgio_class();
  class := fgio_class(); ROLLBACK; RAISE NOTICE 'rolled back: %, %', class, fgio_class();
END $$;
CALL regress_fgio_batches();

-- Maintenance is background, also in a function, which then goes on as it was. Since PostgreSQL 17
-- it has a search_path of its own.
CREATE FUNCTION regress_fgio_tell(value int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'indexing: %', public.fgio_class();
  RETURN value;
END $$;
CREATE TABLE regress_fgio_one AS SELECT 1 AS value;
CREATE INDEX regress_fgio_index ON regress_fgio_one (regress_fgio_tell(value));
REINDEX INDEX regress_fgio_index;
CREATE FUNCTION regress_fgio_maintain() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  REINDEX INDEX regress_fgio_index;
  RETURN fgio_class();
END $$;
SELECT regress_fgio_maintain();
CREATE FUNCTION regress_fgio_fail(value int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN value / 0;
END $$;
CREATE FUNCTION regress_fgio_maintain_in_vain() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  CREATE INDEX ON regress_fgio_one (regress_fgio_fail(value));
EXCEPTION WHEN division_by_zero THEN
  RETURN fgio_class();
END $$;
SELECT regress_fgio_maintain_in_vain();
SET fgio.background_commands = 'VACUUM';
REINDEX INDEX regress_fgio_index;
RESET fgio.background_commands;
SET fgio.class = 'foreground';
REINDEX INDEX regress_fgio_index;
RESET fgio.class;

-- A commit is part of the statement, deferred triggers and all.
CREATE FUNCTION regress_fgio_deferred() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'at the commit: %', fgio_class();
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON regress_fgio_one
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION regress_fgio_deferred();
INSERT INTO regress_fgio_one VALUES (2);
BEGIN;
INSERT INTO regress_fgio_one VALUES (3);
COMMIT;

-- The class of another session between its statements.
CREATE EXTENSION dblink;
SELECT dblink_connect('other', 'dbname=' || current_database());
SELECT pid AS other FROM dblink('other', 'SELECT pg_backend_pid()') AS it(pid int) \gset
CREATE FUNCTION regress_fgio_other(pid int) RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(class, 'not labelled') FROM pg_stat_fgio AS it WHERE it.pid = $1
$$;
SELECT regress_fgio_other(:other) AS idle;
SELECT dblink_exec('other', 'BEGIN');
SELECT * FROM dblink('other', 'SELECT fgio_class()') AS it(class text);
SELECT regress_fgio_other(:other) AS idle_in_transaction;
SELECT dblink_exec('other', 'SAVEPOINT here');
SELECT dblink_exec('other', 'CREATE INDEX ON regress_fgio_one (regress_fgio_fail(value))', false);
SELECT regress_fgio_other(:other) AS idle_after_error;
SELECT dblink_exec('other', 'ROLLBACK TO SAVEPOINT here');
SELECT regress_fgio_other(:other) AS idle_after_savepoint;
SELECT dblink_exec('other', 'SELECT 1 / 0', false);
SELECT regress_fgio_other(:other) AS idle_after_error;
SELECT dblink_exec('other', 'COMMIT');
SELECT regress_fgio_other(:other) AS idle_after_failed_commit;
SELECT dblink_exec('other', 'CALL regress_fgio_batches()');
SELECT regress_fgio_other(:other) AS idle_after_procedure;
SELECT dblink_exec('other', 'SET fgio.scope = transaction');
SELECT dblink_exec('other', 'BEGIN');
SELECT regress_fgio_other(:other) AS idle_in_transaction;
SELECT dblink_exec('other', 'COMMIT');
SELECT regress_fgio_other(:other) AS idle;
SELECT dblink_exec('other', 'SET fgio.scope = session');
SELECT regress_fgio_other(:other) AS idle_in_session;
SELECT dblink_exec('other', 'SET fgio.class = background');
SELECT regress_fgio_other(:other) AS idle_in_session;
SELECT dblink_exec('other', 'SET fgio.scope = never');
SELECT regress_fgio_other(:other) AS idle;
SELECT dblink_exec('other', 'SET fgio.scope = statement');

-- While it runs one.
SELECT dblink_exec('other', 'RESET fgio.class');
SELECT dblink_send_query('other', 'SELECT pg_sleep(60)');
DO $$
BEGIN
  WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep') LOOP
    PERFORM pg_stat_clear_snapshot(), pg_sleep(0.01);
  END LOOP;
END $$;
SELECT regress_fgio_other(:other) AS running;
SELECT dblink_cancel_query('other');
SELECT * FROM dblink_get_result('other', false) AS it(nothing text);
SELECT regress_fgio_other(:other) AS idle_after_cancel;
SELECT dblink_disconnect('other');

-- Its counts are in the sum of the ended sessions.
SELECT pg_stat_fgio_reset();
SELECT dblink_connect('other', 'dbname=' || current_database());
SELECT * FROM dblink('other', 'SELECT fgio_class()') AS it(class text);
SELECT dblink_disconnect('other');
DO $$
BEGIN
  WHILE (SELECT count(*) FROM pg_stat_fgio WHERE pid IS NOT NULL) > 1 LOOP
    PERFORM pg_sleep(0.01);
  END LOOP;
END $$;
SELECT foreground_statements > 0 AS statements FROM pg_stat_fgio WHERE pid IS NULL;

DROP EXTENSION dblink;
DROP TABLE regress_fgio_one;
DROP PROCEDURE regress_fgio_batches;
DROP FUNCTION regress_fgio_survivor, regress_fgio_tell, regress_fgio_maintain, regress_fgio_fail,
  regress_fgio_maintain_in_vain, regress_fgio_deferred, regress_fgio_other;
