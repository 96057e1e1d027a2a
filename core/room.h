/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Writers' room: how many pages each group of a shared device may have dirty or
 * under writeback at once. The *room* is a part of memory, below that at which
 * the kernel makes all writers wait alike, and is divided among the groups whose
 * tasks dirty pages, by weight. I/O does not count: a group may dirty for long
 * before it has any.
 *
 * A group *needs* twice what it has and FGIO_ROOM_LEAST, so that it can grow;
 * when it has nearly all of its part, it needs any amount. What a group does not
 * need is lent to those that need more, by their weights (max-min). A group that
 * dirties no more needs what it has and FGIO_ROOM_LEAST after FGIO_ROOM_QUIET_NS,
 * and does not count after FGIO_ROOM_MEMORY_NS.
 *
 * A group that begins to dirty between two looks says so itself, and has an eighth
 * of the room at most until the next one. Where all lend, each has as much beyond
 * its need, if it is there. So of several that begin at about the same time, none
 * takes all of the room before the others are there.
 *
 * Ageing: a group of which no task was let go for FGIO_ROOM_AGE_NS has one task
 * let go, whatever the group has dirty. So where a task that waits looks again
 * each pause, a group has a system call let go within FGIO_ROOM_AGE_NS and one
 * pause, however light it is, and even if the device writes none of its pages;
 * by this, no more than one in FGIO_ROOM_AGE_NS.
 *
 * A look takes these passes over all groups: counts; lends, until one changed
 * nothing, FGIO_ROOM_ROUNDS at most; settles. Each pass costs O(1) for a group.
 * With fewer rounds than it would take, some of what could be lent is not.
 *
 * Locking: the caller serialises the looks of one device. The members that name
 * it are written at any time. Nothing here sleeps or allocates.
 */
#ifndef FGIO_CORE_ROOM_H
#define FGIO_CORE_ROOM_H

#include "types.h"

/* No limit. */
#define FGIO_ROOM_UNLIMITED (~0ULL)

/*
 * Least part in pages, 128 KiB: enough for a request. Of 1 MiB, light groups in a
 * small room had twice their part [docs/results/page-cache-shares].
 */
#define FGIO_ROOM_LEAST 32

/* In ns: a few looks of 50 ms, so that the pauses of a writer do not count. */
#define FGIO_ROOM_QUIET_NS 250000000ULL
#define FGIO_ROOM_MEMORY_NS (8 * FGIO_ROOM_QUIET_NS)

#define FGIO_ROOM_AGE_NS 1000000000ULL

#define FGIO_ROOM_ROUNDS 4

/* Of the room, the most that a group has before its first look, or unasked. */
#define FGIO_ROOM_FIRST 8

/**
 * struct fgio_room_group - a group's part of the room of one device
 * @held: pages that it had dirty or under writeback, as of the last look
 * @peak: the most that a task of it was seen to share since then: memory cgroups
 *	below one that is a group have pages of their own, and each says what it has.
 *	Written at any time, as are the next two
 * @dirtied_ns: when a task of it last dirtied some; 0: none did
 * @went_ns: when a task of it last went on
 * @weight: at the last look
 * @need: pages that it was found to need, FGIO_ROOM_UNLIMITED: any number
 * @part: its part in pages
 * @announced: it began to dirty since the last look; written at any time
 * @has_part: it has a part since the last look
 * @counted: it takes part in this look
 * @lends: its part is what it needs; the rest is lent
 */
struct fgio_room_group {
	u64 held;
	u64 peak;
	u64 dirtied_ns;
	u64 went_ns;
	u32 weight;
	u64 need;
	u64 part;
	u32 announced;
	bool has_part;
	bool counted;
	bool lends;
};

/**
 * struct fgio_room - what a look found on one device
 * @pages: the room; 0: there is none, and no limit
 * @left: of it, beyond what those need that lend
 * @asking: weights of groups that do not lend
 * @weights: of all groups that take part, and of those that began since
 * @groups: their number
 */
struct fgio_room {
	u64 pages;
	u64 left;
	u64 asking;
	u64 weights;
	u32 groups;
};

/**
 * fgio_room_pages() - how large the room is
 * @percent: of the memory that can be dirty, 0 to 100; 0: no limit
 * @dirtyable: that memory
 * @others: pages that are dirty or under writeback and of no group that counts
 *
 * Return: the room less @others, and at least half of it: groups could do nothing
 * about the others.
 */
u64 fgio_room_pages(u32 percent, u64 dirtyable, u64 others);

/* Whether a group takes part in a look at @now_ns: tasks of it dirtied lately. */
bool fgio_room_dirties(const struct fgio_room_group *group, u64 now_ns);

/* Before a look, for each group. Return: pages that it has. */
u64 fgio_room_held(struct fgio_room_group *group);

/* A look begins: then the passes, in the order below. */
void fgio_room_begin(struct fgio_room *room, u64 pages);

/* The first pass, with each group's weight in core now: below 2^20. */
void fgio_room_count(struct fgio_room *room, struct fgio_room_group *group,
		     u32 weight, u64 now_ns);

/* The second pass. Return: whether it changed what others can have. */
bool fgio_room_lend(struct fgio_room *room, struct fgio_room_group *group);

/* The last pass: sets the group's part. */
void fgio_room_settle(const struct fgio_room *room,
		      struct fgio_room_group *group);

/**
 * fgio_room_dirty() - a task of a group dirties pages
 * @room: of the device
 * @group: the group
 * @weight: its weight in core, if it has no part yet
 * @held: pages that it has dirty or under writeback
 * @now_ns: the time, not 0
 *
 * Context: any; during a look, the weight may count twice, or not until the next.
 */
void fgio_room_dirty(struct fgio_room *room, struct fgio_room_group *group,
		     u32 weight, u64 held, u64 now_ns);

/**
 * fgio_room_limit() - how many pages the tasks of a group may have dirty
 * @room: after a look
 * @group: of it
 * @weight: of a group that did not take part, and has said since that it dirties:
 *	it has what it would have if all needed any amount, and a part of
 *	FGIO_ROOM_FIRST at most
 *
 * Return: dirty and under writeback at once, at least FGIO_ROOM_LEAST.
 * Context: any; during a look, a limit may be of this one or the one before.
 */
u64 fgio_room_limit(const struct fgio_room *room,
		    const struct fgio_room_group *group, u32 weight);

/*
 * Whether a task of a group may go on that has @held pages: within @limit, or
 * since the group has aged. Of tasks that ask at once, one goes by age.
 */
bool fgio_room_may_go(struct fgio_room_group *group, u64 limit, u64 held,
		      u64 now_ns);

#endif /* FGIO_CORE_ROOM_H */
