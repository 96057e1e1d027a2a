/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The few atomic operations that core needs, on plain integers, by compiler
 * built-ins: the same in the kernel, in native tests and in the simulator.
 *
 * fgio_load() and fgio_store() are relaxed (the kernel's READ_ONCE and
 * WRITE_ONCE); fgio_load_acquire() orders later accesses after it. All
 * read-modify-write operations are full barriers, like the kernel's
 * value-returning atomics.
 */
#ifndef FGIO_CORE_ATOMIC_H
#define FGIO_CORE_ATOMIC_H

#include "types.h"

/*
 * __ATOMIC_SEQ_CST alone is no full barrier: on arm64 it is an acquiring load
 * and a releasing store, and a later load may pass the store. On x86 a locked
 * instruction is one, so only the compiler needs a barrier there.
 */
#if defined(__x86_64__)
#define fgio_barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define fgio_barrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

#define fgio_ordered(operation)                         \
	({                                              \
		__typeof__(operation) ordered_;         \
							\
		fgio_barrier();                         \
		ordered_ = (operation);                 \
		fgio_barrier();                         \
		ordered_;                               \
	})

#define fgio_load(pointer) __atomic_load_n((pointer), __ATOMIC_RELAXED)
#define fgio_load_acquire(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
#define fgio_store(pointer, value) \
	__atomic_store_n((pointer), (value), __ATOMIC_RELAXED)
#define fgio_add(pointer, value) \
	fgio_ordered(__atomic_add_fetch((pointer), (value), __ATOMIC_SEQ_CST))
#define fgio_sub(pointer, value) \
	fgio_ordered(__atomic_sub_fetch((pointer), (value), __ATOMIC_SEQ_CST))
#define fgio_exchange(pointer, value) \
	fgio_ordered(__atomic_exchange_n((pointer), (value), __ATOMIC_SEQ_CST))
/* On failure, *@expected is set to the present value. Return: success. */
#define fgio_replace(pointer, expected, value)                        \
	fgio_ordered(__atomic_compare_exchange_n((pointer), (expected), \
						 (value), false,        \
						 __ATOMIC_SEQ_CST,      \
						 __ATOMIC_RELAXED))

/* Never lowers *@pointer. */
static inline void fgio_raise(u64 *pointer, u64 value)
{
	u64 seen = fgio_load(pointer);

	while (seen < value && !fgio_replace(pointer, &seen, value))
		;
}

#endif /* FGIO_CORE_ATOMIC_H */
