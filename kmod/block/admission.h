/* SPDX-License-Identifier: GPL-2.0 */
/* Waiting for a slot, before a request exists. */
#ifndef FGIO_BLOCK_ADMISSION_H
#define FGIO_BLOCK_ADMISSION_H

#include <linux/atomic.h>

#include "block/queue.h"

struct blk_mq_alloc_data;
struct fgio_wanted;

/**
 * fgio_limit_depth() - the elevator's limit_depth
 * @opf: operation and flags of the bio
 * @data: the allocation
 *
 * Context: the submitter's; sleeps unless the allocation must not wait. Called
 * again for the same allocation when a hardware queue went away: the charge
 * stands.
 */
void fgio_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data);

/*
 * The slot has a request: it takes over the charge, or is charged now. A charge
 * to another tag set is returned: the tag came from another hardware queue.
 */
void fgio_admission_prepare(struct fgio_slot *slot, struct request *rq);

/* Tag sets in which slots are counted by group. */
extern atomic_t fgio_scarce_count;

/* Whether the group of a bio matters before its request exists. Context: any. */
static inline bool fgio_slots_are_scarce(void)
{
	return atomic_read(&fgio_scarce_count);
}

/*
 * Slots of a tag set, all of which were given back, are divided no longer.
 * Context: its lock is held.
 */
void fgio_admission_stop_dividing(struct fgio_tag_set *tag_set);

/*
 * Notes the group of the bio that the current task is about to submit. Context:
 * a task's.
 */
void fgio_admission_note_group(const struct fgio_share_group *group);

/*
 * The group to which a request belongs is known: it pays for the slot. Context:
 * the queue's lock is held, so that the group stays.
 */
void fgio_admission_move_to_group(struct fgio_slot *slot,
				  const struct fgio_share_group *group);

static inline void
fgio_admission_settle_group(struct fgio_slot *slot,
			    const struct fgio_share_group *group)
{
	const struct fgio_admission *slots = &slot->tag_set->admission;

	if (slots->groups &&
	    (fgio_load(&slot->place) != FGIO_ADMISSION_UNCOUNTED ||
	     fgio_admission_is_scarce(slots)))
		fgio_admission_move_to_group(slot, group);
}

/* For fgio_admission_settle(): the slot was charged to the other class. */
void fgio_admission_move(struct fgio_slot *slot, enum fgio_class class);

/* Slots were released, or changed their class: wakes sleepers. */
void fgio_admission_wake(struct fgio_tag_set *tag_set);

/*
 * Returns the charge of limit_depth for this request. Context: as for
 * limit_depth, of the same task.
 */
void fgio_admission_return_charge(struct fgio_queue_data *fq,
				  struct request *rq);

/* The administrator chose other shares, or the queue has another depth. */
void fgio_admission_configure(struct fgio_queue_data *fq);

/*
 * Admission may have been switched. Tasks that line up from now on check again.
 * Context: fgio_queues_lock is held, so that the tag sets stay.
 */
void fgio_admission_reconsider(struct fgio_queue_data *fq);

/* Notes the bio that the current task is about to submit. Context: a task's. */
void fgio_admission_note_bio(const struct bio *bio,
			     const struct fgio_io_target *target, u64 buffer);

/**
 * fgio_admission_promote_task() - a task that may sleep here became critical
 * @tag_set: the tag set in which it may sleep
 * @task: its key
 *
 * Return: whether it slept and was not critical. Context: fgio_queues_lock is
 * held, so that the tag set stays.
 */
bool fgio_admission_promote_task(struct fgio_tag_set *tag_set, u64 task);

/**
 * fgio_admission_promote_owners() - promote sleepers that will submit an I/O
 * @tag_set: the tag set in which they sleep
 * @wanted: the I/O that is waited for
 * @may_promote: whether to promote them, or only to count
 * @promoted: out: number of sleepers that were promoted
 *
 * Return: the number of sleepers with this I/O, critical or not. Context:
 * fgio_queues_lock is held, so that the tag set stays.
 */
unsigned int fgio_admission_promote_owners(struct fgio_tag_set *tag_set,
					   const struct fgio_wanted *wanted,
					   bool may_promote,
					   unsigned int *promoted);

/**
 * fgio_admission_promote_bios() - promote sleepers by the bio to be submitted
 * @tag_set: the tag set in which they sleep
 * @is_wanted: whether to promote the sleeper with this bio, which may be gone;
 *	called with the tag set locked and interrupts off
 * @note: called for each that was promoted, likewise
 *
 * Return: the number of sleepers that were promoted. Context: fgio_queues_lock
 * is held, so that the tag set stays.
 */
unsigned int fgio_admission_promote_bios(struct fgio_tag_set *tag_set,
					 bool (*is_wanted)(const struct bio *),
					 void (*note)(const struct bio *));

/*
 * Moves the charge to the class of the request: a plug may have allocated it
 * for a bio of the other class, and promotion changes it.
 */
static inline void fgio_admission_settle(struct fgio_slot *slot,
					 enum fgio_class class)
{
	if (unlikely(fgio_class_of_line(slot->charged_line) != class))
		fgio_admission_move(slot, class);
}

/* Context: any, interrupts included. */
static inline void fgio_admission_give_back(struct fgio_tag_set *tag_set,
					    enum fgio_line line)
{
	fgio_admission_release(&tag_set->admission, line);
	if (unlikely(fgio_admission_has_waiters(&tag_set->admission)))
		fgio_admission_wake(tag_set);
}

/* The same for a slot that is counted for a place. */
void fgio_admission_finish_by_group(struct fgio_slot *slot, u8 place);

static inline void fgio_admission_finish(struct fgio_slot *slot)
{
	u32 place;

	if (unlikely(READ_ONCE(slot->tag_set->admission.groups))) {
		place = fgio_exchange(&slot->place, FGIO_ADMISSION_NOWHERE);
		if (place != FGIO_ADMISSION_UNCOUNTED) {
			fgio_admission_finish_by_group(slot, (u8)place);
			return;
		}
	}
	fgio_admission_give_back(slot->tag_set, slot->charged_line);
}

#endif /* FGIO_BLOCK_ADMISSION_H */
