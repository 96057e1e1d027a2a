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
#include "block/loop.h"
#include "block/originals.h"
#include "graph/layer.h"
#include "graph/wait.h"

/* Looked at for each non-critical bio, if their files or buffers may be its. */
#define AWAITED_MAX 32

struct awaited {
	struct fgio_lease lease;
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
	struct awaited entries[AWAITED_MAX];
} noted = { .changes = SEQCNT_ZERO(noted.changes) };

static u64 upkeep_until_ns;

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

static struct fgio_lease lease_of(const struct fgio_wanted *wanted,
				  const struct fgio_link *link)
{
	u32 seq = wanted->wait.seq;

	return (struct fgio_lease){
		.root = link->root,
		.root_seq = link->task == link->root ? seq : link->root_seq,
		.waiter = link->task,
		.waiter_seq = seq,
	};
}

static bool is_noted(const struct fgio_wanted *wanted, u64 task)
{
	const struct awaited *entry;

	for (entry = noted.entries; entry < noted.entries + noted.count;
	     entry++)
		if (entry->object == wanted->object &&
		    entry->first == wanted->first &&
		    entry->last == wanted->last &&
		    entry->lease.waiter == task &&
		    entry->lease.waiter_seq == wanted->wait.seq)
			return true;
	return false;
}

void fgio_awaited_note(const struct fgio_wanted *wanted,
		       const struct fgio_link *link)
{
	unsigned int count = noted.count;

	if (count == AWAITED_MAX ||
	    (wanted->kind != FGIO_WANTED_PAGES &&
	     wanted->kind != FGIO_WANTED_PRIVATE) ||
	    is_noted(wanted, link->task))
		return;
	preempt_disable();
	write_seqcount_begin(&noted.changes);
	noted.entries[count] = (struct awaited){
		.lease = lease_of(wanted, link),
		.kind = wanted->kind,
		.object = wanted->object,
		.first = wanted->first,
		.last = wanted->last,
	};
	set_count(count + 1, noted.bits | fgio_private_bit(wanted->object));
	write_seqcount_end(&noted.changes);
	preempt_enable();
}

void fgio_awaited_note_upkeep(void)
{
	WRITE_ONCE(upkeep_until_ns, ktime_get_ns() + FGIO_AWAITED_NS);
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
	struct fgio_originals_look look = {
		.visit = compare_privates,
		.data = &search,
	};

	if (!fgio_originals_visit_below(bio, &look))
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

static bool upkeep_is_awaited(void)
{
	return fgio_lasts_until(READ_ONCE(upkeep_until_ns)) && fgio_may_boost();
}

bool fgio_is_awaited(const struct fgio_io_target *target, struct bio *bio)
{
	u64 bits = READ_ONCE(noted.bits);
	struct awaited entry;
	unsigned int i;

	if (target->upkeep && upkeep_is_awaited())
		return true;
	if (!target->for_others && fgio_loop_awaits(bio) && fgio_may_boost())
		return true;
	if (!(bits & target->privates) &&
	    !(target->mapping && bits & fgio_private_bit(target->mapping)))
		return false;
	if (!fgio_may_boost())
		return false;
	for (i = 0; read_entry(i, &entry); i++)
		if (carries(target, bio, &entry) &&
		    fgio_lease_is_valid(&entry.lease))
			return true;
	return false;
}
