-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- The consistency conditions of TPC-C (clauses 3.3.2.1 to 3.3.2.12): a row for each, its number and
-- how many violate it.
WITH bills AS (
  SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS bought FROM orders
    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
      AND ol_delivery_d IS NOT NULL
    GROUP BY 1, 2, 3)
SELECT 1, count(*) FROM warehouse
  WHERE w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)
UNION ALL
SELECT 2, count(*) FROM district
  WHERE d_next_o_id - 1 <> (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
    OR d_next_o_id - 1 <>
      (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)
UNION ALL
SELECT 3, count(*) FROM (SELECT FROM new_order GROUP BY no_w_id, no_d_id
  HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS gaps
UNION ALL
SELECT 4, count(*) FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS lines FROM orders GROUP BY 1, 2) AS o
  FULL JOIN (SELECT ol_w_id, ol_d_id, count(*) AS lines FROM order_line GROUP BY 1, 2) AS l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE o.lines IS DISTINCT FROM l.lines
UNION ALL
SELECT 5, count(*) FROM orders FULL JOIN new_order
    ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
  WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL) OR o_id IS NULL
UNION ALL
SELECT 6, count(*) FROM orders FULL JOIN
    (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines FROM order_line GROUP BY 1, 2, 3) AS l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
  WHERE o_ol_cnt IS DISTINCT FROM lines
UNION ALL
SELECT 7, count(*) FROM order_line
    JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
  WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)
UNION ALL
SELECT 8, count(*) FROM warehouse
  WHERE w_ytd <> (SELECT sum(h_amount) FROM history WHERE h_w_id = w_id)
UNION ALL
SELECT 9, count(*) FROM district
  JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY 1, 2) AS h
    ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> paid
UNION ALL
SELECT 10, count(*) FROM customer
  LEFT JOIN bills ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
  LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history GROUP BY 1, 2, 3)
      AS p ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
  WHERE c_balance <> coalesce(bought, 0) - coalesce(paid, 0)
UNION ALL
SELECT 11, count(*) FROM district WHERE
  (SELECT count(*) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
  - (SELECT count(*) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)
  <> 2100 + (SELECT coalesce(sum(c_delivery_cnt), 0) FROM customer
    WHERE c_w_id = d_w_id AND c_d_id = d_id)
UNION ALL
SELECT 12, count(*) FROM customer
  LEFT JOIN bills ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
  WHERE c_balance + c_ytd_payment <> coalesce(bought, 0)
ORDER BY 1;
