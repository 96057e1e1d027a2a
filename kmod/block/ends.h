/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of drivers that end I/O, by which the I/O is known. All are static, so
 * they are known by name.
 */
#ifndef FGIO_BLOCK_ENDS_H
#define FGIO_BLOCK_ENDS_H

#include <linux/types.h>

enum fgio_end {
	FGIO_END_OTHER,
	FGIO_END_UPKEEP, /* of upkeep.h */
	FGIO_END_LOOP,	 /* direct I/O of a loop device */
	FGIO_END_OVERLAY, /* direct I/O of overlayfs, for a kiocb of others */
};

/* What a function ends. @function: any word. Context: any. */
enum fgio_end fgio_end_of(u64 function);

#endif /* FGIO_BLOCK_ENDS_H */
