// SPDX-License-Identifier: GPL-2.0
/*
 * I/O of the device mapper's own is known by what is called at its end:
 *
 *	drivers/md/dm-io.c	endio: copies (dm-kcopyd.c), notes of snapshots,
 *				metadata of dm-writecache
 *	drivers/md/dm-bufio.c	bio_complete: metadata of thin pools and caches
 *
 * Both are static, so they are known by name. Names are looked up once for each
 * function that ends bios.
 */
#include <linux/blkdev.h>
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "base/foreign.h"
#include "block/mapper.h"

#define VERDICT_BITS 5
#define NAME_PREFIX "dm-"
#define NAME_AT offsetof(struct gendisk, disk_name)

/* At most this lies between the submission of a bio and the sleep for it. */
#define BEFORE_SLEEP_NS NSEC_PER_MSEC

static const char *const ends[] = {
	"endio [dm_mod]",
	"bio_complete [dm_bufio]",
};

/*
 * By function: its address, and in the lowest bit whether it is one of those.
 * Where another module's function takes the address of one that is gone, I/O of
 * it counts wrongly; nothing is called.
 */
static u64 verdicts[1 << VERDICT_BITS];

static u64 last_critical_ns;

static bool has_such_name(u64 function)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(name, function);
	return match_string(ends, ARRAY_SIZE(ends), name) >= 0;
}

bool fgio_is_mappers_own(const struct bio *bio)
{
	u64 function = (u64)bio->bi_end_io;
	u64 *place = &verdicts[hash_64(function, VERDICT_BITS)];
	u64 verdict = READ_ONCE(*place);

	if (!function || function & 1)
		return false;
	if ((verdict & ~1ULL) != function) {
		verdict = function | has_such_name(function);
		WRITE_ONCE(*place, verdict);
	}
	return verdict & 1;
}

static bool is_mappers_name(const char *name)
{
	return !strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX));
}

/* Objects that may be gone are read in words. */
static bool is_mappers_disk(u64 disk)
{
	char words[2 * sizeof(u64)];

	return fgio_copy_kernel(words, disk + ALIGN_DOWN(NAME_AT, sizeof(u64)),
				sizeof(words)) &&
	       is_mappers_name(words + NAME_AT % sizeof(u64));
}

bool fgio_is_mapper(u64 device)
{
	u64 disk = device ? fgio_kernel_word(device +
					     offsetof(struct block_device,
						      bd_disk)) : 0;

	return disk && is_mappers_disk(disk);
}

void fgio_mapper_note_critical(const struct bio *bio)
{
	if (is_mappers_name(bio->bi_bdev->bd_disk->disk_name))
		WRITE_ONCE(last_critical_ns, ktime_get_ns());
}

bool fgio_mapper_has_critical_since(u64 since_ns)
{
	u64 last_ns = READ_ONCE(last_critical_ns);

	return last_ns && last_ns + BEFORE_SLEEP_NS >= since_ns;
}
