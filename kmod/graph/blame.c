// SPDX-License-Identifier: GPL-2.0
/*
 * Blame: a bounded ring of waits of foreground tasks beyond a threshold, with
 * the chains that the walk saw while they lasted.
 */
#include <linux/hash.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "base/scale.h"
#include "base/setting.h"
#include "base/trace.h"
#include "core/seen.h"
#include "graph/blame.h"
#include "who/tag.h"
#include "who/thread_flag.h"

#define READ_MAX 65536U
#define CHUNK 16U

static unsigned int blame_entries = FGIO_DEFAULT_blame_entries;
module_param(blame_entries, uint, 0444);

static unsigned int blame_threshold_us = FGIO_DEFAULT_blame_threshold_us;
module_param(blame_threshold_us, uint, 0644);

/* Both locks are leaves, since waits end in all contexts. */
static DEFINE_RAW_SPINLOCK(ring_lock);
static struct fgio_blame_entry *ring;
static unsigned int ring_size;
/* Entries written in total: the next one goes to written % ring_size. */
static u64 written;
static u64 lost;
/* Of all entries, overwritten or not; under the ring's lock, too. */
static struct fgio_reasons totals;

static_assert(FGIO_REASONS <= FGIO_REASONS_ROOM);

/* Hashes objects, to tell them apart without disclosing addresses. */
static siphash_key_t object_key;

/* A wait as walks saw it. */
struct seen {
	struct fgio_chain chain;
	struct fgio_reason_times reasons;
};

/* Those of the tasks that hash to it. */
struct seen_set {
	struct fgio_seen_set places;
	struct seen seen[FGIO_SEEN_PLACES];
};

static DEFINE_RAW_SPINLOCK(seen_lock);
static struct seen_set *seen_sets;

static struct seen_set *seen_set_of(u64 task)
{
	return &seen_sets[hash_64(task, FGIO_SEEN_BITS)];
}

/* Return: NULL if no walk saw the wait. Under the lock. */
static struct seen *seen_at(struct seen_set *set, u32 place, u64 task, u32 seq)
{
	struct seen *seen = &set->seen[place];

	return place < FGIO_SEEN_PLACES && seen->chain.task == task &&
			       seen->chain.seq == seq ?
		       seen :
		       NULL;
}

static void note_look(struct seen *seen, const struct fgio_chain *chain,
		      const struct fgio_look *look)
{
	struct fgio_chain *known = &seen->chain;
	u32 actions = 0;

	if (known->task == chain->task && known->seq == chain->seq) {
		actions = known->actions;
		fgio_reason_saw(&seen->reasons, ktime_get_mono_fast_ns(),
				look->reason);
	} else {
		known->steps = 0;
		fgio_reason_begin(&seen->reasons, look->since_ns, look->reason);
	}
	if (!known->steps || chain->steps >= known->steps)
		*known = *chain;
	known->actions |= actions | chain->actions;
}

void fgio_blame_chain(const struct fgio_chain *chain,
		      const struct fgio_look *look)
{
	struct seen_set *set = seen_set_of(chain->task);
	unsigned long flags;
	u32 place;

	raw_spin_lock_irqsave(&seen_lock, flags);
	place = fgio_seen_look(&set->places, chain->task, look->walk,
			       look->since, ktime_get_mono_fast_ns());
	if (place < FGIO_SEEN_PLACES)
		note_look(&set->seen[place], chain, look);
	raw_spin_unlock_irqrestore(&seen_lock, flags);
}

static void take_seen(struct fgio_blame_entry *entry, const struct seen *seen)
{
	const struct fgio_chain *known = &seen->chain;

	entry->inner_kind = known->inner_kind;
	entry->actions = known->actions;
	entry->steps = known->steps;
	memcpy(entry->step, known->step, sizeof(entry->step));
	entry->reason = fgio_reason_longest(&seen->reasons, entry->end_ns);
}

/* A wait that no walk saw, or that had no place, is blamed without its chain. */
static void add_chain(struct fgio_blame_entry *entry, u64 task, u32 seq)
{
	struct seen_set *set = seen_set_of(task);
	const struct seen *seen;
	unsigned long flags;
	u32 place;

	raw_spin_lock_irqsave(&seen_lock, flags);
	place = fgio_seen_find(&set->places, task);
	seen = seen_at(set, place, task, seq);
	if (seen) {
		take_seen(entry, seen);
		fgio_seen_end(&set->places, place);
	} else {
		entry->reason = fgio_seen_refused(&set->places, entry->end_ns -
							entry->waited_ns) ?
					FGIO_REASON_FULL :
					FGIO_REASON_SHORT;
	}
	raw_spin_unlock_irqrestore(&seen_lock, flags);
}

/* Whether a walk found a task in the way of a wait. */
static bool has_chain(u64 task, u32 seq)
{
	struct seen_set *set = seen_set_of(task);
	const struct seen *seen;
	unsigned long flags;
	bool found;

	raw_spin_lock_irqsave(&seen_lock, flags);
	seen = seen_at(set, fgio_seen_find(&set->places, task), task, seq);
	found = seen && (seen->chain.steps || seen->chain.actions);
	raw_spin_unlock_irqrestore(&seen_lock, flags);
	return found;
}

/* A task that sleeps for a message mostly waits for work. */
static bool is_idle(const struct task_struct *task,
		    const struct fgio_wait *ended)
{
	return ended->kind == FGIO_WAIT_REPLY &&
	       !has_chain((u64)task, ended->seq);
}

static struct fgio_blame_entry *next_entry(void)
{
	u32 index;

	div_u64_rem(written, ring_size, &index);
	if (written >= ring_size)
		lost++;
	written++;
	return &ring[index];
}

void fgio_blame_wait(const struct task_struct *task,
		     const struct fgio_wait *ended)
{
	u64 now_ns = ktime_get_mono_fast_ns();
	u64 waited_ns = now_ns - ended->since_ns;
	struct fgio_served served = {};
	struct fgio_blame_entry *entry;
	unsigned long flags;

	if (waited_ns < (u64)READ_ONCE(blame_threshold_us) * NSEC_PER_USEC ||
	    ended->kind == FGIO_WAIT_THREAD || is_idle(task, ended))
		return;
	fgio_tag_request_of((u64)task, &served);
	raw_spin_lock_irqsave(&ring_lock, flags);
	entry = next_entry();
	memset(entry, 0, sizeof(*entry));
	entry->end_ns = now_ns;
	entry->waited_ns = waited_ns;
	entry->object = siphash_1u64(ended->object, &object_key);
	entry->request = served.id;
	entry->deadline_ms = served.id ? served.deadline_ms : 0;
	entry->parts = served.id ? served.parts : 0;
	entry->tid = task->pid;
	entry->kind = ended->kind;
	entry->inner_kind = ended->kind;
	memcpy(entry->comm, task->comm, sizeof(entry->comm));
	add_chain(entry, (u64)task, ended->seq);
	totals.waits[entry->reason]++;
	totals.waited_ns[entry->reason] += waited_ns;
	raw_spin_unlock_irqrestore(&ring_lock, flags);
	trace_fgio_blame(task->pid, ended->kind, waited_ns);
}

/* Copies entries from *@cursor on. Return: their number. */
static u32 copy_entries(u64 *cursor, struct fgio_blame_entry *entries,
			u32 capacity, u64 *skipped)
{
	unsigned long flags;
	u32 count = 0;
	u32 index;
	u64 oldest;

	raw_spin_lock_irqsave(&ring_lock, flags);
	oldest = written > ring_size ? written - ring_size : 0;
	if (*cursor > written)
		*cursor = written;
	if (*cursor < oldest) {
		*skipped += *cursor ? oldest - *cursor : 0;
		*cursor = oldest;
	}
	while (count < capacity && *cursor < written) {
		div_u64_rem((*cursor)++, ring_size, &index);
		entries[count++] = ring[index];
	}
	raw_spin_unlock_irqrestore(&ring_lock, flags);
	return count;
}

int fgio_blame_read(struct fgio_blame *request)
{
	struct fgio_blame_entry __user *user =
		u64_to_user_ptr(request->entries);
	struct fgio_blame_entry *entries;
	int error = 0;
	u32 count;

	if (request->capacity > READ_MAX)
		return -EINVAL;
	entries = kmalloc_array(CHUNK, sizeof(*entries), GFP_KERNEL);
	if (!entries)
		return -ENOMEM;
	request->count = 0;
	request->lost = 0;
	while (request->count < request->capacity) {
		count = copy_entries(&request->cursor, entries,
				     min(CHUNK, request->capacity -
							request->count),
				     &request->lost);
		if (!count)
			break;
		if (copy_to_user(user + request->count, entries,
				 count * sizeof(*entries))) {
			error = -EFAULT;
			break;
		}
		request->count += count;
	}
	kfree(entries);
	return error;
}

void fgio_blame_reasons(struct fgio_reasons *reasons)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&ring_lock, flags);
	*reasons = totals;
	raw_spin_unlock_irqrestore(&ring_lock, flags);
}

u64 fgio_blame_lost(void)
{
	return READ_ONCE(lost);
}

int fgio_blame_init(void)
{
	get_random_bytes(&object_key, sizeof(object_key));
	ring_size = clamp_t(unsigned int, blame_entries,
			    FGIO_LEAST_blame_entries, FGIO_MOST_blame_entries);
	ring = vcalloc(ring_size, sizeof(*ring));
	seen_sets = vcalloc(1U << FGIO_SEEN_BITS, sizeof(*seen_sets));
	if (ring && seen_sets)
		return 0;
	fgio_blame_exit();
	return -ENOMEM;
}

void fgio_blame_exit(void)
{
	vfree(ring);
	vfree(seen_sets);
}
