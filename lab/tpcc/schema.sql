-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- TPC-C's tables (TPC Benchmark C, revision 5.11, clause 1.3). Names and sizes are the specification's.
CREATE TABLE warehouse (
  w_id int, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20),
  w_state char(2), w_zip char(9), w_tax numeric(4, 4), w_ytd numeric(12, 2)
) WITH (fillfactor = 10);
CREATE TABLE district (
  d_id int, d_w_id int, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20),
  d_city varchar(20), d_state char(2), d_zip char(9), d_tax numeric(4, 4), d_ytd numeric(12, 2),
  d_next_o_id int
) WITH (fillfactor = 10);
CREATE TABLE customer (
  c_id int, c_d_id int, c_w_id int, c_first varchar(16), c_middle char(2), c_last varchar(16),
  c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9),
  c_phone char(16), c_since timestamptz, c_credit char(2), c_credit_lim numeric(12, 2),
  c_discount numeric(4, 4), c_balance numeric(12, 2), c_ytd_payment numeric(12, 2),
  c_payment_cnt int, c_delivery_cnt int, c_data varchar(500)
) WITH (fillfactor = 90);
CREATE TABLE history (
  h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamptz,
  h_amount numeric(6, 2), h_data varchar(24)
);
CREATE TABLE orders (
  o_id int, o_d_id int, o_w_id int, o_c_id int, o_entry_d timestamptz, o_carrier_id int,
  o_ol_cnt int, o_all_local int
);
CREATE TABLE new_order (no_o_id int, no_d_id int, no_w_id int);
CREATE TABLE order_line (
  ol_o_id int, ol_d_id int, ol_w_id int, ol_number int, ol_i_id int, ol_supply_w_id int,
  ol_delivery_d timestamptz, ol_quantity int, ol_amount numeric(6, 2), ol_dist_info char(24)
);
CREATE TABLE item (
  i_id int, i_im_id int, i_name varchar(24), i_price numeric(5, 2), i_data varchar(50)
);
CREATE TABLE stock (
  s_i_id int, s_w_id int, s_quantity int, s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24),
  s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24),
  s_dist_09 char(24), s_dist_10 char(24), s_ytd int, s_order_cnt int, s_remote_cnt int,
  s_data varchar(50)
) WITH (fillfactor = 90);

-- Constants of NURand (2.1.6); those of the load and of the run differ as 2.1.6.1 asks.
CREATE TABLE constants (a int PRIMARY KEY, load_c int, run_c int);
INSERT INTO constants VALUES (255, 17, 91), (1023, 259, 259), (8191, 4099, 4099);

CREATE FUNCTION uniform(low int, high int) RETURNS int LANGUAGE sql VOLATILE PARALLEL RESTRICTED AS
  'SELECT low + floor(random() * (high - low + 1))::int';

CREATE FUNCTION nurand(a int, c int, low int, high int) RETURNS int
LANGUAGE sql VOLATILE PARALLEL RESTRICTED AS
  'SELECT ((uniform(0, a) | uniform(low, high)) + c) % (high - low + 1) + low';

-- Letters, from low to high of them.
CREATE FUNCTION letters(low int, high int) RETURNS text LANGUAGE sql VOLATILE PARALLEL RESTRICTED AS
  $$SELECT left(string_agg(md5(random()::text), ''), uniform(low, high))
    FROM generate_series(0, high / 32)$$;

CREATE FUNCTION zip() RETURNS text LANGUAGE sql VOLATILE PARALLEL RESTRICTED AS
  $$SELECT lpad(uniform(0, 9999)::text, 4, '0') || '11111'$$;

-- One in ten is an original (4.3.3.1).
CREATE FUNCTION originals(low int, high int) RETURNS text
LANGUAGE sql VOLATILE PARALLEL RESTRICTED AS
  $$SELECT CASE WHEN random() < 0.1 THEN overlay(data PLACING 'ORIGINAL'
      FROM uniform(1, length(data) - 8) FOR 8) ELSE data END
    FROM (SELECT letters(low, high) AS data) AS made$$;

-- 4.3.2.3
CREATE FUNCTION last_name(number int) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$SELECT part[number / 100 + 1] || part[number / 10 % 10 + 1] || part[number % 10 + 1]
    FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION',
      'EING'] AS part) AS syllables$$;
