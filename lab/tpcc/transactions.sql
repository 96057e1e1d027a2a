-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- The five transactions of TPC-C (clauses 2.4 to 2.8), a function each: the caller gives a seed, from
-- which the input is made (2.4.1, 2.5.1, ...), and a home warehouse. Each returns what the terminal
-- would show, as far as it tells transactions apart.

-- A customer's id: of 60 in 100 by last name, the middle one by first name (2.5.2.2, 2.6.2.2).
CREATE FUNCTION some_customer(in_warehouse int, in_district int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  name varchar(16);
  found_ids int[];
BEGIN
  IF random() >= 0.6 THEN
    RETURN nurand(1023, (SELECT run_c FROM constants WHERE a = 1023), 1, 3000);
  END IF;
  name := last_name(nurand(255, (SELECT run_c FROM constants WHERE a = 255), 0, 999));
  found_ids := ARRAY(SELECT c_id FROM customer
    WHERE c_w_id = in_warehouse AND c_d_id = in_district AND c_last = name ORDER BY c_first);
  RETURN found_ids[(array_length(found_ids, 1) + 1) / 2];
END $$;

-- Another warehouse than this one, where there are several.
CREATE FUNCTION remote(home int, warehouses int) RETURNS int LANGUAGE sql VOLATILE AS
  $$SELECT CASE WHEN warehouses = 1 THEN home
      ELSE (home + uniform(0, warehouses - 2)) % warehouses + 1 END$$;

-- 2.4. Where it is to fail, because its last item does not exist (one in a hundred, 2.4.1.4), it returns
-- NULL, and the caller rolls back.
CREATE FUNCTION new_order(seed int, home int, warehouses int, fails bool) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  in_district int;
  buyer customer;
  buyer_id int;
  lines int;
  items int[];
  suppliers int[];
  quantities int[];
  order_id int;
  w_tax_now numeric;
  d_tax_now numeric;
  price numeric;
  line stock;
  total numeric := 0;
BEGIN
  PERFORM setseed(seed / 2147483648.0);
  in_district := uniform(1, 10);
  lines := uniform(5, 15);
  buyer_id := nurand(1023, (SELECT run_c FROM constants WHERE a = 1023), 1, 3000);
  -- Stock is taken in one order by all, so that no two wait for each other.
  SELECT array_agg(i ORDER BY w, i), array_agg(w ORDER BY w, i), array_agg(q ORDER BY w, i)
    INTO items, suppliers, quantities
    FROM (SELECT nurand(8191, run_c, 1, 100000) AS i, uniform(1, 10) AS q,
        CASE WHEN uniform(1, 100) = 1 THEN remote(home, warehouses) ELSE home END AS w
      FROM constants, generate_series(1, lines) WHERE a = 8191) AS input;

  SELECT w_tax INTO w_tax_now FROM warehouse WHERE w_id = home;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = home AND d_id = in_district
    RETURNING d_next_o_id - 1, d_tax INTO order_id, d_tax_now;
  SELECT * INTO buyer FROM customer
    WHERE c_w_id = home AND c_d_id = in_district AND c_id = buyer_id;
  INSERT INTO orders VALUES (order_id, in_district, home, buyer.c_id, now(), NULL, lines,
    (home = ALL (suppliers))::int);
  INSERT INTO new_order VALUES (order_id, in_district, home);

  FOR number IN 1..lines LOOP
    IF fails AND number = lines THEN
      RETURN NULL;
    END IF;
    SELECT i_price INTO price FROM item WHERE i_id = items[number];
    UPDATE stock SET
      s_quantity = s_quantity - quantities[number]
        + CASE WHEN s_quantity - quantities[number] >= 10 THEN 0 ELSE 91 END,
      s_ytd = s_ytd + quantities[number], s_order_cnt = s_order_cnt + 1,
      s_remote_cnt = s_remote_cnt + (suppliers[number] <> home)::int
      WHERE s_w_id = suppliers[number] AND s_i_id = items[number] RETURNING * INTO line;
    INSERT INTO order_line VALUES (order_id, in_district, home, number, items[number],
      suppliers[number], NULL, quantities[number], quantities[number] * price,
      (ARRAY[line.s_dist_01, line.s_dist_02, line.s_dist_03, line.s_dist_04, line.s_dist_05,
        line.s_dist_06, line.s_dist_07, line.s_dist_08, line.s_dist_09, line.s_dist_10])[in_district]);
    total := total + quantities[number] * price;
  END LOOP;
  RETURN total * (1 - buyer.c_discount) * (1 + w_tax_now + d_tax_now);
END $$;

-- 2.5
CREATE FUNCTION payment(seed int, home int, warehouses int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  in_district int;
  far bool;
  c_warehouse int := home;
  c_district int;
  payer_id int;
  amount numeric;
  payer customer;
  w_name_now text;
  d_name_now text;
BEGIN
  PERFORM setseed(seed / 2147483648.0);
  in_district := uniform(1, 10);
  c_district := in_district;
  far := uniform(1, 100) > 85 AND warehouses > 1;
  IF far THEN
    c_warehouse := remote(home, warehouses);
    c_district := uniform(1, 10);
  END IF;
  amount := uniform(100, 500000) / 100.0;
  payer_id := some_customer(c_warehouse, c_district);

  UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = home RETURNING w_name INTO w_name_now;
  UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = home AND d_id = in_district
    RETURNING d_name INTO d_name_now;
  UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE WHEN c_credit = 'BC' THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, in_district, home,
      amount, c_data), 500) ELSE c_data END
    WHERE c_w_id = c_warehouse AND c_d_id = c_district AND c_id = payer_id RETURNING * INTO payer;
  INSERT INTO history VALUES (payer.c_id, c_district, c_warehouse, in_district, home, now(), amount,
    w_name_now || '    ' || d_name_now);
  RETURN payer.c_balance;
END $$;

-- 2.6: lines of the customer's last order.
CREATE FUNCTION order_status(seed int, home int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  in_district int;
  buyer int;
  last_order int;
  balance numeric;
  lines int;
BEGIN
  PERFORM setseed(seed / 2147483648.0);
  in_district := uniform(1, 10);
  buyer := some_customer(home, in_district);
  SELECT c_balance INTO balance FROM customer
    WHERE c_w_id = home AND c_d_id = in_district AND c_id = buyer;
  SELECT o_id INTO last_order FROM orders WHERE o_w_id = home AND o_d_id = in_district
    AND o_c_id = buyer ORDER BY o_id DESC LIMIT 1;
  SELECT count(ol_delivery_d) + count(*) INTO lines FROM order_line
    WHERE ol_w_id = home AND ol_d_id = in_district AND ol_o_id = last_order;
  RETURN lines;
END $$;

-- 2.7, in the foreground: orders delivered, of ten.
CREATE FUNCTION delivery(seed int, home int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  carrier int;
  order_id int;
  buyer int;
  amount numeric;
  delivered int := 0;
BEGIN
  PERFORM setseed(seed / 2147483648.0);
  carrier := uniform(1, 10);
  FOR in_district IN 1..10 LOOP
    DELETE FROM new_order WHERE no_w_id = home AND no_d_id = in_district AND no_o_id =
        (SELECT no_o_id FROM new_order WHERE no_w_id = home AND no_d_id = in_district
          ORDER BY no_o_id LIMIT 1 FOR UPDATE)
      RETURNING no_o_id INTO order_id;
    CONTINUE WHEN order_id IS NULL;
    UPDATE orders SET o_carrier_id = carrier
      WHERE o_w_id = home AND o_d_id = in_district AND o_id = order_id RETURNING o_c_id INTO buyer;
    WITH lines AS (
      UPDATE order_line SET ol_delivery_d = now()
        WHERE ol_w_id = home AND ol_d_id = in_district AND ol_o_id = order_id RETURNING ol_amount)
      SELECT sum(ol_amount) INTO amount FROM lines;
    UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
      WHERE c_w_id = home AND c_d_id = in_district AND c_id = buyer;
    delivered := delivered + 1;
  END LOOP;
  RETURN delivered;
END $$;

-- 2.8: items of the last twenty orders that run low.
CREATE FUNCTION stock_level(seed int, home int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  in_district int;
  threshold int;
  low int;
BEGIN
  PERFORM setseed(seed / 2147483648.0);
  in_district := uniform(1, 10);
  threshold := uniform(10, 20);
  SELECT count(DISTINCT s_i_id) INTO low FROM order_line
    JOIN district ON d_w_id = home AND d_id = in_district
    JOIN stock ON s_w_id = home AND s_i_id = ol_i_id AND s_quantity < threshold
    WHERE ol_w_id = home AND ol_d_id = in_district
      AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id;
  RETURN low;
END $$;
