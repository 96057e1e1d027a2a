// SPDX-License-Identifier: GPL-2.0
/*
 * Names are looked up once for each function that ends bios:
 *
 *	drivers/md/dm-io.c	endio: copies (dm-kcopyd.c), notes of snapshots,
 *				metadata of dm-writecache
 *	drivers/md/dm-bufio.c	bio_complete: metadata of thin pools and caches
 *	drivers/md/md.c		super_written: superblocks and bitmaps of arrays
 *	drivers/block/loop.c	lo_rw_aio_complete, of a kiocb
 *	fs/backing-file.c	backing_aio_rw_complete and, for writes,
 *				backing_aio_queue_completion, of a kiocb
 *	fs/overlayfs/file.c	ovl_aio_rw_complete, the same (6.1)
 */
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/string.h>

#include "block/ends.h"

#define VERDICT_BITS 6
#define VERDICT_WAYS 4
/* In the lowest bits of a verdict: an enum fgio_end. Functions are aligned. */
#define END_MASK 3ULL

static const struct {
	const char *name;
	enum fgio_end end;
} ends[] = {
	{ "endio [dm_mod]", FGIO_END_UPKEEP },
	{ "bio_complete [dm_bufio]", FGIO_END_UPKEEP },
	{ "super_written [md_mod]", FGIO_END_UPKEEP },
	{ "lo_rw_aio_complete [loop]", FGIO_END_LOOP },
	{ "lo_rw_aio_complete", FGIO_END_LOOP },
	{ "backing_aio_rw_complete", FGIO_END_OVERLAY },
	{ "backing_aio_queue_completion", FGIO_END_OVERLAY },
	{ "ovl_aio_rw_complete [overlay]", FGIO_END_OVERLAY },
};

/*
 * By function: its address, and what it ends. Where another module's function
 * takes the address of one that is gone, I/O of it counts wrongly; nothing is
 * called.
 */
static u64 verdicts[1 << VERDICT_BITS][VERDICT_WAYS];

static noinline enum fgio_end look_up(u64 function)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;

	sprint_symbol_no_offset(name, function);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		if (!strcmp(name, ends[i].name))
			return ends[i].end;
	return FGIO_END_OTHER;
}

enum fgio_end fgio_end_of(u64 function)
{
	u64 *ways = verdicts[hash_64(function, VERDICT_BITS)];
	unsigned int i;
	u64 verdict;

	if (!function || function & END_MASK)
		return FGIO_END_OTHER;
	for (i = 0; i < VERDICT_WAYS; i++) {
		verdict = READ_ONCE(ways[i]);
		if ((verdict & ~END_MASK) == function)
			return verdict & END_MASK;
	}
	verdict = function | look_up(function);
	for (i = VERDICT_WAYS - 1; i; i--)
		WRITE_ONCE(ways[i], READ_ONCE(ways[i - 1]));
	WRITE_ONCE(ways[0], verdict);
	return verdict & END_MASK;
}
