/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* RocksDB's limit on the writes of compaction and flushes, for lsm-clients. */
#ifndef LSM_LIMITER_H
#define LSM_LIMITER_H

#include <rocksdb/c.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A limit of bytes_s, refilled every refill_us; or one that is tuned by itself below that. */
rocksdb_ratelimiter_t *make_limiter(int64_t bytes_s, int64_t refill_us, int is_tuned);
/* The present limit in bytes a second. */
int64_t limiter_bytes_s(const rocksdb_ratelimiter_t *limiter);
/* Bytes that went through it. */
int64_t limiter_passed(const rocksdb_ratelimiter_t *limiter);

#ifdef __cplusplus
}
#endif

#endif
