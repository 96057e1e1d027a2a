// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the I/O that is waited for in the block layer and makes it critical
 * (FAST'17 paper, section 4.4): asleep in admission, or queued. I/O in the
 * device cannot be promoted, but is found.
 *
 * Wanted I/O is hashed once per call, since thousands of requests may be
 * queued. Requests are compared by their summary first (struct fgio_io_target),
 * and bio by bio only where that does not decide.
 *
 * All data here is the walk's thread's own.
 */
#include <linux/log2.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>

#include "base/mechanism.h"
#include "base/scale.h"
#include "block/admission.h"
#include "block/awaited.h"
#include "block/direct.h"
#include "block/elevator.h"
#include "block/io_target.h"
#include "block/originals.h"
#include "block/promote.h"
#include "block/queues.h"
#include "block/request_order.h"
#include "core/reason.h"
#include "graph/layer.h"
#include "graph/walk.h"

/*
 * Wanted pages are hashed by file and by block of 2^BLOCK_SHIFT pages; ranges
 * that cross the border of a block by file alone.
 */
#define BLOCK_SHIFT 6
#define WHOLE_FILE U64_MAX

/*
 * Requests of a rank of which any will do that are moved in one go: each ends
 * such a wait, or nearly, and all may be wanted.
 */
#define ANY_MAX 4

/* Found requests that are moved in one hold of the queue's lock. */
#define MOVES_MAX 32

/* Blocks that are looked up one by one; beyond, all wanted I/O is compared. */
#define BLOCKS_MAX 64

#define NONE U32_MAX

/**
 * struct note - bookkeeping of a wanted I/O
 * @next: the next one of the same hash
 * @same_as: the first one with the same I/O, which stands for all
 * @seen: serial of the last request in which it was found
 * @actions: FGIO_BLAME_* done for it
 * @awaits_turn: it is in a request that waits for the turn of other groups
 */
struct note {
	u32 next;
	u32 same_as;
	u32 seen;
	u32 actions;
	bool awaits_turn;
};

/* The order in which wanted requests move: the higher first. */
enum rank {
	RANK_NONE,
	RANK_ANY,   /* one of many, any of which will do */
	RANK_RANGE, /* one of a range, or its submitter is waited for */
	RANK_EXACT, /* this very page or buffer is waited for */
};

/**
 * struct match - a queued request that is wanted
 * @tag_set: the tag set of its slot
 * @tag: the number of its slot
 * @rank: its rank
 * @waiter: the foreground task that waits for it
 * @queued_ns: the time at which it was queued
 */
struct match {
	struct fgio_tag_set *tag_set;
	unsigned int tag;
	enum rank rank;
	u64 waiter;
	u64 queued_ns;
};

static struct {
	struct fgio_walk *walk;
	struct fgio_wanted *wanted;
	unsigned int count;
	struct note *notes;
	u32 *heads;
	unsigned int head_bits;
	/* Open addressing: index of a link, or NONE. */
	u32 *links;
	unsigned int link_bits;
	u32 serial;
	/* The last request is queued, for the turn of other groups. */
	bool awaits_turn;
	/* The first foreground task that waits for the last request. */
	u64 waiter;
	/* A bit for each of these, as in fgio_io_target. */
	u64 privates;
	u64 files;
	u64 contexts;
	bool log_writes;
	bool any_data;
	bool own;
	bool upkeep;
	bool may_promote;
	struct match *matches;
	unsigned int match_count;
	bool moved;
	/* The walk whose wanted I/O is noted (awaited.h). */
	u32 noted_number;
	/* Of the last call: a repetition is skipped. */
	u32 last_number;
	u32 last_count;
} pass;

static u64 promoted_requests;
static u64 promoted_sleepers;

/* --- tasks of the walk -------------------------------------------------- */

static u32 *link_place(u64 task)
{
	u32 mask = (1U << pass.link_bits) - 1;
	u32 at = hash_64(task, pass.link_bits);

	while (pass.links[at] != NONE &&
	       pass.walk->links[pass.links[at]].task != task)
		at = (at + 1) & mask;
	return &pass.links[at];
}

static u32 link_count(void)
{
	return min(pass.walk->count, FGIO_LINKS_MAX);
}

static void index_links(void)
{
	u32 link;

	pass.link_bits = order_base_2(2 * link_count() + 2);
	memset32(pass.links, NONE, 1U << pass.link_bits);
	for (link = 0; link < link_count(); link++)
		*link_place(pass.walk->links[link].task) = link;
}

/* --- wanted I/O --------------------------------------------------------- */

static u32 *head_of(u64 object, u64 block)
{
	u64 key = object + (block + 1) * GOLDEN_RATIO_64;

	return &pass.heads[hash_64(key, pass.head_bits)];
}

static u64 block_of(const struct fgio_wanted *wanted)
{
	u64 block = wanted->first >> BLOCK_SHIFT;

	if (wanted->kind == FGIO_WANTED_PAGES &&
	    block == wanted->last >> BLOCK_SHIFT)
		return block;
	return WHOLE_FILE;
}

static bool is_guess(const struct fgio_wanted *wanted)
{
	return pass.walk->links[wanted->link].guess;
}

static bool same_io(const struct fgio_wanted *one,
		    const struct fgio_wanted *other)
{
	if (one->kind != other->kind || one->object != other->object)
		return false;
	if (one->kind == FGIO_WANTED_CONTEXT)
		return is_guess(one) == is_guess(other);
	return one->kind != FGIO_WANTED_PAGES ||
	       (one->first == other->first && one->last == other->last);
}

static void index_wanted(u32 i)
{
	struct fgio_wanted *wanted = &pass.wanted[i];
	u32 *head = head_of(wanted->object, block_of(wanted));
	u32 other;

	wanted->found = 0;
	pass.notes[i] = (struct note){ .same_as = i, .next = *head };
	for (other = *head; other != NONE; other = pass.notes[other].next) {
		if (!same_io(wanted, &pass.wanted[other]))
			continue;
		pass.notes[i].same_as = other;
		return;
	}
	*head = i;
	pass.log_writes |= wanted->kind == FGIO_WANTED_XFS_LOG;
	pass.any_data |= wanted->kind == FGIO_WANTED_ANY_DATA;
	pass.own |= wanted->kind == FGIO_WANTED_OWN;
	pass.upkeep |= wanted->kind == FGIO_WANTED_UPKEEP;
	if (wanted->kind == FGIO_WANTED_PRIVATE)
		pass.privates |= fgio_private_bit(wanted->object);
	if (wanted->kind == FGIO_WANTED_CONTEXT)
		pass.contexts |= fgio_private_bit(wanted->object);
	if (wanted->kind == FGIO_WANTED_PAGES ||
	    wanted->kind == FGIO_WANTED_DIRECT)
		pass.files |= fgio_private_bit(wanted->object);
}

static void index_all_wanted(void)
{
	u32 i;

	pass.privates = 0;
	pass.files = 0;
	pass.contexts = 0;
	pass.log_writes = false;
	pass.any_data = false;
	pass.own = false;
	pass.upkeep = false;
	pass.serial = 0;
	pass.head_bits = order_base_2(2 * pass.count + 2);
	memset32(pass.heads, NONE, 1U << pass.head_bits);
	for (i = 0; i < pass.count; i++)
		index_wanted(i);
}

static bool stands_for_itself(u32 i)
{
	return pass.notes[i].same_as == i;
}

/*
 * A wait for a range of a file, or for direct I/O, ends with all of it. A task
 * that is in the way by a guess may need any of the I/O for which it waits.
 */
static enum rank rank_of(const struct fgio_wanted *wanted)
{
	if (wanted->kind == FGIO_WANTED_ANY_DATA)
		return RANK_ANY;
	if (wanted->kind == FGIO_WANTED_CONTEXT)
		return is_guess(wanted) ? RANK_ANY : RANK_RANGE;
	if (wanted->wait.kind == FGIO_WAIT_FILE_WRITEBACK ||
	    wanted->kind == FGIO_WANTED_DIRECT ||
	    wanted->kind == FGIO_WANTED_UPKEEP)
		return RANK_RANGE;
	return RANK_EXACT;
}

/* A request carries wanted I/O. It counts once, for all its bios. */
static void hit(u32 i, enum rank *rank, u32 actions)
{
	struct note *note = &pass.notes[i];

	if (note->seen == pass.serial)
		return;
	note->seen = pass.serial;
	note->actions |= actions;
	note->awaits_turn |= pass.awaits_turn;
	pass.waiter = pass.waiter ?:
			      pass.walk->links[pass.wanted[i].link].root;
	pass.wanted[i].found++;
	*rank = max(*rank, rank_of(&pass.wanted[i]));
}

static bool overlaps(const struct fgio_wanted *wanted,
		     const struct fgio_io_target *target)
{
	return wanted->kind == FGIO_WANTED_PAGES &&
	       wanted->object == target->mapping &&
	       wanted->first <= target->last &&
	       wanted->last >= target->first;
}

static void hit_pages_at(const struct fgio_io_target *target, u64 block,
			 enum rank *rank, u32 actions)
{
	u32 i = *head_of(target->mapping, block);

	for (; i != NONE; i = pass.notes[i].next)
		if (overlaps(&pass.wanted[i], target))
			hit(i, rank, actions);
}

static bool file_may_be_wanted(const struct fgio_io_target *target)
{
	return target->mapping &&
	       pass.files & fgio_private_bit(target->mapping);
}

static void hit_pages(const struct fgio_io_target *target, enum rank *rank,
		      u32 actions)
{
	u64 first = target->first >> BLOCK_SHIFT;
	u64 last = target->last >> BLOCK_SHIFT;
	u64 block;
	u32 i;

	if (!file_may_be_wanted(target))
		return;
	if (last - first < BLOCKS_MAX) {
		hit_pages_at(target, WHOLE_FILE, rank, actions);
		for (block = first; block <= last; block++)
			hit_pages_at(target, block, rank, actions);
		return;
	}
	for (i = 0; i < pass.count; i++)
		if (stands_for_itself(i) &&
		    overlaps(&pass.wanted[i], target))
			hit(i, rank, actions);
}

static bool direct_may_be_wanted(const struct fgio_io_target *target)
{
	return target->direct &&
	       pass.files & fgio_private_bit(target->direct);
}

/* All that is wanted of a kind by its object alone. */
static void hit_object(enum fgio_wanted_kind kind, u64 object, enum rank *rank,
		       u32 actions)
{
	u32 i = *head_of(object, WHOLE_FILE);

	for (; i != NONE; i = pass.notes[i].next)
		if (pass.wanted[i].kind == kind &&
		    pass.wanted[i].object == object)
			hit(i, rank, actions);
}

static void hit_direct(const struct fgio_io_target *target, enum rank *rank,
		       u32 actions)
{
	if (direct_may_be_wanted(target))
		hit_object(FGIO_WANTED_DIRECT, target->direct, rank, actions);
}

static void hit_private(u64 bi_private, enum rank *rank, u32 actions)
{
	if (bi_private && pass.privates & fgio_private_bit(bi_private))
		hit_object(FGIO_WANTED_PRIVATE, bi_private, rank, actions);
}

static void hit_privates(u64 address, const struct bio *bio, enum rank *rank,
			 u32 actions)
{
	u64 privates[FGIO_PRIVATES];
	unsigned int i;

	if (!pass.privates)
		return;
	fgio_privates_of_bio(address, bio, privates);
	for (i = 0; i < FGIO_PRIVATES; i++)
		hit_private(privates[i], rank, actions);
}

static void hit_context(u64 context, enum rank *rank, u32 actions)
{
	if (context && pass.contexts & fgio_private_bit(context))
		hit_object(FGIO_WANTED_CONTEXT, context, rank, actions);
}

static void hit_contexts(const struct bio *bio, enum rank *rank, u32 actions)
{
	u64 contexts[FGIO_DIRECT_CONTEXTS];
	unsigned int i;

	if (!pass.contexts)
		return;
	fgio_direct_contexts_of(bio, contexts);
	for (i = 0; i < FGIO_DIRECT_CONTEXTS; i++)
		hit_context(contexts[i], rank, actions);
}

static void hit_log_writes(const struct fgio_io_target *target,
			   enum rank *rank, u32 actions)
{
	u32 i;

	if (!pass.log_writes || !target->log_write)
		return;
	for (i = 0; i < pass.count; i++)
		if (stands_for_itself(i) &&
		    pass.wanted[i].kind == FGIO_WANTED_XFS_LOG)
			hit(i, rank, actions);
}

static void hit_upkeep(const struct fgio_io_target *target, enum rank *rank,
		       u32 actions)
{
	if (pass.upkeep && target->upkeep)
		hit_object(FGIO_WANTED_UPKEEP, 0, rank, actions);
}

/* Context: as rank_of_queued(). */
static void hit_any_data(const struct fgio_slot *slot,
			 const struct fgio_io_target *target, enum rank *rank,
			 u32 actions)
{
	if (pass.any_data && target->mapping &&
	    op_is_write(slot->rq->cmd_flags))
		hit_object(FGIO_WANTED_ANY_DATA,
			   fgio_file_system_of(target->mapping), rank, actions);
}

/* --- requests ----------------------------------------------------------- */

static const struct fgio_io_target *known_target(struct fgio_slot *slot)
{
	if (!slot->target.known)
		fgio_io_target_of_request(&slot->target, slot->rq);
	if (pass.contexts)
		fgio_direct_contexts_of_request(&slot->target, slot->rq);
	return &slot->target;
}

struct hits {
	enum rank *rank;
	u32 actions;
};

static void hit_target(const struct fgio_io_target *target, u64 address,
		       const struct bio *bio, const struct hits *hits)
{
	hit_pages(target, hits->rank, hits->actions);
	hit_direct(target, hits->rank, hits->actions);
	hit_privates(address, bio, hits->rank, hits->actions);
	hit_contexts((const struct bio *)address, hits->rank, hits->actions);
}

/* @bio: a copy of an original. */
static void hit_original(u64 address, struct bio *bio, void *data)
{
	struct fgio_io_target target;

	fgio_io_target_of_original(&target, address, bio);
	hit_target(&target, address, bio, data);
}

static void hit_each_bio(struct request *rq, enum rank *rank, u32 actions)
{
	struct hits hits = { rank, actions };
	struct fgio_originals_look look = {
		.visit = hit_original,
		.data = &hits,
	};
	struct fgio_io_target target;
	struct bio *bio;

	__rq_for_each_bio(bio, rq) {
		if (fgio_originals_visit_below(bio, &look))
			continue;
		fgio_io_target_of_bio(&target, bio);
		hit_target(&target, (u64)bio, bio, &hits);
	}
}

/* Context: the queue's lock is held, so that a queued request's bios stay. */
static enum rank rank_of_queued(struct fgio_slot *slot, u32 actions)
{
	const struct fgio_io_target *target = known_target(slot);
	enum rank rank = RANK_NONE;

	pass.serial++;
	pass.waiter = 0;
	hit_log_writes(target, &rank, actions);
	hit_upkeep(target, &rank, actions);
	hit_any_data(slot, target, &rank, actions);
	if (pass.privates & target->privates ||
	    pass.contexts & target->contexts ||
	    file_may_be_wanted(target) || direct_may_be_wanted(target) ||
	    (target->several && (pass.files || pass.privates)))
		hit_each_bio(slot->rq, &rank, actions);
	return rank;
}

/* The bits of the objects of a kind that a request may be for. */
static u64 bits_of(const struct fgio_io_target *target,
		   const struct fgio_wanted *wanted)
{
	switch (wanted->kind) {
	case FGIO_WANTED_PRIVATE:
		return target->privates;
	case FGIO_WANTED_CONTEXT:
		return target->contexts;
	default:
		return 0;
	}
}

/*
 * Bios of a request in the device may be gone: only its summary is compared. It
 * may match too much, never too little.
 */
static void find_in_device(struct fgio_slot *slot)
{
	const struct fgio_io_target *target = &slot->target;
	enum rank rank = RANK_NONE;
	u32 i;

	/* Not filled in for this request: left from the slot's last one. */
	if (!target->known)
		return;
	pass.serial++;
	hit_log_writes(target, &rank, 0);
	hit_upkeep(target, &rank, 0);
	hit_pages(target, &rank, 0);
	hit_direct(target, &rank, 0);
	if (!(pass.privates & target->privates) &&
	    !(pass.contexts & target->contexts))
		return;
	for (i = 0; i < pass.count; i++)
		if (stands_for_itself(i) &&
		    bits_of(target, &pass.wanted[i]) &
			    fgio_private_bit(pass.wanted[i].object))
			hit(i, &rank, 0);
}

/*
 * The link of its submitter, if that is waited for, and waits for the request;
 * else NONE. Writes that their submitter waits for are synchronous, except for
 * those of threads of file systems (ext4lazyinit, xfsaild).
 */
static u32 waiting_submitter(const struct fgio_slot *slot)
{
	if (!op_is_sync(slot->rq->cmd_flags) && !slot->by_daemon)
		return NONE;
	return *link_place(slot->submitter);
}

static void note_submitter(const struct fgio_slot *slot)
{
	u32 link = waiting_submitter(slot);

	if (link != NONE)
		fgio_walk_note_fact(link, FGIO_FACT_OWN_IO |
					  (pass.awaits_turn ?
						   FGIO_FACT_OWN_IO_TURN : 0));
}

/* Whether a task's own I/O is here at all: it is found, and stays as it is. */
static void find_own(const struct fgio_slot *slot)
{
	enum rank rank = RANK_NONE;

	if (!pass.own || !op_is_sync(slot->rq->cmd_flags))
		return;
	pass.serial++;
	hit_object(FGIO_WANTED_OWN, slot->submitter, &rank, 0);
}

static bool submitter_waits(const struct fgio_slot *slot)
{
	u32 link = waiting_submitter(slot);

	if (link == NONE)
		return false;
	pass.waiter = pass.walk->links[link].root;
	if (pass.may_promote)
		fgio_walk_note_action(link, FGIO_BLAME_PROMOTED_REQUEST);
	return true;
}

static int compare_matches(const void *one, const void *other)
{
	const struct match *a = one, *b = other;

	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	if (a->queued_ns != b->queued_ns)
		return a->queued_ns < b->queued_ns ? -1 : 1;
	return 0;
}

/* The request may have left since, and its slot hold another one. */
static void move(struct fgio_queue_data *fq, const struct match *match)
{
	struct fgio_slot *slot;

	if (match->tag >= match->tag_set->slot_count || fq->queue.one_class)
		return;
	slot = &match->tag_set->slots[match->tag];
	if (!slot->wanted)
		return;
	fgio_request_order_inherit(slot, match->waiter);
	if (!fgio_elevator_promote(fq, slot))
		return;
	slot->wanted = false;
	fgio_elevator_recharge(fq, slot, match->waiter);
	promoted_requests++;
	pass.moved = true;
}

/* Of requests of which any will do, the oldest stay. */
static void leave_out_some(void)
{
	unsigned int i, kept = 0, any = 0;

	for (i = 0; i < pass.match_count; i++)
		if (pass.matches[i].rank != RANK_ANY || any++ < ANY_MAX)
			pass.matches[kept++] = pass.matches[i];
	pass.match_count = kept;
}

/*
 * Requests that are waited for by themselves move before those of a range, and
 * the older first.
 */
static void move_matches(struct fgio_queue_data *fq)
{
	struct fgio_tag_set *tag_set;
	unsigned int i, end;

	sort(pass.matches, pass.match_count, sizeof(*pass.matches),
	     compare_matches, NULL);
	leave_out_some();
	for (i = 0; i < pass.match_count; cond_resched()) {
		tag_set = pass.matches[i].tag_set;
		end = min(i + MOVES_MAX, pass.match_count);
		spin_lock(fgio_slots_lock(tag_set));
		for (; i < end && pass.matches[i].tag_set == tag_set; i++)
			move(fq, &pass.matches[i]);
		spin_unlock(fgio_slots_lock(tag_set));
	}
	pass.match_count = 0;
}

static void look_at_queued(struct fgio_queue_data *fq, struct fgio_slot *slot,
			   unsigned int tag)
{
	bool may_move = pass.may_promote && !fq->queue.one_class &&
			slot->request.class == FGIO_NONCRITICAL;
	u32 actions = may_move ? FGIO_BLAME_PROMOTED_REQUEST : 0;
	enum rank rank = rank_of_queued(slot, actions);

	slot->wanted = may_move && pass.match_count < FGIO_MATCHES_MAX &&
		       (rank != RANK_NONE || submitter_waits(slot));
	if (slot->wanted)
		pass.matches[pass.match_count++] = (struct match){
			.tag_set = slot->tag_set,
			.tag = tag,
			.rank = rank,
			.waiter = pass.waiter,
			.queued_ns = slot->request.queued_ns,
		};
}

/* Requests in the device count as found, too. */
static void look_at_slot(struct fgio_queue_data *fq, struct fgio_slot *slot,
			 unsigned int tag)
{
	pass.awaits_turn = fgio_queue_awaits_turn(&fq->queue, &slot->request);
	if (fgio_request_is_in_device(&slot->request)) {
		note_submitter(slot);
		find_own(slot);
		find_in_device(slot);
	} else if (slot->request.state == FGIO_REQUEST_QUEUED) {
		note_submitter(slot);
		find_own(slot);
		look_at_queued(fq, slot, tag);
	}
}

/* --- sleepers ----------------------------------------------------------- */

static void promote_sleeping_tasks(struct fgio_tag_set *tag_set)
{
	u32 link;

	for (link = 0; link < link_count(); link++) {
		if (!fgio_admission_promote_task(tag_set,
						 pass.walk->links[link].task))
			continue;
		promoted_sleepers++;
		fgio_walk_note_action(link, FGIO_BLAME_PROMOTED_SLEEPER);
	}
}

static void promote_sleeping_owners(struct fgio_tag_set *tag_set)
{
	unsigned int promoted;
	u32 i;

	for (i = 0; i < pass.count; i++) {
		if (!stands_for_itself(i) ||
		    pass.wanted[i].kind == FGIO_WANTED_CONTEXT ||
		    pass.wanted[i].kind == FGIO_WANTED_OWN)
			continue;
		pass.wanted[i].found += fgio_admission_promote_owners(
			tag_set, &pass.wanted[i], pass.may_promote, &promoted);
		promoted_sleepers += promoted;
		if (promoted)
			pass.notes[i].actions |= FGIO_BLAME_PROMOTED_SLEEPER;
	}
}

/* Not for a guess: its sleepers are as many as its process likes. */
static bool completes_as_wanted(const struct bio *bio)
{
	enum rank rank = RANK_NONE;

	pass.serial++;
	hit_contexts(bio, &rank, 0);
	return pass.may_promote && rank == RANK_RANGE;
}

static void note_promoted(const struct bio *bio)
{
	enum rank rank = RANK_NONE;

	pass.serial++;
	hit_contexts(bio, &rank, FGIO_BLAME_PROMOTED_SLEEPER);
}

static void promote_sleepers(struct fgio_queue_data *fq)
{
	struct fgio_tag_set *tag_set;

	pass.awaits_turn = false;
	list_for_each_entry(tag_set, &fq->tag_sets, list) {
		if (!fgio_admission_has_waiters(&tag_set->admission))
			continue;
		if (pass.may_promote)
			promote_sleeping_tasks(tag_set);
		promote_sleeping_owners(tag_set);
		if (pass.contexts)
			promoted_sleepers += fgio_admission_promote_bios(
				tag_set, completes_as_wanted, note_promoted);
	}
}

/* --- all ---------------------------------------------------------------- */

/*
 * Requests come and go while the queue's lock is dropped: one that takes a slot
 * that was visited is left to the next walk. Sleepers come last, so that the
 * requests of those that are admitted now need no search.
 */
static void promote_queue(struct fgio_queue_data *fq, void *unused)
{
	pass.moved = false;
	pass.match_count = 0;
	fgio_visit_slots(fq, look_at_slot);
	move_matches(fq);
	if (pass.moved)
		blk_mq_run_hw_queues(fq->q, true);
	promote_sleepers(fq);
}

static void report_wanted(void)
{
	u32 i, same_as;

	for (i = 0; i < pass.count; i++) {
		same_as = pass.notes[i].same_as;
		pass.wanted[i].found = pass.wanted[same_as].found;
		if (pass.notes[same_as].actions)
			fgio_walk_note_action(pass.wanted[i].link,
					      pass.notes[same_as].actions);
		if (pass.notes[same_as].awaits_turn)
			fgio_walk_note_fact(pass.wanted[i].link,
					    FGIO_FACT_IO_TURN);
	}
}

/* Where any of many will do, and behind a guess, not all of it is to be critical. */
static void note_awaited(void)
{
	u32 i;

	for (i = 0; i < pass.count; i++)
		if (!is_guess(&pass.wanted[i]) &&
		    rank_of(&pass.wanted[i]) != RANK_ANY)
			fgio_awaited_note(
				&pass.wanted[i],
				&pass.walk->links[pass.wanted[i].link]);
}

/* A walk calls again after it found more; if it did not, nothing changes. */
static bool is_repetition(void)
{
	bool same = !pass.count && pass.last_number == pass.walk->number &&
		    pass.last_count == pass.walk->count;

	pass.last_number = pass.walk->number;
	pass.last_count = pass.walk->count;
	return same;
}

void fgio_promote_all(struct fgio_wanted *wanted, unsigned int count,
		      struct fgio_walk *walk)
{
	pass.walk = walk;
	pass.wanted = wanted;
	pass.count = min(count, FGIO_WANTED_MAX);
	pass.may_promote = fgio_may_boost();
	if (is_repetition())
		return;
	if (walk->number != pass.noted_number)
		fgio_awaited_clear();
	pass.noted_number = walk->number;
	index_links();
	index_all_wanted();
	fgio_visit_queues(promote_queue, NULL);
	report_wanted();
	if (!pass.may_promote)
		return;
	note_awaited();
	fgio_layers_release(walk);
}

void fgio_promote_state(struct fgio_state *state)
{
	state->promoted_requests = READ_ONCE(promoted_requests);
	state->promoted_sleepers = READ_ONCE(promoted_sleepers);
}

int fgio_promote_init(void)
{
	pass.notes = vcalloc(FGIO_WANTED_MAX, sizeof(*pass.notes));
	pass.heads = vcalloc(4 * FGIO_WANTED_MAX, sizeof(*pass.heads));
	pass.links = vcalloc(4 * FGIO_LINKS_MAX, sizeof(*pass.links));
	pass.matches = vcalloc(FGIO_MATCHES_MAX, sizeof(*pass.matches));
	if (pass.notes && pass.heads && pass.links && pass.matches)
		return 0;
	fgio_promote_exit();
	return -ENOMEM;
}

void fgio_promote_exit(void)
{
	vfree(pass.notes);
	vfree(pass.heads);
	vfree(pass.links);
	vfree(pass.matches);
}
