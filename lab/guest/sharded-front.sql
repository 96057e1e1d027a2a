-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- The proxy: one function that users call, and one by which PL/Proxy asks all shards at once.
CREATE EXTENSION fgio;
CREATE EXTENSION plproxy;
CREATE SERVER shards FOREIGN DATA WRAPPER plproxy OPTIONS (
  p0 'host=/tmp port=5433 dbname=bench', p1 'host=/tmp port=5434 dbname=bench',
  p2 'host=/tmp port=5435 dbname=bench', p3 'host=/tmp port=5436 dbname=bench');
CREATE USER MAPPING FOR PUBLIC SERVER shards;

CREATE FUNCTION scan(request text, low bigint, records integer, OUT had bigint, OUT shard integer,
  OUT process integer, OUT ended double precision) RETURNS SETOF record LANGUAGE plproxy AS $$
  CLUSTER 'shards';
  RUN ON ALL;
$$;

-- Its log has, for each request: the client, when it ended, the time between its first and last part,
-- and SHARD:PROCESS:END of each part.
CREATE FUNCTION scan_for(client integer, low bigint, records integer) RETURNS bigint
  LANGUAGE plpgsql AS $$
DECLARE
  request text := fgio_request_new(deadline_ms => 100, parts => 4);
  total bigint;
  parts integer;
  gap double precision;
  ends text;
BEGIN
  SELECT sum(had), count(*), max(ended) - min(ended),
      string_agg(format('%s:%s:%s', shard, process, round(ended::numeric, 6)), ' ' ORDER BY shard)
    INTO total, parts, gap, ends
    FROM scan(request, low, records);
  IF parts <> 4 OR total <> records THEN
    RAISE EXCEPTION '% parts have % records, not %', parts, total, records;
  END IF;
  RAISE LOG 'request % % % %',
    client, extract(epoch FROM clock_timestamp()), round(gap::numeric, 6), ends;
  RETURN total;
END $$;
