// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The model keeps a stack of waits for each task and a set of blockers for each
 * object, and finds the tasks to boost by looking at all of them, layer by
 * layer: no nodes, no buckets, no queue. Of leases it keeps only the last
 * state, to see which went, and checks of each that its reason is true.
 */
#include "model_inherit.h"

#include <string.h>

#include "../inherit.h"
#include "check.h"

#define TASKS 40
#define OBJECTS 16
#define BUCKETS_MAX 8
#define SEQ_MAX (FGIO_SEQ_OUTSIDE - 1)
#define CAPACITY_MAX 64
#define NOWHERE 255

typedef uint64_t task_set;

struct model_wait {
	uint32_t seq;
	unsigned int object;
	uint64_t since_ns;
};

/* The order in which tasks give way, first to last. */
enum rank {
	RANK_DECLARED,
	RANK_WAIT,
	RANK_BOOST,
	RANK_NONE,
};

struct model_task {
	bool marked; /* foreground, from its next wait on */
	bool root; /* as it was marked when it last began to wait */
	unsigned int depth;
	struct model_wait waits[FGIO_WAITS_NESTED];
};

struct model_leases {
	unsigned int count;
	struct fgio_lease leases[FGIO_LEASES];
};

/* A question that a walk answers late. */
struct late {
	uint32_t link;
	struct fgio_wait wait;
};

struct play {
	const uint8_t *script;
	size_t length;
	size_t at;
	uint64_t now_ns;
	uint64_t trace; /* hash of all results */
	struct model_inherit_seen seen;

	struct model_task tasks[TASKS];
	struct model_leases last[TASKS];
	task_set blockers[OBJECTS];

	unsigned int bucket_count;
	struct fgio_bucket buckets[BUCKETS_MAX];
	uint32_t last_seq[BUCKETS_MAX];
	uint32_t given_way[BUCKETS_MAX];

	struct fgio_walk walk;
	struct fgio_link links[CAPACITY_MAX];
	uint32_t visited[2 * CAPACITY_MAX];
	bool answers_late;
	bool is_disturbed;
	unsigned int asked;
	unsigned int late_count;
	struct late late[CAPACITY_MAX * FGIO_WAITS_NESTED];
	task_set refused; /* boosts, in this walk */
};

static void play_operation(struct play *play, bool in_walk);

static uint64_t key_of(unsigned int task)
{
	return 0xffff888000000000ULL + 0x2340ULL * (task + 1);
}

static unsigned int task_of(uint64_t key)
{
	unsigned int task = (unsigned int)((key - key_of(0)) / 0x2340);

	CHECK(task < TASKS && key_of(task) == key);
	return task;
}

static uint64_t object_key(unsigned int object)
{
	return 0xffffc90000000000ULL + object * 64;
}

static uint8_t kind_of(unsigned int object)
{
	return (uint8_t)(1 + object % 5);
}

static bool is_declared(unsigned int object)
{
	return object % 4 == 3;
}

/* Its blockers are only likely ones. */
static bool is_guessed(unsigned int object)
{
	return object % 7 == 5;
}

static bool has(task_set set, unsigned int task)
{
	return set >> task & 1;
}

static task_set only(unsigned int task)
{
	return (task_set)1 << task;
}

static struct fgio_bucket *bucket_of(struct play *play, unsigned int task)
{
	return &play->buckets[task % play->bucket_count];
}

static void trace(struct play *play, uint64_t value)
{
	play->trace ^= value;
	next_random(&play->trace);
}

static uint8_t next_byte(struct play *play)
{
	return play->at < play->length ? play->script[play->at++] : 0;
}

static const struct model_wait *model_wait(const struct play *play,
					   unsigned int task, uint32_t seq)
{
	for (unsigned int i = 0; i < play->tasks[task].depth; i++)
		if (play->tasks[task].waits[i].seq == seq)
			return &play->tasks[task].waits[i];
	return NULL;
}

static bool model_lease_is_valid(const struct play *play,
				 const struct fgio_lease *lease)
{
	return model_wait(play, task_of(lease->root), lease->root_seq) &&
	       model_wait(play, task_of(lease->waiter), lease->waiter_seq);
}

static bool lease_is_valid(struct play *play, const struct fgio_lease *lease)
{
	return fgio_wait_goes_on(bucket_of(play, task_of(lease->root)),
				 lease->root, lease->root_seq) &&
	       fgio_wait_goes_on(bucket_of(play, task_of(lease->waiter)),
				 lease->waiter, lease->waiter_seq);
}

static bool has_node(const struct play *play, unsigned int task)
{
	return play->tasks[task].depth || play->last[task].count;
}

static bool is_bucket_full(const struct play *play, unsigned int task)
{
	unsigned int count = 0;

	for (unsigned int other = task % play->bucket_count; other < TASKS;
	     other += play->bucket_count)
		count += has_node(play, other);
	CHECK(count <= FGIO_BUCKET_NODES);
	return count == FGIO_BUCKET_NODES;
}

static enum rank rank_of(const struct play *play, unsigned int task)
{
	const struct model_task *model = &play->tasks[task];
	bool boosted = play->last[task].count;
	unsigned int declared = 0;

	if (!has_node(play, task) || (model->depth && (model->root || boosted)))
		return RANK_NONE;
	if (boosted)
		return RANK_BOOST;
	for (unsigned int i = 0; i < model->depth; i++)
		declared += is_declared(model->waits[i].object);
	return declared == model->depth ? RANK_DECLARED : RANK_WAIT;
}

/* The least rank in the bucket of a task. */
static enum rank least_rank(const struct play *play, unsigned int task)
{
	enum rank least = RANK_NONE;

	for (unsigned int other = task % play->bucket_count; other < TASKS;
	     other += play->bucket_count)
		if (rank_of(play, other) < least)
			least = rank_of(play, other);
	return least;
}

/* The task of this rank that has waited longest gives way: it waits no more. */
static void model_give_way(struct play *play, unsigned int task,
			   enum rank rank)
{
	unsigned int bucket = task % play->bucket_count;
	struct model_task *victim = NULL;

	for (unsigned int other = bucket; other < TASKS;
	     other += play->bucket_count) {
		struct model_task *model = &play->tasks[other];

		if (rank_of(play, other) == rank &&
		    (!victim ||
		     model->waits[model->depth - 1].since_ns <
			     victim->waits[victim->depth - 1].since_ns))
			victim = model;
	}
	CHECK(victim);
	victim->depth = 0;
	play->given_way[bucket]++;
	play->seen.given_way++;
}

static struct model_leases leases_of(struct play *play, unsigned int task)
{
	struct model_leases leases = { 0 };

	leases.count = fgio_lease_copy(bucket_of(play, task), key_of(task),
				       leases.leases);
	CHECK(leases.count <= FGIO_LEASES);
	return leases;
}

static bool is_same_lease(const struct fgio_lease *one,
			  const struct fgio_lease *other)
{
	return one->root == other->root && one->root_seq == other->root_seq &&
	       one->waiter == other->waiter &&
	       one->waiter_seq == other->waiter_seq;
}

static bool are_same_leases(const struct model_leases *one,
			    const struct model_leases *other)
{
	if (one->count != other->count)
		return false;
	for (unsigned int i = 0; i < one->count; i++)
		if (!is_same_lease(&one->leases[i], &other->leases[i]) ||
		    one->leases[i].walk != other->leases[i].walk)
			return false;
	return true;
}

/* Sees whose leases changed, which only those of @allowed may have. */
static task_set observe(struct play *play, task_set allowed)
{
	task_set changed = 0;

	for (unsigned int task = 0; task < TASKS; task++) {
		struct model_leases leases = leases_of(play, task);

		if (are_same_leases(&leases, &play->last[task]))
			continue;
		CHECK(has(allowed, task));
		changed |= only(task);
		play->last[task] = leases;
	}
	return changed;
}

static int32_t age_of(const struct play *play, const struct model_leases *of)
{
	int32_t age = INT32_MAX;

	for (unsigned int i = 0; i < of->count; i++) {
		int32_t since = (int32_t)(play->walk.number -
					  of->leases[i].walk);

		if (since < age)
			age = since;
	}
	return age;
}

/* A wait took the node of a boosted task: of the one boosted longest ago. */
static void observe_eviction(struct play *play, unsigned int task)
{
	struct model_leases before[TASKS];
	task_set changed;
	int32_t age = -1;

	memcpy(before, play->last, sizeof(before));
	changed = observe(play, ~(task_set)0);
	CHECK(changed && !(changed & (changed - 1)));
	for (unsigned int other = 0; other < TASKS; other++)
		if (has(changed, other)) {
			CHECK(!play->last[other].count);
			age = age_of(play, &before[other]);
		}
	for (unsigned int other = task % play->bucket_count; other < TASKS;
	     other += play->bucket_count)
		if (before[other].count && !play->tasks[other].depth)
			CHECK(age_of(play, &before[other]) <= age);
	play->seen.evictions++;
}

static uint32_t model_next_seq(struct play *play, unsigned int task)
{
	uint32_t *last = &play->last_seq[task % play->bucket_count];

	*last = *last == SEQ_MAX ? 1 : *last + 1;
	return *last;
}

static void play_begin(struct play *play, unsigned int task,
		       unsigned int object)
{
	struct model_task *model = &play->tasks[task];
	struct fgio_wait wait = { .object = object_key(object),
				  .detail = object * 3,
				  .since_ns = ++play->now_ns,
				  .kind = kind_of(object),
				  .declared = is_declared(object) };
	bool needs_room = !has_node(play, task) && is_bucket_full(play, task);
	enum rank rank = needs_room ? least_rank(play, task) : RANK_NONE;
	bool fits = model->depth < FGIO_WAITS_NESTED &&
		    (!needs_room || rank < RANK_BOOST ||
		     (rank == RANK_BOOST && model->marked));
	uint32_t expected = fits ? model_next_seq(play, task) : 0;
	uint32_t seq = fgio_wait_begin(bucket_of(play, task), key_of(task),
				       model->marked, &wait);

	CHECK(seq == expected && wait.seq == expected);
	if (!fits) {
		play->seen.refused_waits++;
		return;
	}
	if (rank < RANK_BOOST)
		model_give_way(play, task, rank);
	else if (needs_room)
		observe_eviction(play, task);
	play->seen.nested += model->depth > 0;
	model->root = model->marked;
	model->waits[model->depth++] = (struct model_wait){
		.seq = seq,
		.object = object,
		.since_ns = wait.since_ns,
	};
}

/* A wait that began after one that is over was nested in it. */
static void model_end_after(struct model_task *model, uint32_t seq)
{
	while (model->depth &&
	       ((model->waits[model->depth - 1].seq - seq) & SEQ_MAX) <
		       SEQ_MAX / 2 + 1)
		model->depth--;
}

static void play_end(struct play *play, unsigned int task, uint32_t seq)
{
	const struct model_wait *wait = model_wait(play, task, seq);
	struct model_task *model = &play->tasks[task];
	struct fgio_wait ended = { .seq = 0 };
	bool was = fgio_wait_end(bucket_of(play, task), key_of(task), seq,
				 &ended);

	CHECK(was == (wait != NULL));
	if (!wait) {
		model_end_after(model, seq);
		return;
	}
	CHECK(ended.seq == seq && ended.object == object_key(wait->object) &&
	      ended.since_ns == wait->since_ns &&
	      ended.detail == wait->object * 3 &&
	      ended.kind == kind_of(wait->object));
	model->depth = (unsigned int)(wait - model->waits);
}

/* @which: a position on the stack; if there is none, a number of no wait */
static void play_end_position(struct play *play, unsigned int task,
			      unsigned int which)
{
	const struct model_task *model = &play->tasks[task];

	if (which < model->depth)
		play_end(play, task, model->waits[which].seq);
	else
		play_end(play, task, play->last_seq[0] + 1000 * which);
}

static void play_end_object(struct play *play, unsigned int task,
			    unsigned int object)
{
	const struct model_task *model = &play->tasks[task];
	uint32_t expected = 0;
	uint32_t seq;

	for (unsigned int i = 0; i < model->depth; i++)
		if (model->waits[i].object == object)
			expected = model->waits[i].seq;
	seq = fgio_wait_seq(bucket_of(play, task), key_of(task),
			    object_key(object));
	CHECK(seq == expected);
	play_end(play, task, seq);
}

static void play_death(struct play *play, unsigned int task, bool owned_nothing)
{
	play->tasks[task] = (struct model_task){ 0 };
	fgio_wait_forget(bucket_of(play, task), key_of(task));
	observe(play, only(task));
	CHECK(!play->last[task].count);
	for (unsigned int i = 0; owned_nothing && i < OBJECTS; i++)
		play->blockers[i] &= ~only(task);
}

static void play_clear(struct play *play, unsigned int bucket)
{
	task_set allowed = 0;

	bucket %= play->bucket_count;
	fgio_bucket_clear(&play->buckets[bucket]);
	for (unsigned int task = bucket; task < TASKS;
	     task += play->bucket_count) {
		play->tasks[task].depth = 0;
		allowed |= only(task);
	}
	observe(play, allowed);
	for (unsigned int task = bucket; task < TASKS;
	     task += play->bucket_count)
		CHECK(!play->last[task].count);
}

/* Leases of other walks go, those of this one stay. */
static void play_expire(struct play *play)
{
	struct model_leases before[TASKS];
	unsigned int stale = 0, expired = 0, kept;

	memcpy(before, play->last, sizeof(before));
	for (unsigned int i = 0; i < play->bucket_count; i++)
		expired += fgio_lease_expire(&play->buckets[i],
					     play->walk.number);
	observe(play, ~(task_set)0);
	for (unsigned int task = 0; task < TASKS; task++) {
		kept = 0;
		for (unsigned int i = 0; i < before[task].count; i++)
			kept += before[task].leases[i].walk ==
				play->walk.number;
		stale += before[task].count - kept;
		CHECK(play->last[task].count == kept);
		for (unsigned int i = 0; i < kept; i++)
			CHECK(play->last[task].leases[i].walk ==
			      play->walk.number);
	}
	CHECK(expired == stale);
}

/* --- walks -------------------------------------------------------------- */

static unsigned int answer_waits(void *context, u64 key,
				 struct fgio_wait waits[FGIO_WAITS_NESTED])
{
	struct play *play = context;

	return fgio_wait_copy(bucket_of(play, task_of(key)), key, waits);
}

static unsigned int object_of(const struct fgio_wait *wait)
{
	return (unsigned int)(wait->object - object_key(0)) / 64;
}

static void find(struct fgio_walk *walk, unsigned int object, unsigned int task)
{
	if (is_guessed(object))
		fgio_walk_guessed(walk, key_of(task));
	else
		fgio_walk_found(walk, key_of(task));
}

static void answer_blockers(void *context, struct fgio_walk *walk, u32 link,
			    const struct fgio_wait *wait)
{
	struct play *play = context;
	unsigned int object = object_of(wait);

	if (play->is_disturbed && ++play->asked % 4 == 0)
		play_operation(play, true);
	if (play->answers_late && object % 2) {
		play->late[play->late_count++] = (struct late){ link, *wait };
		return;
	}
	if (object == 2)
		fgio_walk_found(walk, 0);
	for (unsigned int task = 0; task < TASKS; task++)
		if (has(play->blockers[object], task))
			find(walk, object, task);
}

static void check_granted(const struct play *play, unsigned int task,
			  const struct fgio_lease *lease,
			  const struct model_leases *before, bool renewed)
{
	const struct model_leases *after = &play->last[task];
	bool is_there = false, was_there = false;
	unsigned int as_good = 0;

	for (unsigned int i = 0; i < after->count; i++) {
		const struct fgio_lease *other = &after->leases[i];

		as_good += (other->walk == lease->walk && !other->guess) ||
			   (lease->guess &&
			    (other->walk == lease->walk || !other->guess));
		is_there |= is_same_lease(other, lease) &&
			    other->walk == lease->walk &&
			    (lease->guess || !other->guess);
	}
	for (unsigned int i = 0; i < before->count; i++)
		was_there |= is_same_lease(&before->leases[i], lease);
	CHECK(is_there || (renewed && as_good == FGIO_LEASES));
	CHECK(renewed == (was_there || !is_there));
}

static void answer_boost(void *context, u64 key, const struct fgio_lease *lease)
{
	struct play *play = context;
	unsigned int task = task_of(key);
	struct model_leases before = play->last[task];
	bool needs_room = !has_node(play, task) && is_bucket_full(play, task);
	enum rank rank = needs_room ? least_rank(play, task) : RANK_NONE;
	bool fits = !needs_room || rank < RANK_BOOST;
	bool renewed;

	CHECK(key != lease->root && key != lease->waiter);
	CHECK(lease->walk == play->walk.number);
	CHECK(fgio_lease_grant(bucket_of(play, task), key, lease, &renewed) ==
	      fits);
	if (rank < RANK_BOOST)
		model_give_way(play, task, rank);
	observe(play, only(task));
	trace(play, key ^ lease->waiter ^ renewed);
	if (fits) {
		check_granted(play, task, lease, &before, renewed);
		return;
	}
	play->refused |= only(task);
	play->seen.refused_boosts++;
}

static const struct fgio_walk_operations operations = {
	.waits = answer_waits,
	.blockers = answer_blockers,
	.boost = answer_boost,
};

static bool waits_as_root(const struct play *play, unsigned int task)
{
	return play->tasks[task].depth && play->tasks[task].root;
}

static task_set blockers_of(const struct play *play, unsigned int task)
{
	task_set blockers = 0;

	for (unsigned int i = 0; i < play->tasks[task].depth; i++)
		blockers |= play->blockers[play->tasks[task].waits[i].object];
	return blockers & ~only(task);
}

/* Steps from the nearest foreground task that waits, up to the cap. */
static void model_distances(const struct play *play, uint8_t distance[TASKS])
{
	for (unsigned int task = 0; task < TASKS; task++)
		distance[task] = waits_as_root(play, task) ? 0 : NOWHERE;
	for (unsigned int step = 0; step < play->walk.depth_max; step++) {
		task_set next = 0;

		for (unsigned int task = 0; task < TASKS; task++)
			if (distance[task] == step)
				next |= blockers_of(play, task);
		for (unsigned int task = 0; task < TASKS; task++)
			if (has(next, task) && distance[task] == NOWHERE)
				distance[task] = (uint8_t)(step + 1);
	}
}

/* All tasks in the way of one wait, over any number of steps. */
static task_set model_closure(const struct play *play, unsigned int object)
{
	task_set closure = play->blockers[object];
	task_set before;

	do {
		before = closure;
		for (unsigned int task = 0; task < TASKS; task++)
			if (has(before, task))
				closure |= blockers_of(play, task);
	} while (closure != before);
	return closure;
}

/* A lease tells the truth: the root waits for the waiter, it for the task. */
static void check_reason(const struct play *play, unsigned int task,
			 const struct fgio_lease *lease)
{
	unsigned int root = task_of(lease->root);
	unsigned int waiter = task_of(lease->waiter);
	const struct model_wait *root_wait =
		model_wait(play, root, lease->root_seq);
	const struct model_wait *edge =
		model_wait(play, waiter, lease->waiter_seq);

	CHECK(waits_as_root(play, root) && root_wait && edge);
	CHECK(has(play->blockers[edge->object], task));
	if (waiter == root)
		CHECK(edge == root_wait);
	else
		CHECK(has(model_closure(play, root_wait->object), waiter));
}

static void check_links(const struct play *play)
{
	const struct fgio_walk *walk = &play->walk;

	CHECK(walk->next == walk->count && walk->count <= walk->capacity);
	for (uint32_t i = 0; i < walk->count; i++) {
		const struct fgio_link *link = &walk->links[i];
		const struct fgio_link *parent = &walk->links[link->parent];
		uint32_t child;

		for (uint32_t j = 0; j < i; j++)
			CHECK(walk->links[j].task != link->task);
		for (child = i + 1; child < walk->count; child++)
			if (walk->links[child].parent == i)
				break;
		/* Or a task that was found before from another one. */
		CHECK(link->child < walk->count);
		if (child < walk->count)
			CHECK(link->child != i);
		/* Those that were taken over are before it, and are no guess. */
		for (uint32_t j = child; walk->links[link->child].parent == i &&
					 j < link->child; j++)
			CHECK(walk->links[j].parent != i ||
			      !walk->links[j].guess);
		CHECK(!link->full || walk->overflowed);
		if (link->parent == i)
			CHECK(link->root == link->task && !link->depth);
		else
			CHECK(link->root == parent->root &&
			      link->depth == parent->depth + 1 &&
			      link->parent < i);
		CHECK(link->depth <= walk->depth_max);
	}
}

static void check_link_is_true(const struct play *play,
			       const struct fgio_link *link)
{
	const struct fgio_link *parent = &play->walk.links[link->parent];
	const struct model_wait *edge;

	if (parent == link)
		return;
	edge = model_wait(play, task_of(parent->task), link->waiter_seq);
	CHECK(edge && link->kind == kind_of(edge->object));
	CHECK(link->guess == (parent->guess || is_guessed(edge->object)));
	CHECK(model_wait(play, task_of(link->root), link->root_seq));
	CHECK(has(play->blockers[edge->object], task_of(link->task)));
}

static bool is_boosted(struct play *play, const struct model_leases *leases)
{
	for (unsigned int i = 0; i < leases->count; i++)
		if (lease_is_valid(play, &leases->leases[i]))
			return true;
	return false;
}

static bool is_boosted_for_certain(struct play *play,
				   const struct model_leases *leases)
{
	for (unsigned int i = 0; i < leases->count; i++)
		if (!leases->leases[i].guess &&
		    lease_is_valid(play, &leases->leases[i]))
			return true;
	return false;
}

/* Those that are no guess, with however many guesses beside them. */
static task_set certain_blockers_of(const struct play *play, unsigned int task)
{
	task_set blockers = 0;

	for (unsigned int i = 0; i < play->tasks[task].depth; i++)
		if (!is_guessed(play->tasks[task].waits[i].object))
			blockers |= play->blockers[play->tasks[task]
							   .waits[i]
							   .object];
	return blockers & ~only(task);
}

/* Whether the walk reached a task by a guess, in @depth steps. */
static bool is_guessed_at(const struct play *play, unsigned int task,
			  unsigned int depth)
{
	for (uint32_t i = 0; i < play->walk.count; i++)
		if (play->walk.links[i].task == key_of(task))
			return play->walk.links[i].guess &&
			       play->walk.links[i].depth == depth;
	return false;
}

/* Within any bounds: the blockers of a followed task are boosted. */
static void check_followed(struct play *play, const struct fgio_link *link)
{
	task_set certain = certain_blockers_of(play, task_of(link->task)) &
			   ~only(task_of(link->root)) & ~play->refused;
	task_set blockers = blockers_of(play, task_of(link->task)) &
			    ~only(task_of(link->root)) & ~play->refused;

	if (link->depth >= play->walk.depth_max)
		return;
	for (unsigned int task = 0; task < TASKS; task++)
		CHECK(!has(blockers, task) ||
		      is_boosted(play, &play->last[task]));
	for (unsigned int task = 0; !link->guess && task < TASKS; task++) {
		if (!has(certain, task))
			continue;
		CHECK(is_boosted_for_certain(play, &play->last[task]));
		CHECK(play->answers_late ||
		      !is_guessed_at(play, task, link->depth + 1));
	}
}

/*
 * The graph did not change during the walk. @is_complete: nor was anything
 * refused, so that all reachable tasks are boosted.
 */
static void check_boosted(struct play *play, bool is_complete)
{
	uint8_t distance[TASKS];
	task_set reached = 0;
	unsigned long steps_max = play->seen.steps_max;

	model_distances(play, distance);
	for (unsigned int task = 0; task < TASKS; task++)
		if (distance[task] != NOWHERE)
			reached |= only(task) | blockers_of(play, task);
	for (unsigned int task = 0; task < TASKS; task++) {
		const struct model_leases *leases = &play->last[task];

		for (unsigned int i = 0; i < leases->count; i++)
			if (leases->leases[i].walk == play->walk.number)
				check_reason(play, task, &leases->leases[i]);
		if (distance[task] == NOWHERE || !distance[task])
			continue;
		CHECK(!is_complete || is_boosted(play, leases));
		if (distance[task] > steps_max)
			steps_max = distance[task];
	}
	play->seen.steps_max = steps_max;
	for (uint32_t i = 0; i < play->walk.count; i++) {
		CHECK(has(reached, task_of(play->walk.links[i].task)));
		check_link_is_true(play, &play->walk.links[i]);
		check_followed(play, &play->walk.links[i]);
	}
}

/* No unreachable task is boosted, and no lease is of another walk. */
static void check_no_other(struct play *play)
{
	uint8_t distance[TASKS];

	model_distances(play, distance);
	for (unsigned int task = 0; task < TASKS; task++) {
		CHECK(!play->last[task].count || distance[task] != NOWHERE);
		for (unsigned int i = 0; i < play->last[task].count; i++)
			CHECK(lease_is_valid(play,
					     &play->last[task].leases[i]));
	}
}

/* Each reached task is there once, by the shortest way. */
static void check_every_link(struct play *play, uint64_t cut)
{
	uint8_t distance[TASKS];
	unsigned int reached = 0, at_cap = 0;

	model_distances(play, distance);
	for (unsigned int task = 0; task < TASKS; task++) {
		reached += distance[task] != NOWHERE;
		at_cap += distance[task] == play->walk.depth_max;
	}
	CHECK(play->walk.count == reached);
	CHECK(cut == at_cap);
	for (uint32_t i = 0; i < play->walk.count; i++)
		CHECK(play->walk.links[i].depth ==
		      distance[task_of(play->walk.links[i].task)]);
}

static void add_root(void *context, u64 key)
{
	struct play *play = context;
	uint64_t overflowed = play->walk.overflowed;

	CHECK(waits_as_root(play, task_of(key)));
	if (fgio_walk_root(&play->walk, key)) {
		CHECK(fgio_walk_root(&play->walk, key));
		CHECK(play->walk.overflowed == overflowed);
	} else {
		CHECK(play->walk.count == play->walk.capacity);
		CHECK(play->walk.overflowed == overflowed + 1);
	}
}

static void add_roots(struct play *play)
{
	unsigned int roots = 0, expected = 0;

	for (unsigned int i = 0; i < play->bucket_count; i++)
		roots += fgio_bucket_roots(&play->buckets[i], add_root, play);
	for (unsigned int task = 0; task < TASKS; task++)
		expected += waits_as_root(play, task);
	CHECK(roots == expected);
}

static void answer_one_late(struct play *play, const struct late *late,
			    unsigned int task)
{
	if (is_guessed(object_of(&late->wait))) {
		/* No task: sets the wait for which one is guessed. */
		fgio_walk_found_from(&play->walk, late->link, &late->wait, 0);
		fgio_walk_guessed(&play->walk, key_of(task));
		return;
	}
	fgio_walk_found_from(&play->walk, late->link, &late->wait,
			     key_of(task));
}

static void answer_late(struct play *play)
{
	for (unsigned int i = 0; i < play->late_count; i++) {
		const struct late *late = &play->late[i];
		task_set blockers = play->blockers[object_of(&late->wait)];

		for (unsigned int task = 0; task < TASKS; task++)
			if (has(blockers, task))
				answer_one_late(play, late, task);
	}
	play->late_count = 0;
}

static void walk(struct play *play)
{
	play->late_count = 0;
	play->refused = 0;
	play->walk.number++;
	fgio_walk_begin(&play->walk);
	for (unsigned int i = 0; i < 2 * CAPACITY_MAX; i++)
		CHECK(!play->visited[i]);
	add_roots(play);
	do {
		fgio_walk_run(&play->walk);
		answer_late(play);
	} while (play->walk.next < play->walk.count);
	check_links(play);
}

/* @how: bits: expire afterwards, answer late, change the graph on the way */
static void play_walk(struct play *play, unsigned int how)
{
	uint64_t overflowed = play->walk.overflowed;
	uint64_t cut = play->walk.cut;
	bool shortest, fits;

	play->answers_late = how & 2;
	play->is_disturbed = (how & 12) == 12;
	walk(play);
	overflowed = play->walk.overflowed - overflowed;
	cut = play->walk.cut - cut;
	play->seen.overflows += overflowed;
	play->seen.cuts += cut;
	/* A late answer may be found by a longer way, over the cap. */
	shortest = !play->answers_late || !cut;
	fits = !overflowed && !play->refused;
	trace(play, play->walk.count ^ overflowed << 16 ^ cut << 32);
	if (how & 1)
		play_expire(play);
	if (play->is_disturbed) {
		play->is_disturbed = false;
		play->seen.loose_walks++;
		return;
	}
	check_boosted(play, shortest && fits);
	if (!overflowed && !play->answers_late)
		check_every_link(play, cut);
	if (how & 1)
		check_no_other(play);
	if (shortest && fits && how & 1)
		play->seen.exact_walks++;
	else
		play->seen.loose_walks++;
}

/* --- between operations ------------------------------------------------- */

static void check_task(struct play *play, unsigned int task)
{
	const struct model_task *model = &play->tasks[task];
	struct fgio_bucket *bucket = bucket_of(play, task);
	struct fgio_wait waits[FGIO_WAITS_NESTED];

	CHECK(fgio_wait_any(bucket, key_of(task)) == (model->depth > 0));
	CHECK(fgio_wait_foreground(bucket, key_of(task)) ==
	      waits_as_root(play, task));
	CHECK(fgio_wait_copy(bucket, key_of(task), waits) == model->depth);
	for (unsigned int i = 0; i < model->depth; i++)
		CHECK(waits[i].seq == model->waits[i].seq &&
		      waits[i].object == object_key(model->waits[i].object) &&
		      waits[i].since_ns == model->waits[i].since_ns);
	/* No boost outlives its wait, and none ends before. */
	for (unsigned int i = 0; i < play->last[task].count; i++) {
		const struct fgio_lease *lease = &play->last[task].leases[i];

		CHECK(lease_is_valid(play, lease) ==
		      model_lease_is_valid(play, lease));
	}
}

static void check_bucket(struct play *play, unsigned int index)
{
	const struct fgio_bucket *bucket = &play->buckets[index];
	struct fgio_lease leases[FGIO_BUCKET_LEASES];
	unsigned int roots = 0, leased = 0, nodes = 0, count = 0, used = 0;

	for (unsigned int task = index; task < TASKS;
	     task += play->bucket_count) {
		roots += waits_as_root(play, task);
		leased += play->last[task].count > 0;
		count += play->last[task].count;
		nodes += play->tasks[task].depth || play->last[task].count;
	}
	for (unsigned int i = 0; i < FGIO_BUCKET_NODES; i++)
		used += bucket->tasks[i] != 0;
	CHECK(bucket->foreground_waiting == roots);
	CHECK(bucket->leased == leased);
	CHECK(bucket->given_way == play->given_way[index]);
	CHECK(fgio_bucket_leases(bucket, leases) == count);
	CHECK(used == nodes);
}

static void check_always(struct play *play)
{
	for (unsigned int task = 0; task < TASKS; task++)
		check_task(play, task);
	for (unsigned int i = 0; i < play->bucket_count; i++)
		check_bucket(play, i);
}

/* Each task waits for the next one, as far as there is room. */
static void play_chain(struct play *play, unsigned int first)
{
	play->tasks[first % TASKS].marked = true;
	for (unsigned int i = 0; i < FGIO_WALK_DEPTH; i++) {
		play->blockers[i] = only((first + i + 1) % TASKS);
		play_begin(play, (first + i) % TASKS, i);
	}
}

static void play_rare(struct play *play, unsigned int which, uint8_t value)
{
	if (which == 0)
		play_clear(play, value);
	else if (which < 4 && !play->is_disturbed)
		play_expire(play);
	else if (which < 8 && !play->is_disturbed)
		play->walk.depth_max = 1 + value % FGIO_WALK_DEPTH;
	else if (which == 8)
		play_chain(play, value);
	else
		play->tasks[value % TASKS].marked = false;
}

static void play_operation(struct play *play, bool in_walk)
{
	uint8_t operation = next_byte(play);
	uint8_t value = next_byte(play);
	unsigned int which = operation / 16;
	unsigned int task = value % TASKS;

	switch (operation % 16) {
	case 0: case 1: case 2: case 3: case 4:
		play_begin(play, task, which);
		break;
	case 5: case 6:
		play_end_position(play, task, which % 6);
		break;
	case 7:
		play_end_object(play, task, which);
		break;
	case 8:
		play->tasks[task].marked = true;
		break;
	case 9: case 10: case 11:
		play->blockers[which] ^= only(task);
		break;
	case 12:
		if (which < 8)
			play->blockers[which * 2] = only(task);
		else
			play_death(play, task, which & 1);
		break;
	case 13: case 14:
		if (!in_walk)
			play_walk(play, which);
		break;
	default:
		play_rare(play, which, value);
	}
	observe(play, 0);
	check_always(play);
}

static void begin_play(struct play *play, uint8_t garbage)
{
	uint8_t size = next_byte(play);
	uint8_t start = next_byte(play);
	bool crowded = (start & 24) == 24;

	memset(play->links, garbage, sizeof(play->links));
	/*
	 * Some full of nodes that only give way to boosts, some with much room.
	 */
	play->bucket_count = 1 + size % BUCKETS_MAX;
	for (unsigned int task = 0; crowded && task < TASKS; task++)
		play->tasks[task].marked = true;
	if (crowded)
		play->bucket_count = 1 + size % 3;
	else if (size & 64)
		play->bucket_count = BUCKETS_MAX;
	play->walk = (struct fgio_walk){
		.operations = &operations,
		.context = play,
		.links = play->links,
		/* Often enough for all. */
		.capacity = size & 128 ? CAPACITY_MAX : 1 + size / 8,
		.visited = play->visited,
		.visited_bits = 7,
		.depth_max = start & 1 ? FGIO_WALK_DEPTH : 1 + start / 32,
		.number = start & 2 ? UINT32_MAX - 4 : 0,
	};
	for (unsigned int i = 0; i < play->bucket_count; i++) {
		play->last_seq[i] = start & 4 ? SEQ_MAX - 8 : 0;
		play->buckets[i].seq = play->last_seq[i];
	}
}

/* When all waits are over and a walk has seen that, nothing is left. */
static void finish(struct play *play)
{
	for (unsigned int task = 0; task < TASKS; task++)
		play_end_position(play, task, 0);
	check_always(play);
	for (unsigned int task = 0; task < TASKS; task++)
		for (unsigned int i = 0; i < play->last[task].count; i++)
			CHECK(!lease_is_valid(play,
					      &play->last[task].leases[i]));
	play_walk(play, 1);
	for (unsigned int i = 0; i < play->bucket_count; i++)
		for (unsigned int j = 0; j < FGIO_BUCKET_NODES; j++)
			CHECK(!play->buckets[i].tasks[j]);
}

static uint64_t play_once(const uint8_t *script, size_t length, uint8_t garbage,
			  struct model_inherit_seen *seen)
{
	struct play play = { .script = script, .length = length,
			     .seen = *seen };

	begin_play(&play, garbage);
	while (play.at < play.length)
		play_operation(&play, false);
	finish(&play);
	*seen = play.seen;
	return play.trace;
}

void model_inherit_play(const uint8_t *script, size_t length,
			struct model_inherit_seen *seen)
{
	struct model_inherit_seen again = { 0 };

	CHECK(play_once(script, length, 0x00, seen) ==
	      play_once(script, length, 0xff, &again));
}
