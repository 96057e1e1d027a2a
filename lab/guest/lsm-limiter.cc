// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// RocksDB's limit on the writes of compaction and flushes, which its C interface cannot have tuned.
#include <cstdint>
#include <memory>
#include <rocksdb/c.h>
#include <rocksdb/rate_limiter.h>

#include "lab/guest/lsm-limiter.h"

namespace {

constexpr int32_t kFairness = 10;  // RocksDB's own

}  // namespace

// As db/c.cc of RocksDB 7.8 has it. Were it another, limiter_passed() would not count.
struct rocksdb_ratelimiter_t {
	std::shared_ptr<rocksdb::RateLimiter> rep;
};

rocksdb_ratelimiter_t *make_limiter(int64_t bytes_s, int64_t refill_us, int is_tuned)
{
	return new rocksdb_ratelimiter_t{
		std::shared_ptr<rocksdb::RateLimiter>(rocksdb::NewGenericRateLimiter(
			bytes_s, refill_us, kFairness, rocksdb::RateLimiter::Mode::kWritesOnly,
			is_tuned != 0))};
}

int64_t limiter_bytes_s(const rocksdb_ratelimiter_t *limiter)
{
	return limiter->rep->GetBytesPerSecond();
}

int64_t limiter_passed(const rocksdb_ratelimiter_t *limiter)
{
	return limiter->rep->GetTotalBytesThrough();
}
