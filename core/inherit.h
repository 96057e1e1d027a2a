/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The wait graph: which task waits for which object, and which tasks become
 * critical because a foreground task waits for them, directly or through others
 * (FAST'17 paper, sections 4.2 and 4.4).
 *
 * A *node* is a task that waits or is boosted. Its waits nest: a task that
 * waits for a journal commit may meet a lock on the way. A *boost* is a lease:
 * it names the wait of the foreground task that it serves (the root) and the
 * wait that leads to the boosted task (the edge), and it is void from the
 * moment that either ends. It need not be taken back.
 *
 * A *walk* starts at every wait of every foreground task and follows blockers,
 * breadth first. It is level-triggered: it looks at the present state, not at
 * changes, and is repeated while foreground tasks wait. A missed event costs
 * one interval of the walk, never a lost or a stuck boost.
 *
 * Tasks and the objects that they wait for are opaque numbers here, never
 * dereferenced. Zero is no task.
 *
 * Locking: nodes live in buckets; the functions that take a bucket touch
 * nothing else, and the caller serialises the calls for one bucket. A walk
 * belongs to one thread, and asks for what it needs of the buckets through its
 * operations. Nothing here sleeps or allocates.
 */
#ifndef FGIO_CORE_INHERIT_H
#define FGIO_CORE_INHERIT_H

#include "types.h"

#define FGIO_WAITS_NESTED 4
#define FGIO_LEASES 2
#define FGIO_BUCKET_NODES 8
#define FGIO_BUCKET_LEASES (FGIO_BUCKET_NODES * FGIO_LEASES)

/*
 * The highest bit of a sequence number is the caller's: the functions below
 * never set it, and find no wait by a number with it.
 */
#define FGIO_SEQ_OUTSIDE 0x80000000U

/* The longest chain that is followed; the paper saw four steps. */
#define FGIO_WALK_DEPTH 8

/**
 * struct fgio_wait - one task waits for one object
 * @object: the object
 * @detail: more about it, known to the layer that recorded the wait
 * @since_ns: when it began
 * @seq: names this wait among all past and future ones of its task; never 0,
 *	and without FGIO_SEQ_OUTSIDE if it was recorded here
 * @kind: the layer that knows the blockers
 * @declared: the task says that it waits, and may say so without waiting
 */
struct fgio_wait {
	u64 object;
	u64 detail;
	u64 since_ns;
	u32 seq;
	u8 kind;
	bool declared;
};

/**
 * struct fgio_lease - the reason for a boost
 * @root: the foreground task that is served
 * @root_seq: its wait
 * @waiter: the task that waits for the boosted one; @root itself in a chain of
 *	one step
 * @waiter_seq: its wait
 * @walk: number of the walk that last renewed it, or that was the last one to
 *	begin when it was granted
 * @kind: kind of the wait of @waiter
 * @guess: the task is only likely to block, or was found through such a task
 */
struct fgio_lease {
	u64 root;
	u64 waiter;
	u32 root_seq;
	u32 waiter_seq;
	u32 walk;
	u8 kind;
	bool guess;
};

/**
 * struct fgio_node - a task that waits or is boosted; only the functions below
 *	touch it
 * @depth: waits in @waits, outermost first
 * @foreground: whether its waits are roots
 * @waits: nested waits
 * @leases: reasons of its boost; a lease without a root is none
 */
struct fgio_node {
	u8 depth;
	bool foreground;
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	struct fgio_lease leases[FGIO_LEASES];
};

/**
 * struct fgio_bucket - the nodes whose tasks hash to one place
 * @seq: the last sequence number given out
 * @foreground_waiting: nodes of foreground tasks that wait
 * @leased: nodes that have leases
 * @given_way: total nodes with waits whose place others took
 * @tasks: task of each node; 0 for a free one. Apart from the nodes, so that a
 *	task is looked up in one or two cache lines
 * @nodes: the nodes, some of them free
 *
 * All zero is an empty bucket.
 */
struct fgio_bucket {
	u32 seq;
	u32 foreground_waiting;
	u32 leased;
	u32 given_way;
	u64 tasks[FGIO_BUCKET_NODES];
	struct fgio_node nodes[FGIO_BUCKET_NODES];
};

/**
 * fgio_wait_begin() - a task begins to wait
 * @bucket: of the task
 * @task: the task
 * @foreground: whether requests wait for it; holds for the waits around this
 *	one, too
 * @wait: object, detail, since_ns, kind and declared set; seq is set here
 *
 * In a full bucket another node gives way, the first of these that there is:
 *
 *	one that only has declared waits, of a task that is neither foreground
 *	nor boosted; the one that waits longest
 *	any other one that waits, of such a task; the one that waits longest:
 *	walks have come since, and found that it blocks no task
 *	for a foreground task, a node that is boosted and does not wait; the one
 *	that was boosted longest ago: the boost comes back with the next walk
 *
 * So the waits of foreground tasks are recorded whatever waits other users
 * have, and boosted tasks that wait stay.
 *
 * Return: the wait's sequence number, or 0 if the bucket is full or the task's
 * waits nest too deep: the wait is not recorded, and nothing is boosted for it.
 */
u32 fgio_wait_begin(struct fgio_bucket *bucket, u64 task, bool foreground,
		    struct fgio_wait *wait);

/**
 * fgio_wait_end() - a wait is over
 * @bucket: of the task
 * @task: the task
 * @seq: the wait; those nested in it are over, too, even if it gave way to
 *	another task's and they came after that
 * @ended: out: the wait, or NULL
 *
 * Return: whether there was such a wait.
 */
bool fgio_wait_end(struct fgio_bucket *bucket, u64 task, u32 seq,
		   struct fgio_wait *ended);

/*
 * The innermost wait of a task for an object; 0 if there is none. Without
 * serialisation, a task may ask for itself, and the answer is advisory: while
 * it has none, another task's number may be returned, which ends nothing.
 */
u32 fgio_wait_seq(const struct fgio_bucket *bucket, u64 task, u64 object);

/*
 * Whether a task has waits at all. Without serialisation, a task may ask for
 * itself: true while it has waits, and false while it has none, except for a
 * rare race.
 */
bool fgio_wait_any(const struct fgio_bucket *bucket, u64 task);

/* A wait turned out to be of another kind. */
void fgio_wait_set_kind(struct fgio_bucket *bucket, u64 task, u32 seq, u8 kind);

/* Whether a wait is still going on. */
bool fgio_wait_goes_on(const struct fgio_bucket *bucket, u64 task, u32 seq);

/* Whether a task waits that requests wait for. */
bool fgio_wait_foreground(const struct fgio_bucket *bucket, u64 task);

/* Copies a task's waits, outermost first. Return: their number. */
unsigned int fgio_wait_copy(const struct fgio_bucket *bucket, u64 task,
			    struct fgio_wait waits[FGIO_WAITS_NESTED]);

/* The task has exited: drop its waits and its leases. */
void fgio_wait_forget(struct fgio_bucket *bucket, u64 task);

/**
 * fgio_lease_grant() - boost a task, or renew its boost
 * @bucket: of the task
 * @task: the task
 * @lease: the reason
 * @renewed: out: whether it was boosted before, by this very lease or by as
 *	many of the same walk as it can have
 *
 * Takes the place of the same lease, of a free one, or of another: of a guess
 * rather than of what is none, and of the one that was renewed longest ago. What
 * was renewed in the same walk stays, but that a guess gives way to what is none.
 * In a full bucket a node that waits gives way as in fgio_wait_begin(); a boosted
 * one never does.
 *
 * Return: false if no node gives way.
 */
bool fgio_lease_grant(struct fgio_bucket *bucket, u64 task,
		      const struct fgio_lease *lease, bool *renewed);

/*
 * A task gives its boosts back, those for waits of one kind or (0) all: the
 * next walk renews those that are needed.
 */
void fgio_lease_drop(struct fgio_bucket *bucket, u64 task, u8 kind);

/*
 * A wait of a foreground task ended: the boosts of @task for it are void, and
 * leave room for others.
 */
void fgio_lease_end(struct fgio_bucket *bucket, u64 task, u64 root,
		    u32 root_seq);

/* Copies a task's leases. Return: their number. */
unsigned int fgio_lease_copy(const struct fgio_bucket *bucket, u64 task,
			     struct fgio_lease leases[FGIO_LEASES]);

/* Copies the leases of all tasks of a bucket. Return: their number. */
unsigned int fgio_bucket_leases(const struct fgio_bucket *bucket,
				struct fgio_lease leases[FGIO_BUCKET_LEASES]);

/**
 * fgio_lease_expire() - drop the leases that were not renewed
 * @bucket: any
 * @walk: drop leases not renewed by this walk or a later one
 *
 * Return: number of leases dropped.
 */
unsigned int fgio_lease_expire(struct fgio_bucket *bucket, u32 walk);

/*
 * Calls @visit for each foreground task of the bucket that waits. Return: their
 * number.
 */
unsigned int fgio_bucket_roots(const struct fgio_bucket *bucket,
			       void (*visit)(void *context, u64 task),
			       void *context);

/*
 * Forgets all tasks of a bucket. Sequence numbers continue, so that no
 * forgotten wait seems to go on.
 */
void fgio_bucket_clear(struct fgio_bucket *bucket);

/**
 * struct fgio_link - a task that a walk reached
 * @task: the task
 * @root: the foreground task where the walk began; @task itself for a root
 * @root_seq: the wait of @root that led here; 0 for a root
 * @waiter_seq: the wait of the task before that led here; 0 for a root
 * @parent: index of the link before; its own index for a root
 * @child: index of the link of the first task that was found from here; its own
 *	if none
 * @place: index in the walk's @visited
 * @kind: kind of the wait that led here
 * @depth: steps from the root
 * @guess: whether a guess is among the steps
 * @full: a task was found from here for which there was no room
 */
struct fgio_link {
	u64 task;
	u64 root;
	u32 root_seq;
	u32 waiter_seq;
	u32 parent;
	u32 child;
	u32 place;
	u8 kind;
	u8 depth;
	bool guess;
	bool full;
};

struct fgio_walk;

/**
 * struct fgio_walk_operations - what a walk asks its caller
 * @waits: copies the waits of a task, and returns their number
 * @blockers: calls fgio_walk_found() for each task that blocks a wait; called
 *	once for each wait of each task that the walk reaches
 * @boost: a task blocks a foreground task
 */
struct fgio_walk_operations {
	unsigned int (*waits)(void *context, u64 task,
			      struct fgio_wait waits[FGIO_WAITS_NESTED]);
	void (*blockers)(void *context, struct fgio_walk *walk, u32 link,
			 const struct fgio_wait *wait);
	void (*boost)(void *context, u64 task, const struct fgio_lease *lease);
};

/**
 * struct fgio_walk - one walk over the graph
 * @operations: how to ask
 * @context: passed to the operations
 * @links: every task that the walk reached, in that order; the caller's memory
 * @capacity: length of @links
 * @count: links in use
 * @next: links before this one have been followed
 * @visited: link of each visited task by hash, 0 for none, else index + 1; the
 *	caller's memory, all zero before the first walk
 * @visited_bits: log2 of the length of @visited, which is at least twice
 *	@capacity
 * @depth_max: steps that are followed; 1 switches transitive waits off
 * @number: of this walk; each walk has the next one
 * @from: the link that waits for the task found last
 * @from_seq: its wait
 * @from_kind: its kind
 * @guesses: whether tasks found now are guesses
 * @overflowed: total tasks that did not fit into @links: boosted, or a root,
 *	but not followed
 * @cut: total tasks not followed because of @depth_max: boosted, and in @links
 *
 * The caller zeroes all, and sets @operations, @context, @links, @capacity,
 * @visited and @visited_bits (1 to 31) once, @depth_max (1 to %FGIO_WALK_DEPTH)
 * and @number before each walk.
 */
struct fgio_walk {
	const struct fgio_walk_operations *operations;
	void *context;
	struct fgio_link *links;
	u32 capacity;
	u32 count;
	u32 next;
	u32 *visited;
	u32 visited_bits;
	u32 depth_max;
	u32 number;
	u32 from;
	u32 from_seq;
	u8 from_kind;
	bool guesses;
	u64 overflowed;
	u64 cut;
};

/* Begins a new walk: nothing is visited, nothing is to be followed. */
void fgio_walk_begin(struct fgio_walk *walk);

/*
 * A foreground task that waits. All roots come before fgio_walk_run(). Return:
 * false if there is no room.
 */
bool fgio_walk_root(struct fgio_walk *walk, u64 task);

/*
 * Follows all links that are left. May be called again after
 * fgio_walk_found_from() added more.
 */
void fgio_walk_run(struct fgio_walk *walk);

/**
 * fgio_walk_found() - a task blocks; called by @blockers
 * @walk: the walk
 * @task: the task; 0, the waiter itself and the root are ignored
 *
 * The task is boosted at once. It is followed if it is new to the walk, so
 * cycles end.
 */
void fgio_walk_found(struct fgio_walk *walk, u64 task);

/* The same for a task that is only likely to block. */
void fgio_walk_guessed(struct fgio_walk *walk, u64 task);

/*
 * The same outside of @blockers, if the blocker was found later: @link waits,
 * with @wait, for @task.
 */
void fgio_walk_found_from(struct fgio_walk *walk, u32 link,
			  const struct fgio_wait *wait, u64 task);

#endif /* FGIO_CORE_INHERIT_H */
