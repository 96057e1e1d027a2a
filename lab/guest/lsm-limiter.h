/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* RocksDB's limit on what compaction and flushes write, for lsm-clients. */
#ifndef LSM_LIMITER_H
#define LSM_LIMITER_H

#include <rocksdb/c.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of so many bytes a second, refilled so often; or tuned by itself below that. */
rocksdb_ratelimiter_t *make_limiter(int64_t bytes_s, int64_t refill_us, int is_tuned);
/* What it lets through a second now. */
int64_t limiter_bytes_s(const rocksdb_ratelimiter_t *limiter);
/* Bytes that went through it. */
int64_t limiter_passed(const rocksdb_ratelimiter_t *limiter);

#ifdef __cplusplus
}
#endif

#endif
