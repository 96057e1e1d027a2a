// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The run time of -fsanitize=thread, all of it that core's code needs. The
 * names are the compiler's (gcc's sanitizer.def), so they are declared nowhere.
 */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"

#include <stdlib.h>
#include <string.h>

#include "../tests/check.h"
#include "lines.h"

#define LINE_SHIFT 6
#define TABLE_BITS 18
#define TABLE (1U << TABLE_BITS)
/* Further from the frame of this thread's step than its stack can be. */
#define STACK_BYTES (64U << 10)

/**
 * struct line - one line
 * @address: its address, in lines; 0: this entry is free
 * @copies: a bit for each CPU that has a copy
 * @call: the call in which it was last written
 */
struct line {
	u64 address;
	u64 copies;
	u64 call;
};

static struct line table[TABLE];
static u32 used;
static u64 call;
static u32 cpu;
static u64 stack;
static u32 held[BENCH_LOCKS];
static struct bench_lines totals[BENCH_PLACES];

void bench_lines_reset(void)
{
	memset(table, 0, sizeof(table));
	used = 0;
	bench_lines_begin();
}

void bench_lines_begin(void)
{
	memset(totals, 0, sizeof(totals));
}

void bench_lines_step(u32 now_acts)
{
	cpu = now_acts;
	call++;
	stack = (u64)__builtin_frame_address(0);
}

struct bench_lines bench_lines_of(enum bench_place place)
{
	return totals[place];
}

static enum bench_place place_now(void)
{
	if (held[BENCH_DEVICE_LOCK])
		return BENCH_UNDER_DEVICE_LOCK;
	return held[BENCH_QUEUE_LOCK] ? BENCH_UNDER_QUEUE_LOCK :
					BENCH_UNDER_NO_LOCK;
}

/* The line of the lock itself counts: it comes with what the lock protects. */
void bench_lines_lock(enum bench_lock_kind kind)
{
	held[kind]++;
	totals[place_now()].locks++;
}

void bench_lines_unlock(enum bench_lock_kind kind)
{
	held[kind]--;
}

static struct line *find(u64 address)
{
	u64 at = (address * 0x9e3779b97f4a7c15ULL) >> (64 - TABLE_BITS);

	while (table[at].address && table[at].address != address)
		at = (at + 1) % TABLE;
	if (!table[at].address) {
		CHECK(++used < TABLE / 2);
		table[at].address = address;
	}
	return &table[at];
}

static void load(u64 address)
{
	struct line *line = find(address);
	u64 own = 1ULL << cpu;

	if (line->copies && !(line->copies & own) && line->call)
		totals[place_now()].loads++;
	line->copies |= own;
}

static void store(u64 address)
{
	struct line *line = find(address);
	u64 own = 1ULL << cpu;

	if (line->call != call)
		totals[place_now()].written++;
	if (line->copies & ~own)
		totals[place_now()].stores++;
	line->copies = own;
	line->call = call;
}

static bool is_on_stack(u64 address)
{
	return address - (stack - STACK_BYTES) < 2 * STACK_BYTES;
}

static void touch(const void *pointer, size_t bytes, bool writes)
{
	u64 first = (u64)pointer;

	if (is_on_stack(first) || !bytes)
		return;
	for (u64 address = first >> LINE_SHIFT;
	     address <= (first + bytes - 1) >> LINE_SHIFT; address++) {
		if (writes)
			store(address);
		else
			load(address);
	}
}

void bench_lines_wrote(const void *pointer, size_t bytes)
{
	struct bench_lines before[BENCH_PLACES];

	memcpy(before, totals, sizeof(totals));
	touch(pointer, bytes, true);
	memcpy(totals, before, sizeof(totals));
}

/* ---- what the compiler calls ---- */

void __tsan_init(void)
{
}

void __tsan_func_entry(void *from)
{
	(void)from;
}

void __tsan_func_exit(void)
{
}

#define PLAIN(bytes)                                   \
	void __tsan_read##bytes(void *pointer)         \
	{                                              \
		touch(pointer, bytes, false);          \
	}                                              \
	void __tsan_write##bytes(void *pointer)        \
	{                                              \
		touch(pointer, bytes, true);           \
	}                                              \
	void __tsan_unaligned_read##bytes(void *pointer) \
	{                                              \
		touch(pointer, bytes, false);          \
	}                                              \
	void __tsan_unaligned_write##bytes(void *pointer) \
	{                                              \
		touch(pointer, bytes, true);           \
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *pointer, size_t bytes)
{
	touch(pointer, bytes, false);
}

void __tsan_write_range(void *pointer, size_t bytes)
{
	touch(pointer, bytes, true);
}

void __tsan_volatile_read1(void *pointer)
{
	touch(pointer, 1, false);
}

void __tsan_volatile_write1(void *pointer)
{
	touch(pointer, 1, true);
}

/*
 * The whole line is fetched to be written, even where a comparison fails. Those
 * that core does not use are left out: the linker would miss them.
 */
#define ATOMIC(type, prefix)                                            \
	void prefix##store(void *pointer, type value, int order)        \
	{                                                               \
		(void)order;                                            \
		touch(pointer, sizeof(type), true);                     \
		__atomic_store_n((type *)pointer, value, __ATOMIC_SEQ_CST); \
	}                                                               \
	type prefix##load(void *pointer, int order)                     \
	{                                                               \
		(void)order;                                            \
		touch(pointer, sizeof(type), false);                    \
		return __atomic_load_n((type *)pointer, __ATOMIC_SEQ_CST); \
	}                                                               \
	type prefix##exchange(void *pointer, type value, int order)     \
	{                                                               \
		(void)order;                                            \
		touch(pointer, sizeof(type), true);                     \
		return __atomic_exchange_n((type *)pointer, value, __ATOMIC_SEQ_CST); \
	}                                                               \
	type prefix##fetch_add(void *pointer, type value, int order)    \
	{                                                               \
		(void)order;                                            \
		touch(pointer, sizeof(type), true);                     \
		return __atomic_fetch_add((type *)pointer, value, __ATOMIC_SEQ_CST); \
	}                                                               \
	type prefix##fetch_sub(void *pointer, type value, int order)    \
	{                                                               \
		(void)order;                                            \
		touch(pointer, sizeof(type), true);                     \
		return __atomic_fetch_sub((type *)pointer, value, __ATOMIC_SEQ_CST); \
	}                                                               \
	bool prefix##compare_exchange_strong(void *pointer, void *expected, \
					     type value, int order, int other) \
	{                                                               \
		(void)order;                                            \
		(void)other;                                            \
		touch(pointer, sizeof(type), true);                     \
		return __atomic_compare_exchange_n((type *)pointer,     \
						   (type *)expected, value, \
						   false, __ATOMIC_SEQ_CST, \
						   __ATOMIC_SEQ_CST);   \
	}

ATOMIC(u8, __tsan_atomic8_)
ATOMIC(u16, __tsan_atomic16_)
ATOMIC(u32, __tsan_atomic32_)
ATOMIC(u64, __tsan_atomic64_)

void __tsan_atomic_thread_fence(int order)
{
	(void)order;
}

void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}
