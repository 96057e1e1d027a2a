/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Admission by group: the slots of an admission (admission.h) are divided among
 * the groups of shares.h. A request is ordered among groups only once it has a
 * slot, so without this the queued I/O of one group would keep others out.
 *
 * A group's part is its weight among the groups that hold slots or wait for
 * some, of all slots but the reserve. Below its part it takes any free slot,
 * the reserve included, so a group that begins to ask finds a sixteenth of the
 * slots free. Beyond its part it borrows what is left over, but not the
 * reserve. A free slot goes to the waiters that have the least of what is due
 * to them.
 *
 * Within a group the rules are those of admission.h. While both classes want
 * slots, each is due its share of the group's part, and the non-critical class
 * borrows none. Critical waiters go first. Carriers belong to no group.
 *
 * A group is known by a key, which is not followed: it may be gone while its
 * requests hold slots. There are places for FGIO_ADMISSION_GROUPS - 1 groups;
 * the one that was idle for longest makes room for a new one. If all of them
 * hold slots or wait, a new group joins the rest: one place, which is that of
 * I/O without a group as well. Its weight is the largest of its groups.
 *
 * While slots are plenty, no group keeps another out. They are taken and given
 * back as in admission.h then, without a lock, and counted for no group. Once a
 * class has half of what it may have in any case, slots are scarce: those that
 * are taken are counted, one by one, and each one that is taken from then on.
 * They are plenty again once each class has a quarter of that: so between two
 * counts of all slots, three eighths of a class's sure slots are given back.
 * Carriers are in no group: they make slots scarce once they have more than their
 * sure ones. Where a class has fewer than FGIO_ADMISSION_PLENTY_PART sure slots,
 * slots that became scarce stay so.
 *
 * Cost: a fixed number of heap operations for each call, of O(log groups), but
 * where the shares of the classes change.
 *
 * Locking: the caller serialises all calls for one admission, those of
 * admission.h included, except for slots that are not counted, and functions of
 * which it is said. Nothing here sleeps or allocates.
 */
#ifndef FGIO_CORE_ADMISSION_GROUPS_H
#define FGIO_CORE_ADMISSION_GROUPS_H

#include "admission.h"
#include "class.h"
#include "list.h"
#include "shares_heap.h"
#include "types.h"

/* Places, the rest included. A tag set rarely has more than 256 slots. */
#define FGIO_ADMISSION_GROUPS 128U
#define FGIO_ADMISSION_GROUP_BITS 7

/* The place of I/O without a group. */
#define FGIO_ADMISSION_REST 0U

/* None. */
#define FGIO_ADMISSION_NOWHERE 255U

/* That of a slot which is counted for no group. */
#define FGIO_ADMISSION_UNCOUNTED 254U

/*
 * A class has half of its sure slots as slots become scarce, and this part of
 * them as they become plenty again; if there are fewer sure ones than that, they
 * never do.
 */
#define FGIO_ADMISSION_PLENTY_PART 8U

/* Tasks that have a slot, and no request yet: usually one for each CPU. */
#define FGIO_ADMISSION_CARRIED 64U
#define FGIO_ADMISSION_CARRIED_BITS 6

/* Weight of the rest while it has no group: that of shares.h. */
#define FGIO_ADMISSION_WEIGHT_DEFAULT 6400U

/**
 * struct fgio_admission_group - a place
 * @key: its group; 0: none
 * @weight: the weight of the group, of core
 * @held: slots, per class
 * @waiting: tasks that wait, per class
 * @waiters: the tasks, per class
 * @due: places in the heaps, per class, while tasks wait; keys are what it has
 *	of what it is due
 * @heap: the heap of each
 * @idle: while it holds none and none waits: the longest idle first
 * @chain: the next place of the same hash
 * @foreground: critical I/O may come back
 */
struct fgio_admission_group {
	u64 key;
	u32 weight;
	u32 held[FGIO_CLASSES];
	u32 waiting[FGIO_CLASSES];
	struct fgio_list waiters[FGIO_CLASSES];
	struct fgio_heap_node due[FGIO_CLASSES];
	struct fgio_heap *heap[FGIO_CLASSES];
	struct fgio_list idle;
	u8 chain;
	bool foreground;
};

/* Waiters whose order is that of their keys alone. */
enum fgio_admission_heap {
	FGIO_ADMISSION_ALONE,	/* non-critical, may borrow */
	FGIO_ADMISSION_CRITICAL,
	FGIO_ADMISSION_BESIDE,	/* non-critical, beside critical ones */
	FGIO_ADMISSION_HEAPS,
};

/**
 * struct fgio_admission_carried - a task that has a slot, and no request yet
 * @task: its key; 0: none
 * @line: the line...
 * @place: ...and the place that are charged
 */
struct fgio_admission_carried {
	u64 task;
	u8 line;
	u8 place;
};

/**
 * struct fgio_admission_groups - the groups of one admission; only the
 *	functions below touch the members
 * @weights: sum of the weights of places that hold slots or wait
 * @critical_present: whether critical I/O is, as the caller said last
 * @scarce: slots are counted by group; read without the caller's lock
 * @carrying: tasks in @carried; likewise
 * @heaps: places with waiters
 * @idle: places that hold none and do not wait
 * @hash: the first place of each hash of a key
 * @carried: by hash of the task
 * @groups: the places
 */
struct fgio_admission_groups {
	u64 weights;
	bool critical_present;
	bool scarce;
	u32 carrying;
	struct fgio_heap heaps[FGIO_ADMISSION_HEAPS];
	struct fgio_list idle;
	u8 hash[FGIO_ADMISSION_GROUPS];
	struct fgio_admission_carried carried[FGIO_ADMISSION_CARRIED];
	struct fgio_admission_group groups[FGIO_ADMISSION_GROUPS];
};

/*
 * Whether a line may take a slot that is not counted, as in admission.h. Needs
 * no lock.
 */
static inline bool
fgio_admission_is_plenty(const struct fgio_admission *admission,
			 enum fgio_line line)
{
	return !fgio_load(&admission->groups->scarce) &&
	       (line == FGIO_LINE_CARRIER ||
		fgio_admission_has_plenty(admission, line, 1));
}

/* Whether slots are counted by group. Needs no lock. */
static inline bool
fgio_admission_is_scarce(const struct fgio_admission *admission)
{
	return fgio_load(&admission->groups->scarce);
}

/*
 * Whether a task may have a slot, and no request yet, that is counted. Needs no
 * lock: the answer is right for a task that asks for itself.
 */
static inline bool
fgio_admission_carries(const struct fgio_admission *admission)
{
	return fgio_load(&admission->groups->carrying);
}

/*
 * Slots are scarce. Return: whether they were plenty until now: those that are
 * taken are to be counted, as far as their groups are known.
 */
bool fgio_admission_become_scarce(struct fgio_admission *admission);

/*
 * A slot was given back. Return: whether slots are plenty from now on, and were
 * scarce until now.
 */
bool fgio_admission_become_plenty(struct fgio_admission *admission);

/* A slot of a line, not a carrier's, is counted for a place from now on. */
void fgio_admission_count_for(struct fgio_admission *admission,
			      enum fgio_line line, u8 place);

/*
 * Slots are divided among @groups from now on; NULL: they no longer are. All
 * slots are free and no task waits.
 */
void fgio_admission_use_groups(struct fgio_admission *admission,
			       struct fgio_admission_groups *groups);

/**
 * fgio_admission_place_of() - the place of a group
 * @admission: the slots
 * @key: the group; 0: none
 * @weight: its weight now, of core, at least 1
 *
 * Return: the place. It is the group's until it holds no slots and none waits,
 * and then until another group needs it.
 */
u8 fgio_admission_place_of(struct fgio_admission *admission, u64 key,
			   u32 weight);

/* Whether a place, which holds a slot, is that of a group. Needs no lock. */
static inline bool
fgio_admission_is_place_of(const struct fgio_admission *admission, u8 place,
			   u64 key)
{
	return fgio_load(&admission->groups->groups[place].key) == key;
}

/* Whether critical I/O is present, from now on. */
static inline void
fgio_admission_critical_is(struct fgio_admission *admission, bool present)
{
	admission->groups->critical_present = present;
}

/* The shares of the classes have changed. Looks at all places. */
void fgio_admission_rekey_groups(struct fgio_admission *admission);

/* The place of carriers does not count, unless they are promoted. */

/* Whether a place may have one more slot, now. */
bool fgio_admission_has_room_for(const struct fgio_admission *admission,
				 enum fgio_line line, u8 place);

/* Whether it may have @count more, and has less than half of what is due. */
bool fgio_admission_has_plenty_for(const struct fgio_admission *admission,
				   enum fgio_line line, u8 place, u32 count);

/*
 * Takes a slot if there is one. Return: whether. Never while a task of the same
 * place and class waits.
 */
bool fgio_admission_try_for(struct fgio_admission *admission,
			    enum fgio_line line, u8 place);

/* Takes one in any case. */
void fgio_admission_charge_for(struct fgio_admission *admission,
			       enum fgio_line line, u8 place);

/*
 * Gives one back. If fgio_admission_has_waiters(), call fgio_admission_grant()
 * until NULL afterwards, as after all that follow.
 */
void fgio_admission_release_for(struct fgio_admission *admission,
				enum fgio_line line, u8 place);

/* A slot moves to another line or place. */
void fgio_admission_move_to(struct fgio_admission *admission,
			    enum fgio_line from, u8 from_place,
			    enum fgio_line to, u8 to_place);

/* Lines up. */
void fgio_admission_wait_for(struct fgio_admission *admission,
			     struct fgio_waiter *waiter, enum fgio_line line,
			     u8 place);

/*
 * A waiter became critical, and waits at @place. Return: whether it moved; false
 * if it was critical, or granted, already.
 */
bool fgio_admission_promote_to(struct fgio_admission *admission,
			       struct fgio_waiter *waiter, u8 place);

/*
 * fgio_admission_grant() and fgio_admission_grant_anyway() where there are
 * groups. Return: as those.
 */
struct fgio_waiter *
fgio_admission_grant_by_group(struct fgio_admission *admission);
struct fgio_waiter *
fgio_admission_grant_any_group(struct fgio_admission *admission);

/*
 * A task was charged at @place and has no request yet. It may do so again before
 * that: its I/O submits others. Return: false if there are too many such tasks:
 * the charge is to be returned.
 */
bool fgio_admission_carry(struct fgio_admission *admission, u64 task,
			  enum fgio_line line, u8 place);

/* Ends one of those. Return: the place, or FGIO_ADMISSION_NOWHERE. */
u8 fgio_admission_carried(struct fgio_admission *admission, u64 task,
			  enum fgio_line line);

#endif /* FGIO_CORE_ADMISSION_GROUPS_H */
