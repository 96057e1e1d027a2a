-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- On each shard, which has fgio in shared_preload_libraries. Each function takes the user's request
-- as its first argument, and serves it to the end of its transaction.
CREATE TABLE items (key bigint PRIMARY KEY, value text);

CREATE FUNCTION items_between(request text, low bigint, high bigint)
RETURNS TABLE (key bigint, value text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('fgio.request', request, true);
  RETURN QUERY SELECT one.key, one.value FROM items AS one WHERE one.key BETWEEN low AND high;
END $$;

CREATE FUNCTION put_item(request text, of_key bigint, new_value text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('fgio.request', request, true);
  INSERT INTO items VALUES (of_key, new_value)
    ON CONFLICT (key) DO UPDATE SET value = new_value;
END $$;
