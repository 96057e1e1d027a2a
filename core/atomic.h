/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The few atomic operations that core needs, on plain integers, by compiler
 * built-ins: the same in the kernel, in native tests and in the simulator.
 *
 * Loads and stores are relaxed (the kernel's READ_ONCE and WRITE_ONCE);
 * fgio_add(), fgio_sub() and fgio_exchange() are full barriers.
 */
#ifndef FGIO_CORE_ATOMIC_H
#define FGIO_CORE_ATOMIC_H

#define fgio_load(pointer) __atomic_load_n((pointer), __ATOMIC_RELAXED)
#define fgio_store(pointer, value) \
	__atomic_store_n((pointer), (value), __ATOMIC_RELAXED)
#define fgio_add(pointer, value) \
	__atomic_add_fetch((pointer), (value), __ATOMIC_SEQ_CST)
#define fgio_sub(pointer, value) \
	__atomic_sub_fetch((pointer), (value), __ATOMIC_SEQ_CST)
#define fgio_exchange(pointer, value) \
	__atomic_exchange_n((pointer), (value), __ATOMIC_SEQ_CST)

#endif /* FGIO_CORE_ATOMIC_H */
