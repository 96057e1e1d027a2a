// SPDX-License-Identifier: GPL-2.0
/*
 * Upkeep is known by what is called at its end:
 *
 *	drivers/md/dm-io.c	endio: copies (dm-kcopyd.c), notes of snapshots,
 *				metadata of dm-writecache
 *	drivers/md/dm-bufio.c	bio_complete: metadata of thin pools and caches
 *	drivers/md/md.c		super_written: superblocks and bitmaps of arrays
 *
 * All are static, so they are known by name. Names are looked up once for each
 * function that ends bios.
 */
#include <linux/blkdev.h>
#include <linux/cache.h>
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "base/foreign.h"
#include "block/upkeep.h"

#define VERDICT_BITS 6
#define VERDICT_WAYS 2
#define GIVEN_BITS 8
#define NAME_AT offsetof(struct gendisk, disk_name)

/* Mostly less lies between the submission of a bio and the sleep for it. */
#define BEFORE_SLEEP_NS NSEC_PER_MSEC

static const char *const ends[] = {
	"endio [dm_mod]",
	"bio_complete [dm_bufio]",
	"super_written [md_mod]",
};

/*
 * By function: its address, and in the lowest bit whether it is one of those.
 * Where another module's function takes the address of one that is gone, I/O of
 * it counts wrongly; nothing is called.
 */
static u64 verdicts[1 << VERDICT_BITS][VERDICT_WAYS];

/* Which task gave a stacked device critical I/O last, and when; others may write. */
static struct given {
	u64 task;
	u64 at_ns;
} given[1 << GIVEN_BITS] ____cacheline_aligned;

static noinline bool has_such_name(u64 function)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(name, function);
	return match_string(ends, ARRAY_SIZE(ends), name) >= 0;
}

bool fgio_bio_is_upkeep(const struct bio *bio)
{
	u64 function = (u64)bio->bi_end_io;
	u64 *ways = verdicts[hash_64(function, VERDICT_BITS)];
	unsigned int i;
	u64 verdict;

	if (!function || function & 1)
		return false;
	for (i = 0; i < VERDICT_WAYS; i++) {
		verdict = READ_ONCE(ways[i]);
		if ((verdict & ~1ULL) == function)
			return verdict & 1;
	}
	verdict = function | has_such_name(function);
	WRITE_ONCE(ways[1], READ_ONCE(ways[0]));
	WRITE_ONCE(ways[0], verdict);
	return verdict & 1;
}

/* Of disks that have upkeep; "md" and a number or an underscore. */
static bool is_stacked_name(const char *name)
{
	return !strncmp(name, "dm-", 3) || !strncmp(name, "md", 2);
}

/* Objects that may be gone are read in words. */
static bool is_stacked_disk(u64 disk)
{
	char words[2 * sizeof(u64)];

	return fgio_copy_kernel(words, disk + ALIGN_DOWN(NAME_AT, sizeof(u64)),
				sizeof(words)) &&
	       is_stacked_name(words + NAME_AT % sizeof(u64));
}

bool fgio_is_stacked(u64 device)
{
	u64 disk = device ? fgio_kernel_word(device +
					     offsetof(struct block_device,
						      bd_disk)) : 0;

	return disk && is_stacked_disk(disk);
}

void fgio_note_critical_to_stacked(const struct bio *bio)
{
	struct given *place = &given[hash_64((u64)current, GIVEN_BITS)];

	if (!is_stacked_name(bio->bi_bdev->bd_disk->disk_name) || !in_task())
		return;
	WRITE_ONCE(place->task, (u64)current);
	WRITE_ONCE(place->at_ns, ktime_get_ns());
}

bool fgio_gave_critical_to_stacked(void)
{
	const struct given *place = &given[hash_64((u64)current, GIVEN_BITS)];

	return READ_ONCE(place->task) == (u64)current &&
	       READ_ONCE(place->at_ns) + BEFORE_SLEEP_NS >= ktime_get_ns();
}
