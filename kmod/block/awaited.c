// SPDX-License-Identifier: GPL-2.0
/*
 * What a task waits for may come in several I/Os one after the other: the halves
 * of a mirror, the writes of a parity RAID after its reads, a range of pages that
 * a task submits as it gets slots. A walk promotes those that it finds; without
 * this, each further one would wait for a walk of its own.
 *
 * Entries stay until the next walk, which may be far off: each counts only for as
 * long as its wait goes on, and that of the foreground task behind it.
 */
#include <linux/bio.h>
#include <linux/ktime.h>
#include <linux/seqlock.h>

#include "block/awaited.h"
#include "block/io_target.h"
#include "block/stripe.h"
#include "graph/wait.h"

/* Looked at for each non-critical bio, if their files or buffers may be its. */
#define AWAITED_MAX 32

/* From one wait of a task for the device mapper to its next: two walks. */
#define LINGER_NS (4 * NSEC_PER_MSEC)

struct awaited {
	struct fgio_lease lease;
	u64 until_ns;
	enum fgio_wanted_kind kind;
	u64 object;
	u64 first;
	u64 last;
};

static struct {
	seqcount_t changes;
	unsigned int count;
	/* A bit for each object, as in fgio_io_target. */
	u64 bits;
	/* One of them is for all I/O of the device mapper's own. */
	bool mappers_own;
	struct awaited entries[AWAITED_MAX];
} noted = { .changes = SEQCNT_ZERO(noted.changes) };

static void set_count(unsigned int count, u64 bits, bool mappers_own)
{
	WRITE_ONCE(noted.count, count);
	WRITE_ONCE(noted.bits, bits);
	WRITE_ONCE(noted.mappers_own, mappers_own);
}

/*
 * What the device mapper held up once it may hold up again, several times in one
 * commit: that stays noted for as long as the foreground task waits, and until
 * it may have begun its next wait.
 */
static bool is_valid(const struct awaited *entry)
{
	return fgio_lease_is_valid(&entry->lease) ||
	       (entry->kind == FGIO_WANTED_MAPPERS_OWN &&
		ktime_get_ns() < entry->until_ns);
}

static bool stays(struct awaited *entry)
{
	if (entry->kind != FGIO_WANTED_MAPPERS_OWN)
		return false;
	if (fgio_lease_is_valid(&entry->lease))
		entry->until_ns = ktime_get_ns() + LINGER_NS;
	return ktime_get_ns() < entry->until_ns;
}

void fgio_awaited_clear(void)
{
	unsigned int i, kept = 0;

	if (!noted.count)
		return;
	preempt_disable();
	write_seqcount_begin(&noted.changes);
	for (i = 0; i < noted.count; i++)
		if (stays(&noted.entries[i]))
			noted.entries[kept++] = noted.entries[i];
	set_count(kept, 0, kept);
	write_seqcount_end(&noted.changes);
	preempt_enable();
}

static struct fgio_lease lease_of(const struct fgio_wanted *wanted,
				  const struct fgio_link *link)
{
	u32 seq = wanted->wait.seq;
	u32 root_seq = link->task == link->root ? seq : link->root_seq;
	bool is_roots = wanted->kind == FGIO_WANTED_MAPPERS_OWN;

	return (struct fgio_lease){
		.root = link->root,
		.root_seq = root_seq,
		.waiter = is_roots ? link->root : link->task,
		.waiter_seq = is_roots ? root_seq : seq,
	};
}

static bool is_noted(const struct fgio_wanted *wanted,
		     const struct fgio_lease *lease)
{
	const struct awaited *entry;

	for (entry = noted.entries; entry < noted.entries + noted.count;
	     entry++)
		if (entry->object == wanted->object &&
		    entry->first == wanted->first &&
		    entry->last == wanted->last &&
		    entry->lease.waiter == lease->waiter &&
		    entry->lease.waiter_seq == lease->waiter_seq)
			return true;
	return false;
}

void fgio_awaited_note(const struct fgio_wanted *wanted,
		       const struct fgio_link *link)
{
	struct fgio_lease lease = lease_of(wanted, link);
	unsigned int count = noted.count;

	if (count == AWAITED_MAX ||
	    (wanted->kind != FGIO_WANTED_PAGES &&
	     wanted->kind != FGIO_WANTED_PRIVATE &&
	     wanted->kind != FGIO_WANTED_MAPPERS_OWN) ||
	    is_noted(wanted, &lease))
		return;
	preempt_disable();
	write_seqcount_begin(&noted.changes);
	noted.entries[count] = (struct awaited){
		.lease = lease,
		.until_ns = ktime_get_ns() + LINGER_NS,
		.kind = wanted->kind,
		.object = wanted->object,
		.first = wanted->first,
		.last = wanted->last,
	};
	set_count(count + 1, noted.bits | fgio_private_bit(wanted->object),
		  noted.mappers_own || wanted->kind == FGIO_WANTED_MAPPERS_OWN);
	write_seqcount_end(&noted.changes);
	preempt_enable();
}

/* One entry, as it is in between two changes. */
static bool read_entry(unsigned int i, struct awaited *entry)
{
	unsigned int changes;

	do {
		changes = read_seqcount_begin(&noted.changes);
		if (i >= READ_ONCE(noted.count))
			return false;
		*entry = noted.entries[i];
	} while (read_seqcount_retry(&noted.changes, changes));
	return true;
}

struct search {
	u64 object;
	bool found;
};

static void compare_privates(u64 address, struct bio *bio, void *data)
{
	u64 privates[FGIO_PRIVATES];
	struct search *search = data;

	fgio_privates_of_bio(address, bio, privates);
	search->found |= privates[0] == search->object ||
			 privates[1] == search->object;
}

static bool has_private(struct bio *bio, u64 object)
{
	struct search search = { .object = object };
	struct fgio_stripe_look look = {
		.visit = compare_privates,
		.data = &search,
	};

	if (!fgio_stripe_visit_below(bio, &look))
		compare_privates((u64)bio, bio, &search);
	return search.found;
}

static bool carries(const struct fgio_io_target *target, struct bio *bio,
		    const struct awaited *entry)
{
	if (entry->kind == FGIO_WANTED_MAPPERS_OWN)
		return target->mappers_own;
	if (entry->kind == FGIO_WANTED_PAGES)
		return entry->object == target->mapping &&
		       entry->first <= target->last &&
		       entry->last >= target->first;
	return target->privates & fgio_private_bit(entry->object) &&
	       has_private(bio, entry->object);
}

bool fgio_is_awaited(const struct fgio_io_target *target, struct bio *bio)
{
	u64 bits = READ_ONCE(noted.bits);
	struct awaited entry;
	unsigned int i;

	if (!(bits & target->privates) &&
	    !(target->mapping && bits & fgio_private_bit(target->mapping)) &&
	    !(target->mappers_own && READ_ONCE(noted.mappers_own)))
		return false;
	if (!fgio_may_boost())
		return false;
	for (i = 0; read_entry(i, &entry); i++)
		if (carries(target, bio, &entry) &&
		    is_valid(&entry))
			return true;
	return false;
}
