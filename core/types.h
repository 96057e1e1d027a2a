/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The integer types of core: the kernel's own in a module, the same names
 * natively. This is the only file of core that knows the difference.
 */
#ifndef FGIO_CORE_TYPES_H
#define FGIO_CORE_TYPES_H

#ifdef __KERNEL__
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

/* What few I/Os need: its registers are not saved for the others. */
#define FGIO_SELDOM __attribute__((__noinline__))

#endif /* FGIO_CORE_TYPES_H */
