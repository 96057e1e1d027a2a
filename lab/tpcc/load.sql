-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- Fills the tables as clause 4.3.3.1 asks: psql -v warehouses=N
SELECT setseed(0.25);

INSERT INTO item SELECT i, uniform(1, 10000), letters(14, 24), uniform(100, 10000) / 100.0,
  originals(26, 50) FROM generate_series(1, 100000) AS i;
INSERT INTO warehouse SELECT w, letters(6, 10), letters(10, 20), letters(10, 20), letters(10, 20),
  letters(2, 2), zip(), uniform(0, 2000) / 10000.0, 300000
  FROM generate_series(1, :warehouses) AS w;
INSERT INTO stock SELECT i, w, uniform(10, 100), letters(24, 24), letters(24, 24), letters(24, 24),
  letters(24, 24), letters(24, 24), letters(24, 24), letters(24, 24), letters(24, 24),
  letters(24, 24), letters(24, 24), 0, 0, 0, originals(26, 50)
  FROM generate_series(1, :warehouses) AS w, generate_series(1, 100000) AS i;
INSERT INTO district SELECT d, w, letters(6, 10), letters(10, 20), letters(10, 20), letters(10, 20),
  letters(2, 2), zip(), uniform(0, 2000) / 10000.0, 30000, 3001
  FROM generate_series(1, :warehouses) AS w, generate_series(1, 10) AS d;
INSERT INTO customer SELECT c, d, w, letters(8, 16), 'OE',
  last_name(CASE WHEN c <= 1000 THEN c - 1 ELSE nurand(255, load_c, 0, 999) END), letters(10, 20),
  letters(10, 20), letters(10, 20), letters(2, 2), zip(),
  lpad(uniform(0, 99999999)::text, 16, '0'), now(), CASE WHEN random() < 0.1 THEN 'BC' ELSE 'GC' END,
  50000, uniform(0, 5000) / 10000.0, -10, 10, 1, 0, letters(300, 500)
  FROM generate_series(1, :warehouses) AS w, generate_series(1, 10) AS d,
    generate_series(1, 3000) AS c, constants WHERE a = 255;
INSERT INTO history SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, now(), 10, letters(12, 24)
  FROM customer;
-- Each customer has one order; which, is a permutation.
INSERT INTO orders SELECT o, d_id, d_w_id, c, now(), CASE WHEN o < 2101 THEN uniform(1, 10) END,
  uniform(5, 15), 1
  FROM (SELECT d_id, d_w_id, c, row_number() OVER (PARTITION BY d_w_id, d_id ORDER BY random()) AS o
    FROM district, generate_series(1, 3000) AS c) AS permuted;
INSERT INTO order_line SELECT o_id, o_d_id, o_w_id, number, uniform(1, 100000), o_w_id,
  CASE WHEN o_id < 2101 THEN o_entry_d END, 5,
  CASE WHEN o_id < 2101 THEN 0 ELSE uniform(1, 999999) / 100.0 END, letters(24, 24)
  FROM orders, generate_series(1, o_ol_cnt) AS number;
INSERT INTO new_order SELECT o_id, o_d_id, o_w_id FROM orders WHERE o_id >= 2101;

ALTER TABLE warehouse ADD PRIMARY KEY (w_id);
ALTER TABLE district ADD PRIMARY KEY (d_w_id, d_id);
ALTER TABLE customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id);
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id);
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
ALTER TABLE new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id);
ALTER TABLE order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);
ALTER TABLE item ADD PRIMARY KEY (i_id);
ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id);
VACUUM ANALYZE;
