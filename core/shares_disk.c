// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What I/Os take of a disk that rotates, which does one at a time: a read takes
 * the time since the completion before it.
 *
 * A write completes as the disk's cache takes it, and the disk writes it later,
 * between the I/Os of others. So all that it took for writes is summed up: what
 * passed before completions of writes, and of reads, beside writes, what is beyond
 * the most that reads take. Writes pay for this sum by a plain model of a disk, in
 * which one elsewhere takes a seek more than one in order: when they go, and by
 * the ratio of sum and model in the last seconds, so a burst pays less than what
 * goes after it.
 */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

#define NS_PER_S 1000000000ULL
#define SECTOR_BYTES 512U

/*
 * Of writes, only the proportion of the two counts: 440 of 4 KiB a second, which a
 * cache puts in order, are what disks of 250 MB/s do, 200 those of 150.
 */
#define WRITE_SEEK_NS 4500000ULL
#define WRITE_BYTES_PER_S 180000000ULL
/* Of what is longer, discards most likely, the rest is no transfer. */
#define WRITE_SECTORS_MOST 32768U

/*
 * The most that reads take: a long seek and half a turn at 5,400 rpm, on inner
 * tracks. Of those in order as well: reads of some streams in order are all seeks.
 */
#define READ_SEEK_NS 16000000ULL
#define READ_BYTES_PER_S 60000000ULL
/* A single one beside writes may take this many times as much. */
#define READ_TIMES_MOST 4

/* A disk's cache keeps what was written for some seconds. */
#define CACHED_NS 3000000000ULL

/*
 * The sums decay with a time constant of 5 s, from the first time to the least,
 * for which they are what the model says: without writes, nothing else is known.
 */
#define INTERVAL_NS 100000000ULL
#define DECAY 50
#define FIRST_NS 2000000000ULL
#define LEAST_NS 100000000ULL

/* What writes take in parts of the model; a shingled disk logs small ones. */
#define RATIO_ONE 4096ULL
#define RATIO_LEAST (RATIO_ONE / 256)
#define RATIO_MOST (RATIO_ONE * 64)

void fgio_shares_disk_init(struct fgio_share_disk *disk)
{
	*disk = (struct fgio_share_disk){
		.ratio = RATIO_ONE,
		.took_ns = FIRST_NS,
		.modelled_ns = FIRST_NS,
	};
}

static u64 transfer_ns(u64 sectors, u64 bytes_per_s)
{
	return sectors * SECTOR_BYTES * NS_PER_S / bytes_per_s;
}

static u64 write_ns(const struct fgio_request *request)
{
	u64 sectors = smaller(request->sectors, WRITE_SECTORS_MOST);
	bool in_order = request->share.kind == fgio_share_kind(true, true);

	return transfer_ns(sectors, WRITE_BYTES_PER_S) +
	       (in_order ? 0 : WRITE_SEEK_NS);
}

static u64 read_most_ns(const struct fgio_request *request)
{
	return transfer_ns(request->sectors, READ_BYTES_PER_S) + READ_SEEK_NS;
}

/* Whether the cache may have writes that the disk has still to do. */
static bool has_cached(const struct fgio_shares *shares, u64 now_ns)
{
	return fgio_load(&shares->wrote) &&
	       now_ns < fgio_load(&shares->wrote_ns) + CACHED_NS;
}

/* ---- dispatch ---- */

static void learn_ratio(struct fgio_share_disk *disk, u64 now_ns)
{
	u64 ratio;

	disk->next_ns = now_ns + INTERVAL_NS;
	disk->took_ns -= disk->took_ns / DECAY;
	disk->modelled_ns -= disk->modelled_ns / DECAY;
	disk->took_ns += fgio_exchange(&disk->done_ns, 0) + LEAST_NS / DECAY;
	disk->modelled_ns += disk->sent_ns + LEAST_NS / DECAY;
	disk->sent_ns = 0;
	ratio = disk->took_ns * RATIO_ONE / disk->modelled_ns;
	disk->ratio = larger(smaller(ratio, RATIO_MOST), RATIO_LEAST);
}

static u64 charge_of_write(struct fgio_share_disk *disk,
			   const struct fgio_request *request)
{
	u64 modelled_ns = write_ns(request);

	disk->sent_ns += modelled_ns;
	return modelled_ns * disk->ratio / RATIO_ONE;
}

/* What its reads took of late; what this one takes beyond is owed. */
static u64 charge_of_read(const struct fgio_share_group *group, u64 now_ns)
{
	u64 mean_ns = fgio_load(&group->reads_ns) ?: FGIO_SHARES_DISK_FIRST_NS;
	u64 most_ns = fgio_load(&group->reads_most_ns) ?: mean_ns;

	if (has_cached(group->shares, now_ns))
		return smaller(mean_ns, most_ns);
	return mean_ns;
}

u64 fgio_shares_disk_charge(struct fgio_shares *shares,
			    const struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 charge_ns;

	fgio_share_group_settle_up_disk(group);
	if (now_ns >= shares->disk.next_ns)
		learn_ratio(&shares->disk, now_ns);
	charge_ns = request->write ? charge_of_write(&shares->disk, request) :
				     charge_of_read(group, now_ns);
	return smaller(charge_ns, FGIO_SHARES_CHARGE_MOST_NS);
}

/* ---- completion ---- */

/* A mean, in which one I/O counts for 1 / FGIO_SHARES_ALONE_STEP. */
static u64 follow(u64 *mean_ns, u64 value_ns)
{
	u64 known_ns = fgio_load(mean_ns);

	if (known_ns)
		value_ns = known_ns - known_ns / FGIO_SHARES_ALONE_STEP +
			   value_ns / FGIO_SHARES_ALONE_STEP;
	fgio_store(mean_ns, value_ns);
	return value_ns;
}

/*
 * What a read pays of the time that passed. Beside writes, in the mean no more
 * than the most that reads take.
 */
static u64 pays_of_read(struct fgio_shares *shares,
			const struct fgio_request *request, u64 took_ns,
			u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 most_ns = follow(&group->reads_most_ns, read_most_ns(request));
	u64 mean_ns = larger(fgio_load(&group->reads_ns), most_ns);
	u64 pays_ns = took_ns;

	follow(&group->reads_ns, took_ns);
	if (has_cached(shares, now_ns)) {
		pays_ns = smaller(took_ns * most_ns / mean_ns,
				  READ_TIMES_MOST * most_ns);
		fgio_add(&shares->disk.done_ns, took_ns - pays_ns);
	}
	/* The way to the first one of a slice is at the expense of all. */
	if (request->share.first && mean_ns <= most_ns)
		return smaller(pays_ns, request->share.charge_ns);
	return pays_ns;
}

void fgio_shares_disk_left(struct fgio_shares *shares,
			   const struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_group *group = request->share.group;
	u64 since_ns = larger(request->share.sent_ns,
			      fgio_load(&shares->left_ns));
	u64 took_ns = smaller(beyond(now_ns, since_ns),
			      FGIO_SHARES_CHARGE_MOST_NS);

	follow(&fgio_share_group_alone_of(group, request->write)->ns, took_ns);
	fgio_store(&shares->left_ns, now_ns);
	if (request->write)
		fgio_add(&shares->disk.done_ns, took_ns);
	else
		fgio_add(&group->owes_ns,
			 (s64)pays_of_read(shares, request, took_ns, now_ns) -
				 request->share.charge_ns);
}
