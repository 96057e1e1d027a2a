-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- On the proxy, which has fgio in shared_preload_libraries, after
--
--   CREATE SERVER shards FOREIGN DATA WRAPPER plproxy
--     OPTIONS (p0 'host=... dbname=...', p1 'host=... dbname=...');
--   CREATE USER MAPPING FOR PUBLIC SERVER shards;
--
-- Users call the functions without a request: they take the caller's, or a new one that arrives
-- now, and PL/Proxy gives it to each shard.
CREATE FUNCTION request_of_caller(parts integer) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(fgio_request(), fgio_request_new(parts => parts))
$$;

CREATE FUNCTION items_between(request text, low bigint, high bigint)
RETURNS TABLE (key bigint, value text) LANGUAGE plproxy AS $$
  CLUSTER 'shards';
  RUN ON ALL;
$$;

CREATE FUNCTION items_between(low bigint, high bigint)
RETURNS TABLE (key bigint, value text) LANGUAGE plpgsql AS $$
DECLARE
  request text := request_of_caller(parts => 2);
BEGIN
  RETURN QUERY SELECT * FROM items_between(request, low, high);
END $$;

CREATE FUNCTION put_item(request text, of_key bigint, new_value text)
RETURNS void LANGUAGE plproxy AS $$
  CLUSTER 'shards';
  RUN ON hashint8(of_key);
$$;

CREATE FUNCTION put_item(of_key bigint, new_value text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  request text := request_of_caller(parts => 1);
BEGIN
  PERFORM put_item(request, of_key, new_value);
END $$;
