// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "inherit.h"

#define NO_PLACE FGIO_BUCKET_NODES

/* Index of a task's node; with 0 for the task, of a free one. */
static unsigned int place_of(const struct fgio_bucket *bucket, u64 task)
{
	unsigned int place;

	for (place = 0; place < FGIO_BUCKET_NODES; place++)
		if (fgio_load(&bucket->tasks[place]) == task)
			break;
	return place;
}

/* Numbers compared are never further apart than half of their range. */
static bool is_older(u32 walk, u32 than)
{
	return (s32)(walk - than) < 0;
}

static unsigned int leases_of(const struct fgio_node *node)
{
	unsigned int count = 0;
	unsigned int i;

	for (i = 0; i < FGIO_LEASES; i++)
		count += node->leases[i].root != 0;
	return count;
}

static bool is_waiting_root(const struct fgio_node *node)
{
	return node->foreground && node->depth;
}

static void set_waits(struct fgio_bucket *bucket, struct fgio_node *node,
		      u8 depth, bool foreground)
{
	u32 others = bucket->foreground_waiting - is_waiting_root(node);

	node->foreground = foreground;
	fgio_store(&node->depth, depth);
	fgio_store(&bucket->foreground_waiting, others + is_waiting_root(node));
}

static void set_leased(struct fgio_bucket *bucket, bool before, bool after)
{
	if (before != after)
		fgio_store(&bucket->leased, bucket->leased + after - before);
}

static void free_when_idle(struct fgio_bucket *bucket, unsigned int place)
{
	const struct fgio_node *node = &bucket->nodes[place];

	if (!node->depth && !leases_of(node))
		fgio_store(&bucket->tasks[place], 0);
}

static void clear(struct fgio_bucket *bucket, unsigned int place)
{
	struct fgio_node *node = &bucket->nodes[place];
	unsigned int i;

	set_leased(bucket, leases_of(node), false);
	for (i = 0; i < FGIO_LEASES; i++)
		node->leases[i].root = 0;
	set_waits(bucket, node, 0, false);
	free_when_idle(bucket, place);
}

/* The last walk that found a reason to boost a node with leases. */
static u32 boosted_last(const struct fgio_node *node)
{
	const struct fgio_lease *last = NULL;
	unsigned int i;

	for (i = 0; i < FGIO_LEASES; i++) {
		const struct fgio_lease *lease = &node->leases[i];

		if (lease->root && (!last || is_older(last->walk, lease->walk)))
			last = lease;
	}
	return last ? last->walk : 0;
}

/* The order in which nodes give way in a full bucket; see fgio_wait_begin(). */
enum worth {
	WORTH_DECLARED,
	WORTH_WAIT,
	WORTH_BOOST,
	WORTH_KEEPING,
};

static bool has_declared_alone(const struct fgio_node *node)
{
	unsigned int i;

	for (i = 0; i < node->depth; i++)
		if (!node->waits[i].declared)
			return false;
	return true;
}

static enum worth worth_of(const struct fgio_node *node)
{
	if (is_waiting_root(node))
		return WORTH_KEEPING;
	if (leases_of(node))
		return node->depth ? WORTH_KEEPING : WORTH_BOOST;
	return has_declared_alone(node) ? WORTH_DECLARED : WORTH_WAIT;
}

/* Of two nodes of one worth; a wait counts from the innermost one on. */
static bool is_staler(const struct fgio_node *node,
		      const struct fgio_node *than)
{
	if (!node->depth)
		return is_older(boosted_last(node), boosted_last(than));
	return node->waits[node->depth - 1].since_ns <
	       than->waits[than->depth - 1].since_ns;
}

/* Return: a place that is free now, or NO_PLACE. */
static unsigned int make_room(struct fgio_bucket *bucket, enum worth most)
{
	unsigned int victim = NO_PLACE;
	enum worth least = WORTH_KEEPING;
	unsigned int place;

	for (place = 0; place < FGIO_BUCKET_NODES; place++) {
		const struct fgio_node *node = &bucket->nodes[place];
		enum worth worth = worth_of(node);

		if (worth > most || worth > least)
			continue;
		if (worth == least && !is_staler(node, &bucket->nodes[victim]))
			continue;
		victim = place;
		least = worth;
	}
	if (victim == NO_PLACE)
		return NO_PLACE;
	bucket->given_way += bucket->nodes[victim].depth != 0;
	clear(bucket, victim);
	return victim;
}

static u32 next_seq(struct fgio_bucket *bucket)
{
	bucket->seq = (bucket->seq + 1) & ~FGIO_SEQ_OUTSIDE;
	if (!bucket->seq)
		bucket->seq = 1;
	return bucket->seq;
}

u32 fgio_wait_begin(struct fgio_bucket *bucket, u64 task, bool foreground,
		    struct fgio_wait *wait)
{
	unsigned int place = place_of(bucket, task);
	struct fgio_node *node;

	wait->seq = 0;
	if (!task)
		return 0;
	if (place == NO_PLACE)
		place = place_of(bucket, 0);
	if (place == NO_PLACE)
		place = make_room(bucket, foreground ? WORTH_BOOST :
						       WORTH_WAIT);
	if (place == NO_PLACE)
		return 0;
	node = &bucket->nodes[place];
	if (node->depth == FGIO_WAITS_NESTED)
		return 0;

	wait->seq = next_seq(bucket);
	node->waits[node->depth] = *wait;
	set_waits(bucket, node, node->depth + 1, foreground);
	fgio_store(&bucket->tasks[place], task);
	return wait->seq;
}

/* Position of a wait among those of its task; their number if it is over. */
static unsigned int position_of(const struct fgio_node *node, u32 seq)
{
	unsigned int i;

	for (i = 0; i < node->depth; i++)
		if (node->waits[i].seq == seq)
			break;
	return i;
}

/* Position of the first wait that began after the one with this number. */
static unsigned int position_after(const struct fgio_node *node, u32 seq)
{
	unsigned int i;

	for (i = 0; i < node->depth; i++)
		if (is_older(seq << 1, node->waits[i].seq << 1))
			break;
	return i;
}

bool fgio_wait_end(struct fgio_bucket *bucket, u64 task, u32 seq,
		   struct fgio_wait *ended)
{
	unsigned int place = place_of(bucket, task);
	struct fgio_node *node;
	unsigned int position;
	bool is_there;

	if (place == NO_PLACE)
		return false;
	node = &bucket->nodes[place];
	position = position_of(node, seq);
	is_there = position < node->depth;
	if (is_there && ended)
		*ended = node->waits[position];
	if (!is_there)
		position = position_after(node, seq);
	set_waits(bucket, node, (u8)position, node->foreground);
	free_when_idle(bucket, place);
	return is_there;
}

u32 fgio_wait_seq(const struct fgio_bucket *bucket, u64 task, u64 object)
{
	unsigned int place = place_of(bucket, task);
	const struct fgio_node *node;
	unsigned int i;

	if (place == NO_PLACE)
		return 0;
	node = &bucket->nodes[place];
	for (i = fgio_load(&node->depth); i > 0; i--)
		if (node->waits[i - 1].object == object)
			return node->waits[i - 1].seq;
	return 0;
}

bool fgio_wait_any(const struct fgio_bucket *bucket, u64 task)
{
	unsigned int place = place_of(bucket, task);

	return place != NO_PLACE && fgio_load(&bucket->nodes[place].depth);
}

void fgio_wait_set_kind(struct fgio_bucket *bucket, u64 task, u32 seq, u8 kind)
{
	unsigned int place = place_of(bucket, task);
	struct fgio_node *node;
	unsigned int position;

	if (place == NO_PLACE)
		return;
	node = &bucket->nodes[place];
	position = position_of(node, seq);
	if (position < node->depth)
		node->waits[position].kind = kind;
}

bool fgio_wait_goes_on(const struct fgio_bucket *bucket, u64 task, u32 seq)
{
	unsigned int place = place_of(bucket, task);
	const struct fgio_node *node;

	if (place == NO_PLACE)
		return false;
	node = &bucket->nodes[place];
	return position_of(node, seq) < node->depth;
}

bool fgio_wait_foreground(const struct fgio_bucket *bucket, u64 task)
{
	unsigned int place = place_of(bucket, task);

	return place != NO_PLACE && is_waiting_root(&bucket->nodes[place]);
}

unsigned int fgio_wait_copy(const struct fgio_bucket *bucket, u64 task,
			    struct fgio_wait waits[FGIO_WAITS_NESTED])
{
	unsigned int place = place_of(bucket, task);
	const struct fgio_node *node;
	unsigned int i;

	if (place == NO_PLACE)
		return 0;
	node = &bucket->nodes[place];
	for (i = 0; i < node->depth; i++)
		waits[i] = node->waits[i];
	return i;
}

void fgio_wait_forget(struct fgio_bucket *bucket, u64 task)
{
	unsigned int place = place_of(bucket, task);

	if (place != NO_PLACE)
		clear(bucket, place);
}

static bool same_reason(const struct fgio_lease *one,
			const struct fgio_lease *other)
{
	return one->root == other->root && one->root_seq == other->root_seq &&
	       one->waiter == other->waiter &&
	       one->waiter_seq == other->waiter_seq;
}

/* Whether the first of two gives way to another reason. */
static bool is_worth_less(const struct fgio_lease *one,
			  const struct fgio_lease *other)
{
	if (!one->root || !other->root)
		return other->root;
	if (one->guess != other->guess)
		return one->guess;
	return is_older(one->walk, other->walk);
}

/* The lease for the same reason, else the one that is worth least. */
static struct fgio_lease *lease_for(struct fgio_node *node,
				    const struct fgio_lease *lease)
{
	struct fgio_lease *best = &node->leases[0];
	unsigned int i;

	for (i = 0; i < FGIO_LEASES; i++) {
		struct fgio_lease *other = &node->leases[i];

		if (other->root && same_reason(other, lease))
			return other;
		if (is_worth_less(other, best))
			best = other;
	}
	return best;
}

/* @mine: for the same reason. What one walk knows for certain is no guess of it. */
static void renew(struct fgio_lease *mine, const struct fgio_lease *lease)
{
	bool known = mine->walk == lease->walk && !mine->guess;

	if (is_older(lease->walk, mine->walk))
		return;
	*mine = *lease;
	if (known)
		mine->guess = false;
}

/* Reasons of one walk do not evict each other, but a guess gives way. */
static bool is_kept(const struct fgio_lease *mine,
		    const struct fgio_lease *lease)
{
	return mine->root && mine->walk == lease->walk &&
	       (!mine->guess || lease->guess);
}

bool fgio_lease_grant(struct fgio_bucket *bucket, u64 task,
		      const struct fgio_lease *lease, bool *renewed)
{
	unsigned int place = place_of(bucket, task);
	struct fgio_lease *mine;
	struct fgio_node *node;

	*renewed = false;
	if (!task || !lease->root)
		return false;
	if (place == NO_PLACE)
		place = place_of(bucket, 0);
	if (place == NO_PLACE)
		place = make_room(bucket, WORTH_WAIT);
	if (place == NO_PLACE)
		return false;
	node = &bucket->nodes[place];

	set_leased(bucket, leases_of(node), true);
	mine = lease_for(node, lease);
	*renewed = (mine->root && same_reason(mine, lease)) ||
		   is_kept(mine, lease);
	if (!*renewed)
		*mine = *lease;
	else if (same_reason(mine, lease))
		renew(mine, lease);
	fgio_store(&bucket->tasks[place], task);
	return true;
}

typedef bool ends_fn(const struct fgio_lease *lease,
		     const struct fgio_lease *like);

/* Drops those that are like one. Return: their number. */
static unsigned int drop_leases(struct fgio_bucket *bucket, unsigned int place,
				ends_fn *ends, const struct fgio_lease *like)
{
	struct fgio_node *node = &bucket->nodes[place];
	unsigned int before = leases_of(node);
	unsigned int after;
	unsigned int i;

	for (i = 0; i < FGIO_LEASES; i++)
		if (ends(&node->leases[i], like))
			node->leases[i].root = 0;
	after = leases_of(node);
	set_leased(bucket, before, after);
	free_when_idle(bucket, place);
	return before - after;
}

static bool is_of_kind(const struct fgio_lease *lease,
		       const struct fgio_lease *like)
{
	return !like->kind || lease->kind == like->kind;
}

void fgio_lease_drop(struct fgio_bucket *bucket, u64 task, u8 kind)
{
	const struct fgio_lease like = { .kind = kind };
	unsigned int place = place_of(bucket, task);

	if (place != NO_PLACE)
		drop_leases(bucket, place, is_of_kind, &like);
}

static bool is_of_root(const struct fgio_lease *lease,
		       const struct fgio_lease *like)
{
	return lease->root == like->root && lease->root_seq == like->root_seq;
}

void fgio_lease_end(struct fgio_bucket *bucket, u64 task, u64 root,
		    u32 root_seq)
{
	const struct fgio_lease like = { .root = root, .root_seq = root_seq };
	unsigned int place = place_of(bucket, task);

	if (place != NO_PLACE)
		drop_leases(bucket, place, is_of_root, &like);
}

static bool was_not_renewed(const struct fgio_lease *lease,
			    const struct fgio_lease *like)
{
	return is_older(lease->walk, like->walk);
}

unsigned int fgio_lease_expire(struct fgio_bucket *bucket, u32 walk)
{
	const struct fgio_lease like = { .walk = walk };
	unsigned int expired = 0;
	unsigned int place;

	if (!bucket->leased)
		return 0;
	for (place = 0; place < FGIO_BUCKET_NODES; place++)
		expired += drop_leases(bucket, place, was_not_renewed, &like);
	return expired;
}

static unsigned int copy_leases(const struct fgio_node *node,
				struct fgio_lease *leases)
{
	unsigned int count = 0;
	unsigned int i;

	for (i = 0; i < FGIO_LEASES; i++)
		if (node->leases[i].root)
			leases[count++] = node->leases[i];
	return count;
}

unsigned int fgio_lease_copy(const struct fgio_bucket *bucket, u64 task,
			     struct fgio_lease leases[FGIO_LEASES])
{
	unsigned int place = place_of(bucket, task);

	return place == NO_PLACE ? 0 :
				   copy_leases(&bucket->nodes[place], leases);
}

unsigned int fgio_bucket_leases(const struct fgio_bucket *bucket,
				struct fgio_lease leases[FGIO_BUCKET_LEASES])
{
	unsigned int count = 0;
	unsigned int place;

	if (!bucket->leased)
		return 0;
	for (place = 0; place < FGIO_BUCKET_NODES; place++)
		count += copy_leases(&bucket->nodes[place], leases + count);
	return count;
}

unsigned int fgio_bucket_roots(const struct fgio_bucket *bucket,
			       void (*visit)(void *context, u64 task),
			       void *context)
{
	unsigned int count = 0;
	unsigned int place;

	if (!bucket->foreground_waiting)
		return 0;
	for (place = 0; place < FGIO_BUCKET_NODES; place++) {
		if (!is_waiting_root(&bucket->nodes[place]))
			continue;
		visit(context, bucket->tasks[place]);
		count++;
	}
	return count;
}

void fgio_bucket_clear(struct fgio_bucket *bucket)
{
	unsigned int place;

	for (place = 0; place < FGIO_BUCKET_NODES; place++)
		clear(bucket, place);
}

/* Clears only what the last walk used: walks are short, the table is not. */
void fgio_walk_begin(struct fgio_walk *walk)
{
	u32 i;

	for (i = 0; i < walk->count; i++)
		walk->visited[walk->links[i].place] = 0;
	walk->count = 0;
	walk->next = 0;
}

/*
 * Where a task is noted as visited, or would be. The table is never full, so
 * there is an empty place behind any hash.
 */
static u32 *visited_place(const struct fgio_walk *walk, u64 task)
{
	u32 mask = (1U << walk->visited_bits) - 1;
	u32 hash = (u32)((task * 0x9e3779b97f4a7c15ULL) >> 32) >>
		   (32 - walk->visited_bits);

	while (walk->visited[hash] &&
	       walk->links[walk->visited[hash] - 1].task != task)
		hash = (hash + 1) & mask;
	return &walk->visited[hash];
}

/* Return: false when there is no room. */
static bool append_link(struct fgio_walk *walk, u32 *visited,
			const struct fgio_link *link)
{
	if (walk->count == walk->capacity) {
		walk->overflowed++;
		return false;
	}
	walk->links[walk->count] = *link;
	walk->links[walk->count].place = (u32)(visited - walk->visited);
	walk->count++;
	*visited = walk->count;
	return true;
}

bool fgio_walk_root(struct fgio_walk *walk, u64 task)
{
	u32 *visited = visited_place(walk, task);
	struct fgio_link link = {
		.task = task,
		.root = task,
		.parent = walk->count,
		.child = walk->count,
	};

	if (!task)
		return false;
	return *visited || append_link(walk, visited, &link);
}

/*
 * A task that was guessed, and not followed yet, is found for certain in as few
 * steps: what is in its way is no guess either.
 */
static void take_over(const struct fgio_walk *walk, struct fgio_link *found,
		      const struct fgio_link *link)
{
	u32 index = (u32)(found - walk->links);

	if (!found->guess || link->guess || found->depth != link->depth ||
	    index < walk->next)
		return;
	found->root = link->root;
	found->root_seq = link->root_seq;
	found->waiter_seq = link->waiter_seq;
	found->parent = link->parent;
	found->kind = link->kind;
	found->guess = false;
}

/* The found task is followed in turn, unless it was or will be. */
static void follow_later(struct fgio_walk *walk, const struct fgio_lease *lease,
			 u64 task)
{
	struct fgio_link *parent = &walk->links[walk->from];
	u32 *visited = visited_place(walk, task);
	struct fgio_link link = {
		.task = task,
		.root = lease->root,
		.root_seq = lease->root_seq,
		.waiter_seq = lease->waiter_seq,
		.parent = walk->from,
		.child = walk->count,
		.kind = walk->from_kind,
		.depth = (u8)(parent->depth + 1),
		.guess = lease->guess,
	};

	if (*visited) {
		take_over(walk, &walk->links[*visited - 1], &link);
	} else if (!append_link(walk, visited, &link)) {
		parent->full = true;
		return;
	}
	if (parent->child == walk->from)
		parent->child = *visited - 1;
}

void fgio_walk_found(struct fgio_walk *walk, u64 task)
{
	const struct fgio_link *link = &walk->links[walk->from];
	struct fgio_lease lease = {
		.root = link->root,
		.root_seq = link->depth ? link->root_seq : walk->from_seq,
		.waiter = link->task,
		.waiter_seq = walk->from_seq,
		.walk = walk->number,
		.kind = walk->from_kind,
		.guess = link->guess || walk->guesses,
	};

	/* A cycle leads back to the root, which is foreground anyway. */
	if (!task || task == link->task || task == link->root ||
	    link->depth >= walk->depth_max)
		return;
	walk->operations->boost(walk->context, task, &lease);
	follow_later(walk, &lease, task);
}

void fgio_walk_guessed(struct fgio_walk *walk, u64 task)
{
	walk->guesses = true;
	fgio_walk_found(walk, task);
	walk->guesses = false;
}

void fgio_walk_found_from(struct fgio_walk *walk, u32 link,
			  const struct fgio_wait *wait, u64 task)
{
	walk->from = link;
	walk->from_seq = wait->seq;
	walk->from_kind = wait->kind;
	fgio_walk_found(walk, task);
}

static void follow(struct fgio_walk *walk, u32 index)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count;
	unsigned int i;

	if (walk->links[index].depth >= walk->depth_max) {
		walk->cut++;
		return;
	}
	count = walk->operations->waits(walk->context, walk->links[index].task,
					waits);
	for (i = 0; i < count; i++) {
		walk->from = index;
		walk->from_seq = waits[i].seq;
		walk->from_kind = waits[i].kind;
		walk->operations->blockers(walk->context, walk, index,
					   &waits[i]);
	}
}

void fgio_walk_run(struct fgio_walk *walk)
{
	while (walk->next < walk->count)
		follow(walk, walk->next++);
}
