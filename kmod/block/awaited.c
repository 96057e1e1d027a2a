// SPDX-License-Identifier: GPL-2.0
/*
 * What a task waits for may come in several I/Os one after the other: the halves
 * of a mirror, the writes of a parity RAID after its reads, a range of pages that
 * a task submits as it gets slots. A walk promotes those that it finds; without
 * this, each further one would wait for a walk of its own.
 *
 * Entries stay until the next walk, which may be far off: each counts only for as
 * long as its wait goes on.
 */
#include <linux/bio.h>
#include <linux/seqlock.h>

#include "block/awaited.h"
#include "block/io_target.h"
#include "block/stripe.h"
#include "graph/wait.h"

/* Looked at for each non-critical bio, if their files or buffers may be its. */
#define AWAITED_MAX 32

struct awaited {
	enum fgio_wanted_kind kind;
	u32 seq;
	u64 task;
	u64 object;
	u64 first;
	u64 last;
};

static struct {
	seqcount_t changes;
	unsigned int count;
	/* A bit for each object, as in fgio_io_target. */
	u64 bits;
	struct awaited entries[AWAITED_MAX];
} noted = { .changes = SEQCNT_ZERO(noted.changes) };

static void set_count(unsigned int count, u64 bits)
{
	WRITE_ONCE(noted.count, count);
	WRITE_ONCE(noted.bits, bits);
}

void fgio_awaited_clear(void)
{
	if (!noted.count)
		return;
	preempt_disable();
	write_seqcount_begin(&noted.changes);
	set_count(0, 0);
	write_seqcount_end(&noted.changes);
	preempt_enable();
}

void fgio_awaited_note(const struct fgio_wanted *wanted, u64 task)
{
	unsigned int count = noted.count;

	if (count == AWAITED_MAX || (wanted->kind != FGIO_WANTED_PAGES &&
				     wanted->kind != FGIO_WANTED_PRIVATE))
		return;
	preempt_disable();
	write_seqcount_begin(&noted.changes);
	noted.entries[count] = (struct awaited){
		.kind = wanted->kind,
		.seq = wanted->wait.seq,
		.task = task,
		.object = wanted->object,
		.first = wanted->first,
		.last = wanted->last,
	};
	set_count(count + 1, noted.bits | fgio_private_bit(wanted->object));
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

	if (!fgio_stripe_visit_below(bio, compare_privates, &search))
		compare_privates((u64)bio, bio, &search);
	return search.found;
}

static bool carries(const struct fgio_io_target *target, struct bio *bio,
		    const struct awaited *entry)
{
	if (entry->kind == FGIO_WANTED_PAGES)
		return entry->object == target->mapping &&
		       entry->first <= target->last &&
		       entry->last >= target->first;
	return target->privates & fgio_private_bit(entry->object) &&
	       has_private(bio, entry->object);
}

static bool goes_on(const struct awaited *entry)
{
	unsigned long flags;

	if (!fgio_wait_hold(entry->task, entry->seq, &flags))
		return false;
	fgio_wait_release(entry->task, flags);
	return true;
}

bool fgio_is_awaited(const struct fgio_io_target *target, struct bio *bio)
{
	u64 bits = READ_ONCE(noted.bits);
	struct awaited entry;
	unsigned int i;

	if (!(bits & target->privates) &&
	    !(target->mapping && bits & fgio_private_bit(target->mapping)))
		return false;
	for (i = 0; read_entry(i, &entry); i++)
		if (carries(target, bio, &entry) && goes_on(&entry))
			return true;
	return false;
}
