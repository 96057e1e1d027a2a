-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- One of four shards: it has the records whose number is lab.shard modulo 4, in a random order of
-- pages. Loaded with -v records=N.
BEGIN;
CREATE TABLE items (key bigint NOT NULL, value text NOT NULL);
INSERT INTO items SELECT key, rpad(key::text, 1000, 'x')
  FROM generate_series(0::bigint, :records - 1) AS key ORDER BY hashint8(key);
ALTER TABLE items ADD PRIMARY KEY (key);
COMMIT;
-- Without FREEZE, which would log all pages.
VACUUM (ANALYZE) items;

-- The part of a request for `records` records from number `low` on: how many it had, and which process
-- of which shard ended it when.
CREATE FUNCTION scan(request text, low bigint, records integer, OUT had bigint, OUT shard integer,
  OUT process integer, OUT ended double precision) LANGUAGE plpgsql AS $$
BEGIN
  shard := current_setting('lab.shard');
  process := pg_backend_pid();
  PERFORM set_config('fgio.request', request, true);
  -- The length needs the record: the index alone would not do.
  SELECT count(*) INTO had FROM items
    WHERE key >= (low - shard + 3) / 4 AND key < (low + records - shard + 3) / 4
      AND length(value) = 1000;
  ended := extract(epoch FROM clock_timestamp());
END $$;
