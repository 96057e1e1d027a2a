-- The user's request that a session serves.
SELECT fgio_request() IS NULL AS none;
SET fgio.request = 'fgio:0123456789abcdef';
SELECT fgio_request(), fgio_class();
SET fgio.request = 'fgio:0123456789ABCDEF-250-4';
SELECT fgio_request();
SET fgio.request = '4711';
SET fgio.request = 'fgio:0000000000000000';
SELECT fgio_request();
SET fgio.request = '';
SELECT fgio_request() IS NULL AS none;

-- For a transaction, or a statement of it: as a shard's function does.
BEGIN;
SET LOCAL fgio.request = 'fgio:0000000000000001';
SELECT fgio_request();
SAVEPOINT here;
SET LOCAL fgio.request = 'fgio:0000000000000002';
SELECT fgio_request();
ROLLBACK TO here;
SELECT fgio_request();
COMMIT;
SELECT fgio_request() IS NULL AS none;
CREATE FUNCTION regress_fgio_part(request text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('fgio.request', request, true);
  RETURN concat_ws(' ', fgio_request(), fgio_class());
END $$;
SELECT regress_fgio_part('fgio:0000000000000003');
SELECT fgio_request() IS NULL AS none;
CREATE FUNCTION regress_fgio_fails(request text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('fgio.request', request, true);
  PERFORM 1 / 0;
EXCEPTION WHEN division_by_zero THEN
  RETURN fgio_request();
END $$;
SELECT regress_fgio_fails('fgio:0000000000000004') IS NULL AS none;

-- Comments are read where that is asked for, and override the setting.
SELECT fgio_request() IS NULL AS none /* fgio:0000000000000005 */;
SET fgio.read_comments = on;
SET fgio.request = 'fgio:0000000000000006';
SELECT fgio_request() /*traceparent='00-5bd6-01',tracestate='congo%3Dt61%2Cfgio%3D0000000000000007-30'*/;
/* fgio:0000000000000008 */ SELECT fgio_request(), length(repeat('x', 1)), 'a statement that is longer than what is looked through at its ends: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' <> '' AS long;
SELECT fgio_request(), length(repeat('x', 1)), 'a statement that is longer than what is looked through at its ends: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' <> '' AS long /* fgio:0000000000000009 */;
DO $$ /* fgio:000000000000000a */ BEGIN RAISE NOTICE 'it is %', fgio_request(); END $$;
SELECT fgio_request() AS by_setting;
PREPARE regress_fgio AS SELECT fgio_request() /* fgio:000000000000000b */;
EXECUTE regress_fgio;
DEALLOCATE regress_fgio;
RESET fgio.read_comments;
RESET fgio.request;

-- A parallel worker serves the request of its leader.
CREATE TABLE regress_fgio_many AS SELECT generate_series(1, 10000) AS value;
ALTER TABLE regress_fgio_many SET (parallel_workers = 2);
ANALYZE regress_fgio_many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SET fgio.request = 'fgio:000000000000000c';
SELECT fgio_request(), count(*) FROM regress_fgio_many GROUP BY 1;
SET fgio.read_comments = on;
SELECT fgio_request(), count(*) FROM regress_fgio_many GROUP BY 1 /* fgio:000000000000000d */;
RESET fgio.read_comments;
RESET fgio.request;
RESET parallel_leader_participation;

-- Ids that are made are in order, and of now.
SELECT fgio_request_new() < fgio_request_new() AS in_order;
SELECT fgio_request_new(250, 4) ~ '^fgio:[0-9a-f]{16}-250-4$' AS form;
SELECT abs(('x' || substr(fgio_request_new(), 6, 10))::bit(40)::bigint -
  extract(epoch FROM clock_timestamp())::numeric * 1000 % 1099511627776) < 60000 AS now;
SELECT fgio_request_new(-1);
-- One of a clock that is nearly a second ahead.
SELECT 'fgio:' || to_hex(((extract(epoch FROM clock_timestamp())::numeric * 1000 + 900) % 1099511627776)::bigint) || '000000' AS ahead \gset
SELECT fgio_request_new() < :'ahead' AS earlier;
SELECT fgio_request_seen(:'ahead');
SELECT fgio_request_new() > :'ahead' AS later;
SELECT fgio_request_seen('nothing');

DROP TABLE regress_fgio_many;
DROP FUNCTION regress_fgio_part, regress_fgio_fails;
