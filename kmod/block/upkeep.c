// SPDX-License-Identifier: GPL-2.0
/* Upkeep is known by what is called at its end (ends.c). */
#include <linux/blkdev.h>
#include <linux/cache.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "base/foreign.h"
#include "block/ends.h"
#include "block/upkeep.h"

#define GIVEN_BITS 8
#define NAME_AT offsetof(struct gendisk, disk_name)

/* Mostly less lies between the submission of a bio and the sleep for it. */
#define BEFORE_SLEEP_NS NSEC_PER_MSEC

/* Which task gave which such device critical I/O last; others may write. */
static struct given {
	u64 task;
	u64 device;
	u64 at_ns;
} given[1 << GIVEN_BITS] ____cacheline_aligned;

bool fgio_bio_is_upkeep(const struct bio *bio)
{
	return fgio_end_of((u64)bio->bi_end_io) == FGIO_END_UPKEEP;
}

/* Of disks that have upkeep; "md" and a number or an underscore. */
static const char *const stacked[] = { "dm-", "md" };

static bool begins_so(const char *name, const char *begins)
{
	return !strncmp(name, begins, strlen(begins));
}

/* Objects that may be gone are read in words. */
u64 fgio_disk_of_kind(u64 device, const char *begins)
{
	char words[2 * sizeof(u64)];
	u64 disk = device ? fgio_kernel_word(device +
					     offsetof(struct block_device,
						      bd_disk)) : 0;

	return disk &&
	       fgio_copy_kernel(words, disk + ALIGN_DOWN(NAME_AT, sizeof(u64)),
				sizeof(words)) &&
	       begins_so(words + NAME_AT % sizeof(u64), begins) ? disk : 0;
}

bool fgio_is_stacked(u64 device)
{
	return fgio_disk_of_kind(device, stacked[0]) ||
	       fgio_disk_of_kind(device, stacked[1]);
}

static bool is_served_by_others(const char *name)
{
	return begins_so(name, stacked[0]) || begins_so(name, stacked[1]) ||
	       begins_so(name, "loop");
}

void fgio_note_critical_to_stacked(const struct bio *bio)
{
	struct given *place = &given[hash_64((u64)current, GIVEN_BITS)];

	if (!is_served_by_others(bio->bi_bdev->bd_disk->disk_name) ||
	    !in_task())
		return;
	WRITE_ONCE(place->task, (u64)current);
	WRITE_ONCE(place->device, (u64)bio->bi_bdev);
	WRITE_ONCE(place->at_ns, ktime_get_ns());
}

u64 fgio_gave_critical_to_stacked(void)
{
	const struct given *place = &given[hash_64((u64)current, GIVEN_BITS)];

	return READ_ONCE(place->task) == (u64)current &&
			       READ_ONCE(place->at_ns) + BEFORE_SLEEP_NS >=
				       ktime_get_ns() ?
		       READ_ONCE(place->device) :
		       0;
}
