// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The model knows groups by number, requests by lists that it searches from
 * end to end, and tags by the definition: it takes the charge of each request
 * from the code under test, and all else it reckons itself.
 */
#include <string.h>

#include "../queue.h"
#include "../shares_internal.h"
#include "check.h"
#include "model_shares.h"

#define MILLISECOND 1000000ULL
#define GROUPS 6
#define REQUESTS 48
/* The group of requests without one. */
#define REST GROUPS

enum where { AWAY, WAITS, SERVED };

struct model_request {
	enum where where;
	int group;
	bool critical;
	int order;
};

struct model_group {
	u64 start;
	u32 weight;
	bool known; /* had a request since it was last removed */
	bool writes; /* its last one was a write */
	bool waited; /* for a turn of reads to end, before this operation */
	/* Since the last change, for fairness: */
	bool backlogged;
	u64 began; /* its start tag then */
	u64 most;  /* the most that a request added */
};

struct play {
	struct fgio_queue queue;
	struct fgio_shares shares;
	struct fgio_share_group groups[GROUPS];
	struct fgio_request requests[REQUESTS];
	struct model_request model[REQUESTS];
	struct model_group of[GROUPS + 1];
	u64 virtual;
	u64 window; /* the most since then */
	u64 now_ns;
	int first_order, last_order;
	u64 inserted, dispatched;
	bool disk; /* its charges follow completions: tags are taken over */
	/* Since the last dispatch with a time: */
	bool disturbed;
	unsigned int untimed;
	struct model_shares_seen seen;
};

static struct fgio_share_group *group_of(struct play *play, int group)
{
	return group == REST ? &play->shares.rest : &play->groups[group];
}

static int count(const struct play *play, int group, enum where where,
		 int critical)
{
	int found = 0;

	for (int i = 0; i < REQUESTS; i++)
		found += play->model[i].where == where &&
			 (group < 0 || play->model[i].group == group) &&
			 (critical < 0 || play->model[i].critical == critical);
	return found;
}

static bool waits(const struct play *play, int group)
{
	return count(play, group, WAITS, -1);
}

/* Whether it may go in a turn of reads. */
static bool may_go_beside_reads(const struct play *play, int group)
{
	return !play->of[group].writes || count(play, group, WAITS, true);
}

static bool earlier(u64 one, u64 other)
{
	return (s64)(one - other) < 0;
}

/* ---- fairness among groups that always have requests ---- */

static void begin_fairness(struct play *play)
{
	play->window = 0;
	for (int i = 0; i <= GROUPS; i++) {
		play->of[i].backlogged = waits(play, i);
		play->of[i].began = play->of[i].start;
		play->of[i].most = 0;
	}
}

/*
 * Of two groups that had queued requests all the time, one that was served is
 * ahead of the other by its largest request and the window for critical ones at
 * most.
 */
static void check_fairness(const struct play *play)
{
	for (int i = 0; i <= GROUPS; i++) {
		const struct model_group *one = &play->of[i];

		for (int j = 0; one->backlogged && j <= GROUPS; j++) {
			const struct model_group *other = &play->of[j];

			if (other->backlogged && one->start != one->began)
				CHECK(!earlier(other->start + one->most +
						       play->window,
					       one->start));
		}
	}
}

/* ---- turns of reads ---- */

static bool waits_for_reads(struct play *play, int group)
{
	return !fgio_list_empty(&group_of(play, group)->waiting);
}

static void note_waiting(struct play *play)
{
	for (int i = 0; i <= GROUPS; i++)
		play->of[i].waited = waits_for_reads(play, i);
}

/* A tag that fell far behind while its group waited is raised. */
static void raise_tags_that_waited(struct play *play)
{
	for (int i = 0; i <= GROUPS; i++) {
		struct model_group *of = &play->of[i];
		u64 least = play->virtual -
			    (FGIO_SHARES_PROBE_MOST_NS +
			     FGIO_SHARES_WRITTEN_NS) *
				    ((1ULL << FGIO_SHARES_VIRTUAL_SHIFT) /
				     of->weight);

		if (of->waited && waits(play, i) && !waits_for_reads(play, i) &&
		    earlier(of->start, least)) {
			of->start = least;
			begin_fairness(play);
		}
		of->waited = waits_for_reads(play, i);
	}
}

/* ---- operations ---- */

static void note_backlog(struct play *play, int group)
{
	struct model_group *of = &play->of[group];

	if (!of->known)
		of->start = play->virtual;
	of->known = true;
	/* Beyond two seconds of service, a tag counts as forgotten. */
	if (earlier(of->start, play->virtual) ||
	    earlier(play->virtual +
			    2 * FGIO_SHARES_CHARGE_MOST_NS *
				    ((1ULL << FGIO_SHARES_VIRTUAL_SHIFT) /
				     of->weight),
		    of->start))
		of->start = play->virtual;
	of->backlogged = false;
}

static void play_insert(struct play *play, int i, uint8_t how)
{
	struct fgio_request *request = &play->requests[i];
	int group = how % (GROUPS + 1);
	bool at_head = how / 7 % 8 == 0;

	if (play->model[i].where != AWAY)
		return;
	*request = (struct fgio_request){
		.class = how & 128 ? FGIO_CRITICAL : FGIO_NONCRITICAL,
		.write = how & 64,
		.sector = (u64)i * 4096,
		.sectors = 8U << how / 8 % 8,
		.queued_ns = play->now_ns,
	};
	fgio_list_init(&request->link);
	if (!waits(play, group))
		note_backlog(play, group);
	play->model[i] = (struct model_request){
		.where = WAITS,
		.group = group,
		.critical = how & 128,
		.order = at_head ? --play->first_order : ++play->last_order,
	};
	play->of[group].writes = request->write;
	if (group == REST && !at_head)
		fgio_queue_insert(&play->queue, request, false);
	else
		fgio_queue_insert_of(&play->queue, request,
				     group == REST ? NULL :
						     &play->groups[group],
				     at_head);
	play->inserted++;
	play->disturbed = true;
}

/* Whether the request is the first of its group, class and direction. */
static bool is_first(const struct play *play, int request)
{
	const struct model_request *chosen = &play->model[request];

	for (int i = 0; i < REQUESTS; i++) {
		const struct model_request *other = &play->model[i];

		if (other->where == WAITS && other->group == chosen->group &&
		    other->critical == chosen->critical &&
		    play->requests[i].write == play->requests[request].write &&
		    other->order < chosen->order)
			return false;
	}
	return true;
}

/*
 * The least start tag of the groups with queued requests. @turn: of those that
 * may go in a turn of reads. Return: whether there is such a group.
 */
static bool least_start(const struct play *play, bool turn, u64 *least)
{
	bool found = false;

	for (int i = 0; i <= GROUPS; i++) {
		if (!waits(play, i) || (turn && !may_go_beside_reads(play, i)))
			continue;
		if (!found || earlier(play->of[i].start, *least))
			*least = play->of[i].start;
		found = true;
	}
	return found;
}

/*
 * A turn of reads may end in a call that named a reading group before: virtual
 * time is that of its tag then, beyond those of groups that waited.
 */
static void follow_virtual(struct play *play)
{
	bool is_tag = false;

	if (play->disk || !earlier(play->virtual, play->shares.virtual))
		return;
	for (int i = 0; i <= GROUPS; i++)
		is_tag |= waits(play, i) &&
			  play->of[i].start == play->shares.virtual;
	CHECK(is_tag && play->shares.reads.has_turns);
	play->virtual = play->shares.virtual;
}

static int number_of(const struct play *play,
		     const struct fgio_request *request)
{
	return (int)(request - play->requests);
}

/* Return: whether it went by its start tag. */
static bool check_choice(struct play *play, int chosen, u64 least)
{
	const struct model_request *model = &play->model[chosen];
	const struct model_group *of = &play->of[model->group];
	u64 window = (FGIO_SHARES_CRITICAL_NS << FGIO_SHARES_VIRTUAL_SHIFT) /
		     play->shares.weights;
	bool in_order;

	play->window = window > play->window ? window : play->window;
	in_order = of->start == least ||
			(count(play, model->group, WAITS, true) &&
			 !earlier(least + window, of->start));

	CHECK(model->where == WAITS);
	CHECK(is_first(play, chosen));
	return in_order;
}

static int backlogged_groups(const struct play *play)
{
	int found = 0;

	for (int i = 0; i <= GROUPS; i++)
		found += waits(play, i);
	return found;
}

static void play_next(struct play *play)
{
	bool any = count(play, -1, WAITS, -1);
	bool critical_about = play->queue.critical_seen_ns ||
			      count(play, -1, WAITS, true) ||
			      count(play, -1, SERVED, true);
	struct fgio_request *request;
	struct model_group *of;
	u64 least = 0, added, most;
	bool may_go, turn; /* of reads */
	bool timed = fgio_queue_needs_clock(&play->queue);
	u64 paid[GROUPS + 1];
	bool in_order;
	int chosen;

	/* A run is of requests of one group that are queued. */
	CHECK(timed || any);
	play->untimed = timed ? 0 : play->untimed + 1;
	play->seen.untimed += !timed;
	CHECK(play->untimed < 16);
	CHECK(timed || !play->disturbed);
	play->disturbed = timed ? false : play->disturbed;
	CHECK(timed || backlogged_groups(play) == 1);
	for (int i = 0; i <= GROUPS; i++)
		paid[i] = group_of(play, i)->paid;
	request = fgio_queue_next(&play->queue, timed ? play->now_ns : 0, NULL);
	CHECK(timed || request);
	raise_tags_that_waited(play);
	turn = play->shares.reads.alone;
	may_go = least_start(play, turn, &least);
	if (may_go && earlier(play->virtual, least))
		play->virtual = least;
	follow_virtual(play);
	CHECK(may_go || !request);
	if (!request) {
		u64 retry_ns = fgio_queue_retry_ns(&play->queue);

		/* What is withheld has a time at which to ask again. */
		CHECK(!any || retry_ns > play->now_ns);
		CHECK(retry_ns <= play->now_ns + FGIO_QUEUE_STILL_NS);
		return;
	}
	chosen = number_of(play, request);
	CHECK(!turn || may_go_beside_reads(play, play->model[chosen].group));
	for (int i = 0; turn && i <= GROUPS; i++)
		play->seen.beside_waiting += waits(play, i) &&
					     !may_go_beside_reads(play, i);
	in_order = check_choice(play, chosen, least);
	/* Without critical I/O, only one that lags or is probed passes. */
	if (!play->disk && !critical_about && !in_order)
		CHECK(earlier(paid[play->model[chosen].group],
			      play->shares.clock) ||
		      play->shares.probe.group ==
			      group_of(play, play->model[chosen].group));
	of = &play->of[play->model[chosen].group];
	play->model[chosen].where = SERVED;
	added = request->share.charge_ns *
		((1ULL << FGIO_SHARES_VIRTUAL_SHIFT) / of->weight);
	of->start += added;
	/* It pays for no more than a probe. */
	most = play->virtual + added +
	       (FGIO_SHARES_PROBE_MOST_NS + FGIO_SHARES_WRITTEN_NS) *
		       ((1ULL << FGIO_SHARES_VIRTUAL_SHIFT) / of->weight);
	if (!play->disk && earlier(most, of->start))
		of->start = most;
	of->most = added > of->most ? added : of->most;
	if (!waits(play, play->model[chosen].group))
		of->backlogged = false;
	play->dispatched++;
	/* A group below its guarantee passes, and others those held back. */
	if (in_order && !play->disk && !turn)
		check_fairness(play);
	else
		begin_fairness(play);
}

static void play_left_device(struct play *play, int i)
{
	if (play->model[i].where != SERVED)
		return;
	fgio_queue_left_device(&play->queue, &play->requests[i],
			       play->now_ns);
	play->model[i].where = AWAY;
	play->disturbed = true;
	CHECK(!play->requests[i].share.group);
}

static void play_promote(struct play *play, int i)
{
	bool can = play->model[i].where == WAITS && !play->model[i].critical;

	if (play->model[i].where == AWAY)
		play->requests[i].state = FGIO_REQUEST_IDLE;
	CHECK(fgio_queue_promote(&play->requests[i]) == can);
	if (!can)
		return;
	/* For a moment the group may have had none queued. */
	if (count(play, play->model[i].group, WAITS, -1) == 1)
		note_backlog(play, play->model[i].group);
	play->model[i].critical = true;
	play->model[i].order = ++play->last_order;
}

static void play_recharge(struct play *play, int i, int to)
{
	struct model_request *model = &play->model[i];
	struct fgio_share_group *group = to == REST ? NULL : group_of(play, to);

	if (model->where == AWAY || model->group == to)
		return;
	if (model->where == SERVED) {
		/* Its charge moves; by how much the model takes over. */
		fgio_shares_recharge(&play->requests[i], group, play->now_ns);
		for (int j = 0; j <= GROUPS; j++)
			play->of[j].start = group_of(play, j)->start;
		begin_fairness(play);
		return;
	}
	if (!waits(play, to))
		note_backlog(play, to);
	fgio_shares_recharge(&play->requests[i], group, play->now_ns);
	model->group = to;
	play->of[to].writes = play->requests[i].write;
	model->order = ++play->last_order;
	CHECK(play->requests[i].share.group == group_of(play, to));
	begin_fairness(play);
}

/* Something of the group goes past what is queued, and is paid for. */
static void play_pass(struct play *play, int group, uint8_t value)
{
	const struct fgio_share_group *of = group_of(play, group);
	u32 sectors = 8U << value / 32;
	bool write = value & 16;
	u64 start, cost_ns, per_weight;

	if (!play->of[group].known || (!waits(play, group) &&
				       earlier(play->of[group].start, play->virtual)))
		start = play->virtual;
	else
		start = play->of[group].start;
	cost_ns = fgio_share_cost_of(&play->shares.cost,
				     fgio_share_kind(write, false), sectors);
	if (!fgio_shares_pass(&play->shares,
			      group == REST ? NULL : group_of(play, group),
			      write, sectors, play->now_ns))
		return;
	CHECK(!play->disk && !play->shares.probe.group);
	CHECK(!write || !play->shares.reads.alone);
	per_weight = (1ULL << FGIO_SHARES_VIRTUAL_SHIFT) / of->weight;
	CHECK(of->start == start + cost_ns * per_weight);
	play->of[group].known = true;
	play->of[group].start = of->start;
	begin_fairness(play);
	play->disturbed = true;
}

static void play_weight(struct play *play, int group, uint8_t value)
{
	u32 weight = value < 4 ? 1 : fgio_shares_weight(value * value / 6);

	if (group == REST)
		return;
	fgio_share_group_set_weight(&play->groups[group], weight);
	play->of[group].weight = weight;
	begin_fairness(play);
}

/* The group goes, and its memory is another's at once. */
static void play_remove(struct play *play, int group)
{
	bool busy = waits(play, group) || count(play, group, SERVED, -1);

	CHECK(fgio_share_group_is_busy(group_of(play, group)) == busy);
	if (busy || group == REST)
		return;
	fgio_share_group_remove(&play->groups[group]);
	memset(&play->groups[group], 0xa5, sizeof(play->groups[group]));
	fgio_share_group_init(&play->groups[group], play->of[group].weight);
	play->of[group].known = false;
	play->of[group].writes = false;
}

/* As a trial begins and ends: reads have turns from here on, or no longer. */
static void play_turns(struct play *play)
{
	if (play->disk)
		return;
	fgio_shares_set_turns(&play->shares, !play->shares.reads.has_turns,
			      play->now_ns);
	begin_fairness(play);
}

/* ---- what always holds ---- */

static void check_heap(const struct fgio_heap_node *node,
		       const struct fgio_heap_node *parent, u32 *counted)
{
	if (!node)
		return;
	CHECK(node->in_heap && node->parent == parent);
	CHECK(!parent || !earlier(node->key, parent->key));
	++*counted;
	check_heap(node->child[0], node, counted);
	check_heap(node->child[1], node, counted);
}

static u32 heap_count(const struct fgio_heap *heap)
{
	u32 counted = 0;

	check_heap(heap->root, NULL, &counted);
	CHECK(counted == heap->count);
	return counted;
}

/* Of a group with queued requests that is not in the heap of start tags. */
static void check_waits_for_reads(struct play *play, int group)
{
	CHECK(play->shares.reads.alone);
	CHECK(!fgio_list_empty(&group_of(play, group)->waiting));
	CHECK(!count(play, group, WAITS, true));
}

static void check_groups(struct play *play)
{
	u32 ready[2] = { 0 }, owed[3] = { 0 };
	u64 weights = 0;

	for (int i = 0; i <= GROUPS; i++) {
		const struct fgio_share_group *group = group_of(play, i);
		bool queued = waits(play, i);
		bool busy = queued || count(play, i, SERVED, -1);
		bool only = play->shares.only == group;

		for (int class = 0; class < 2; class++)
			CHECK(group->queued[class] ==
			      (u32)count(play, i, WAITS, class));
		CHECK(group->in_device == (u32)count(play, i, SERVED, -1));
		CHECK(!only || count(play, -1, WAITS, -1) == 1);
		CHECK(!group->ready.in_heap || (queued && !only));
		if (queued && !only && !group->ready.in_heap)
			check_waits_for_reads(play, i);
		CHECK(!queued || group->start == play->of[i].start);
		CHECK(!group->ready.in_heap ||
		      group->ready.key == group->start);
		CHECK(group->asks || !busy);
		CHECK(group->asks || !group->owed.in_heap);
		CHECK(group->owed.in_heap || !queued || only);
		weights += group->asks ? group->weight : 0;
		if (group->ready.in_heap)
			ready[!!group->queued[FGIO_CRITICAL]]++;
		if (!group->owed.in_heap)
			continue;
		CHECK(only || group->owed.key == group->paid);
		owed[count(play, i, WAITS, -1) > (int)FGIO_SHARES_DEEP ? 2 :
		     queued && !only]++;
	}
	CHECK(weights == play->shares.weights);
	for (int i = 0; i < 2; i++)
		CHECK(heap_count(&play->shares.ready[i]) == ready[i]);
	for (int i = 0; i < 3; i++)
		CHECK(heap_count(&play->shares.owed[i]) == owed[i]);
}

static void take_over_tags(struct play *play)
{
	for (int i = 0; i <= GROUPS; i++)
		play->of[i].start = group_of(play, i)->start;
	play->virtual = play->shares.virtual;
}

static void check_always(struct play *play)
{
	int waiting = count(play, -1, WAITS, -1);

	CHECK(play->queue.own.queued[FGIO_CRITICAL] +
		      play->queue.own.queued[FGIO_NONCRITICAL] ==
	      (u32)waiting);
	CHECK(play->shares.in_device == (u32)count(play, -1, SERVED, -1));
	CHECK(waiting || !fgio_queue_has_work(&play->queue));
	if (play->disk)
		take_over_tags(play);
	check_groups(play);
}

/* Each queued request, once: by the walks that promotion uses. */
static void check_walk(struct play *play, int class)
{
	struct fgio_request *request, *next;
	int seen = 0;

	fgio_hw_queue_for_each(&play->queue.own, class, request, next) {
		const struct model_request *model =
			&play->model[number_of(play, request)];

		CHECK(model->where == WAITS && model->critical == class);
		seen++;
	}
	CHECK(seen == count(play, -1, WAITS, class));
}

static void play_operation(struct play *play, uint8_t operation, uint8_t value)
{
	int i = value % REQUESTS;
	int group = operation / 16 % (GROUPS + 1);

	note_waiting(play);
	switch (operation % 16) {
	case 0: case 1: case 2: case 3: case 4:
		play_insert(play, (operation / 16 + 16 * (operation % 16)) %
					  REQUESTS, value);
		break;
	case 5: case 6: case 7: case 8:
		play_next(play);
		break;
	case 9: case 10: case 11:
		play_left_device(play, i);
		break;
	case 12:
		play_promote(play, i);
		break;
	case 13:
		play_recharge(play, i, group);
		break;
	case 14:
		if (value & 1)
			play_weight(play, group, value);
		else if (value & 2)
			play_remove(play, group);
		else if (value & 4)
			play_pass(play, group, value);
		else if (value & 8)
			play_turns(play);
		else
			check_walk(play, value / 4 % 2);
		break;
	default:
		play->now_ns += (u64)value * value *
				(operation / 16 ? 1000 : 100000);
	}
	raise_tags_that_waited(play);
}

/* Without a completion, what is queued goes all the same. */
static void check_unreaped(struct play *play)
{
	for (int tries = 0; count(play, -1, WAITS, -1); tries++) {
		u64 before = play->dispatched;

		CHECK(tries < 200 * REQUESTS);
		note_waiting(play);
		play_next(play);
		if (play->dispatched != before)
			continue;
		play->now_ns = fgio_queue_retry_ns(&play->queue) + 1;
		fgio_queue_retry(&play->queue);
		CHECK(fgio_queue_has_work(&play->queue));
	}
}

static void begin(struct play *play, bool disk)
{
	memset(play, 0, sizeof(*play));
	play->now_ns = 1;
	play->disk = disk;
	fgio_queue_init(&play->queue, disk);
	fgio_shares_init(&play->shares, disk);
	fgio_queue_set_shares(&play->queue, &play->shares);
	for (int i = 0; i <= GROUPS; i++)
		play->of[i].weight = fgio_shares_weight(
			i == REST ? FGIO_SHARES_WEIGHT_DEFAULT :
				    50 * ((u32)i + 1));
	for (int i = 0; i < GROUPS; i++)
		fgio_share_group_init(&play->groups[i], play->of[i].weight);
}

void model_shares_play(const uint8_t *script, size_t length,
		       struct model_shares_seen *seen)
{
	static struct play play;

	begin(&play, length && script[0] & 1);
	for (size_t at = 1; at + 1 < length; at += 2) {
		play_operation(&play, script[at], script[at + 1]);
		check_always(&play);
	}
	check_unreaped(&play);
	for (int i = 0; i < REQUESTS; i++)
		play_left_device(&play, i);
	for (int i = 0; i < GROUPS; i++)
		play_remove(&play, i);
	CHECK(play.inserted == play.dispatched);
	if (!seen)
		return;
	seen->untimed += play.seen.untimed;
	seen->beside_waiting += play.seen.beside_waiting;
}

/* ---- the heap alone ---- */

#define NODES 64

/* One out of the heap, if there is, takes the place of one in it. */
static void replace_sometimes(struct fgio_heap *heap,
			      struct fgio_heap_node *nodes, uint8_t value,
			      u64 key)
{
	struct fgio_heap_node *node = &nodes[value % NODES];
	struct fgio_heap_node *with = &nodes[(value / 3 + 1) % NODES];

	if (value % 3 || !node->in_heap || with->in_heap)
		return;
	with->key = key;
	fgio_heap_replace(heap, node, with);
}

void model_shares_heap_play(const uint8_t *script, size_t length)
{
	struct fgio_heap_node nodes[NODES] = { 0 };
	struct fgio_heap heap = { 0 };
	/* Keys lie on both sides of where virtual time goes around. */
	u64 base = (u64)0 - 32768;

	for (size_t at = 0; at + 2 < length; at += 3) {
		struct fgio_heap_node *node = &nodes[script[at] % NODES];
		u64 key = base + script[at + 1] * 256U + script[at + 2];
		bool found = false;
		u64 least = 0;

		if (!node->in_heap)
			fgio_heap_add(&heap, node, key);
		else if (script[at] & 64)
			fgio_heap_remove(&heap, node);
		else
			fgio_heap_change(&heap, node, key);
		replace_sometimes(&heap, nodes, script[at], key);
		heap_count(&heap);
		for (int i = 0; i < NODES; i++) {
			if (!nodes[i].in_heap)
				continue;
			if (!found || earlier(nodes[i].key, least))
				least = nodes[i].key;
			found = true;
		}
		CHECK(!!fgio_heap_first(&heap) == found);
		CHECK(!found || fgio_heap_first(&heap)->key == least);
	}
}
