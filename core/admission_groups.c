// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "admission_groups.h"
#include "number.h"

/* Keys of heaps are parts of what is due, in this unit. */
#define ONE_SHIFT 30

/* Places at which a task may be carried. */
#define PROBES 8U

static u32 hash_of(u64 key, u32 bits)
{
	return (u32)((key * 0x9E3779B97F4A7C15ULL) >> (64 - bits));
}

static struct fgio_admission_group *
group_at(const struct fgio_admission *admission, u8 place)
{
	return &admission->groups->groups[place];
}

static u8 place_at(const struct fgio_admission_groups *groups,
		   const struct fgio_admission_group *group)
{
	return (u8)(group - groups->groups);
}

static bool is_active(const struct fgio_admission_group *group)
{
	return group->held[FGIO_NONCRITICAL] || group->held[FGIO_CRITICAL] ||
	       group->waiting[FGIO_NONCRITICAL] ||
	       group->waiting[FGIO_CRITICAL];
}

void fgio_admission_use_groups(struct fgio_admission *admission,
			       struct fgio_admission_groups *groups)
{
	fgio_store(&admission->groups, groups);
	if (!groups)
		return;
	*groups = (struct fgio_admission_groups){ .weights = 0 };
	fgio_list_init(&groups->idle);
	for (u32 i = 0; i < FGIO_ADMISSION_GROUPS; i++) {
		struct fgio_admission_group *group = &groups->groups[i];

		group->weight = FGIO_ADMISSION_WEIGHT_DEFAULT;
		fgio_list_init(&group->waiters[FGIO_NONCRITICAL]);
		fgio_list_init(&group->waiters[FGIO_CRITICAL]);
		fgio_list_init(&group->idle);
		if (i != FGIO_ADMISSION_REST)
			fgio_list_add_tail(&groups->idle, &group->idle);
	}
}

/* ---- what is due to a group ---- */

static u32 taken(const struct fgio_admission *admission)
{
	u32 sum = 0;

	for (u32 line = 0; line < FGIO_LINES; line++)
		sum += fgio_load(&admission->admitted[line]);
	return sum;
}

/* Slots that are divided. */
static u32 divided(const struct fgio_admission *admission)
{
	u32 reserve = admission->reserve;

	if (fgio_load(&admission->admitted[FGIO_LINE_CARRIER]) ||
	    fgio_load(&admission->waiting[FGIO_LINE_CARRIER]))
		reserve *= 2;
	return (u32)larger(1, beyond(admission->total, reserve));
}

/* Whether the other class of the group wants slots. */
static bool is_beside(const struct fgio_admission_group *group, u8 class)
{
	u8 other = !class;

	return group->held[other] || group->waiting[other] ||
	       (other == FGIO_CRITICAL && group->foreground);
}

/* What a class has for its weight, which is less the more is due to it. */
static u64 key_of(const struct fgio_admission *admission,
		  const struct fgio_admission_group *group, u8 class)
{
	u64 held = (u64)group->held[class] << ONE_SHIFT;
	u64 both = (u64)admission->share[FGIO_NONCRITICAL] +
		   admission->share[FGIO_CRITICAL];

	/* Of one slot, critical I/O has no share. */
	if (is_beside(group, class))
		held = held / larger(1, admission->share[class]) * both;
	return held / group->weight;
}

/* Whether it has less than what is due to it. */
static bool is_below(const struct fgio_admission *admission, u64 key,
		     u64 weights)
{
	return key < ((u64)divided(admission) << ONE_SHIFT) / weights;
}

static bool may_borrow(const struct fgio_admission_group *group, u8 class)
{
	return class == FGIO_CRITICAL || !is_beside(group, class);
}

static bool may_take(const struct fgio_admission *admission,
		     const struct fgio_admission_group *group, u8 class)
{
	u64 weights = admission->groups->weights +
		      (is_active(group) ? 0 : group->weight);
	u32 limit = admission->total;

	if (!is_below(admission, key_of(admission, group, class), weights)) {
		if (!may_borrow(group, class))
			return false;
		limit -= admission->reserve;
	}
	return taken(admission) < limit;
}

bool fgio_admission_has_room_for(const struct fgio_admission *admission,
				 enum fgio_line line, u8 place)
{
	if (line == FGIO_LINE_CARRIER)
		return fgio_load(&admission->admitted[line]) <
		       fgio_admission_limit(admission, line, false);
	return may_take(admission, group_at(admission, place), (u8)line);
}

bool fgio_admission_has_plenty_for(const struct fgio_admission *admission,
				   enum fgio_line line, u8 place, u32 count)
{
	const struct fgio_admission_group *group = group_at(admission, place);
	u64 weights = admission->groups->weights +
		      (is_active(group) ? 0 : group->weight);
	u64 key;

	if (line == FGIO_LINE_CARRIER)
		return fgio_admission_has_plenty(admission, line, count);
	if (group->waiting[line] ||
	    taken(admission) + count > admission->total - admission->reserve)
		return false;
	key = key_of(admission, group, (u8)line) +
	      ((u64)count << ONE_SHIFT) / group->weight;
	return is_below(admission, 2 * key, weights);
}

/* ---- places ---- */

static void leave_heap(struct fgio_admission_group *group, u8 class)
{
	if (!group->heap[class])
		return;
	fgio_heap_remove(group->heap[class], &group->due[class]);
	group->heap[class] = NULL;
}

/* Its key, or that to which heap it belongs, may have changed. */
static void enter_heap(struct fgio_admission *admission,
		       struct fgio_admission_group *group, u8 class)
{
	enum fgio_admission_heap index =
		class == FGIO_CRITICAL	? FGIO_ADMISSION_CRITICAL :
		is_beside(group, class) ? FGIO_ADMISSION_BESIDE :
					  FGIO_ADMISSION_ALONE;
	struct fgio_heap *heap = &admission->groups->heaps[index];
	u64 key = key_of(admission, group, class);

	if (group->heap[class] == heap) {
		fgio_heap_change(heap, &group->due[class], key);
		return;
	}
	leave_heap(group, class);
	fgio_heap_add(heap, &group->due[class], key);
	group->heap[class] = heap;
}

/* Changes what a place holds and how many wait there. */
static void change(struct fgio_admission *admission,
		   struct fgio_admission_group *group, u8 class, s32 held,
		   s32 waiting)
{
	struct fgio_admission_groups *groups = admission->groups;
	bool was = is_active(group), is;

	group->held[class] += (u32)held;
	group->waiting[class] += (u32)waiting;
	if (class == FGIO_CRITICAL && held > 0)
		group->foreground = true;
	else if (!groups->critical_present)
		group->foreground = false;
	is = is_active(group);
	if (is && !was) {
		groups->weights += group->weight;
		fgio_list_remove(&group->idle);
	} else if (!is && was) {
		groups->weights -= group->weight;
		if (group != &groups->groups[FGIO_ADMISSION_REST])
			fgio_list_add_tail(&groups->idle, &group->idle);
	}
	for (class = 0; class < FGIO_CLASSES; class++) {
		if (group->waiting[class])
			enter_heap(admission, group, class);
		else
			leave_heap(group, class);
	}
}

void fgio_admission_rekey_groups(struct fgio_admission *admission)
{
	for (u32 i = 0; i < FGIO_ADMISSION_GROUPS; i++) {
		struct fgio_admission_group *group =
			&admission->groups->groups[i];

		for (u8 class = 0; class < FGIO_CLASSES; class++)
			if (group->waiting[class])
				enter_heap(admission, group, class);
	}
}

static void set_weight(struct fgio_admission *admission,
		       struct fgio_admission_group *group, u32 weight)
{
	if (weight == group->weight)
		return;
	if (is_active(group))
		admission->groups->weights += (u64)weight - group->weight;
	group->weight = weight;
	for (u8 class = 0; class < FGIO_CLASSES; class++)
		if (group->waiting[class])
			enter_heap(admission, group, class);
}

static u8 find(const struct fgio_admission_groups *groups, u64 key)
{
	u8 place = groups->hash[hash_of(key, FGIO_ADMISSION_GROUP_BITS)];

	while (place != FGIO_ADMISSION_REST && groups->groups[place].key != key)
		place = groups->groups[place].chain;
	return place;
}

static void unhash(struct fgio_admission_groups *groups,
		   const struct fgio_admission_group *group)
{
	u8 *at = &groups->hash[hash_of(group->key, FGIO_ADMISSION_GROUP_BITS)];

	while (*at != place_at(groups, group))
		at = &groups->groups[*at].chain;
	*at = group->chain;
}

/* A place for a new group. */
static u8 new_place(struct fgio_admission_groups *groups, u64 key)
{
	u8 *first = &groups->hash[hash_of(key, FGIO_ADMISSION_GROUP_BITS)];
	struct fgio_admission_group *group;

	if (fgio_list_empty(&groups->idle))
		return FGIO_ADMISSION_REST;
	group = fgio_container_of(groups->idle.next,
				  struct fgio_admission_group, idle);
	if (group->key)
		unhash(groups, group);
	/* Last in line: it is about to be used. */
	fgio_list_remove(&group->idle);
	fgio_list_add_tail(&groups->idle, &group->idle);
	fgio_store(&group->key, key);
	group->foreground = false;
	group->chain = *first;
	*first = place_at(groups, group);
	return *first;
}

/* The rest's own weight is the largest of its groups while it is in use. */
static u32 weight_of_rest(const struct fgio_admission_group *rest, u64 key,
			  u32 weight)
{
	if (!key)
		weight = FGIO_ADMISSION_WEIGHT_DEFAULT;
	return is_active(rest) ? (u32)larger(rest->weight, weight) : weight;
}

u8 fgio_admission_place_of(struct fgio_admission *admission, u64 key,
			   u32 weight)
{
	struct fgio_admission_groups *groups = admission->groups;
	u8 place = key ? find(groups, key) : FGIO_ADMISSION_REST;

	if (key && place == FGIO_ADMISSION_REST)
		place = new_place(groups, key);
	if (place == FGIO_ADMISSION_REST)
		weight = weight_of_rest(&groups->groups[place], key, weight);
	set_weight(admission, &groups->groups[place], weight);
	return place;
}

/* ---- slots ---- */

bool fgio_admission_become_scarce(struct fgio_admission *admission)
{
	bool were_plenty = !admission->groups->scarce;

	fgio_store(&admission->groups->scarce, true);
	return were_plenty;
}

static bool has_few(const struct fgio_admission *admission,
		    enum fgio_line line)
{
	u32 few = admission->sure[line] / FGIO_ADMISSION_PLENTY_PART;

	return few && fgio_load(&admission->admitted[line]) <= few;
}

bool fgio_admission_become_plenty(struct fgio_admission *admission)
{
	if (!admission->groups->scarce ||
	    fgio_admission_has_waiters(admission) ||
	    !has_few(admission, FGIO_LINE_CRITICAL) ||
	    !has_few(admission, FGIO_LINE_NONCRITICAL) ||
	    fgio_load(&admission->admitted[FGIO_LINE_CARRIER]) >
		    admission->sure[FGIO_LINE_CARRIER] / 2)
		return false;
	fgio_store(&admission->groups->scarce, false);
	return true;
}

void fgio_admission_count_for(struct fgio_admission *admission,
			      enum fgio_line line, u8 place)
{
	change(admission, group_at(admission, place), (u8)line, 1, 0);
}

void fgio_admission_charge_for(struct fgio_admission *admission,
			       enum fgio_line line, u8 place)
{
	fgio_admission_charge(admission, line);
	if (line != FGIO_LINE_CARRIER)
		change(admission, group_at(admission, place), (u8)line, 1, 0);
}

bool fgio_admission_try_for(struct fgio_admission *admission,
			    enum fgio_line line, u8 place)
{
	struct fgio_admission_group *group = group_at(admission, place);

	if (line == FGIO_LINE_CARRIER)
		return fgio_admission_try(admission, line, false);
	if (group->waiting[line] || !may_take(admission, group, (u8)line))
		return false;
	fgio_admission_charge_for(admission, line, place);
	return true;
}

void fgio_admission_release_for(struct fgio_admission *admission,
				enum fgio_line line, u8 place)
{
	fgio_admission_release(admission, line);
	if (line != FGIO_LINE_CARRIER)
		change(admission, group_at(admission, place), (u8)line, -1, 0);
}

void fgio_admission_move_to(struct fgio_admission *admission,
			    enum fgio_line from, u8 from_place,
			    enum fgio_line to, u8 to_place)
{
	fgio_admission_reclassify(admission, from, to);
	if (to != FGIO_LINE_CARRIER)
		change(admission, group_at(admission, to_place), (u8)to, 1, 0);
	if (from != FGIO_LINE_CARRIER)
		change(admission, group_at(admission, from_place), (u8)from,
		       -1, 0);
}

/* ---- waiters ---- */

void fgio_admission_wait_for(struct fgio_admission *admission,
			     struct fgio_waiter *waiter, enum fgio_line line,
			     u8 place)
{
	struct fgio_admission_group *group = group_at(admission, place);

	struct fgio_list *waiters = line == FGIO_LINE_CARRIER ?
					    &admission->waiters[line] :
					    &group->waiters[line];

	waiter->line = (u8)line;
	waiter->place = place;
	waiter->granted = false;
	fgio_list_add_tail(waiters, &waiter->link);
	fgio_add(&admission->waiting[line], 1);
	if (line != FGIO_LINE_CARRIER)
		change(admission, group, (u8)line, 0, 1);
}

static void stop_waiting(struct fgio_admission *admission,
			 struct fgio_waiter *waiter, s32 held)
{
	fgio_list_remove(&waiter->link);
	fgio_sub(&admission->waiting[waiter->line], 1);
	if (waiter->line != FGIO_LINE_CARRIER)
		change(admission, group_at(admission, waiter->place),
		       waiter->line, held, -1);
}

bool fgio_admission_promote_to(struct fgio_admission *admission,
			       struct fgio_waiter *waiter, u8 place)
{
	if (waiter->granted || waiter->line == FGIO_LINE_CRITICAL)
		return false;
	stop_waiting(admission, waiter, 0);
	fgio_admission_wait_for(admission, waiter, FGIO_LINE_CRITICAL, place);
	return true;
}

static struct fgio_admission_group *
group_of_due(struct fgio_heap_node *node, u8 class)
{
	return fgio_container_of(node - class, struct fgio_admission_group,
				 due[0]);
}

static struct fgio_waiter *grant_to(struct fgio_admission *admission,
				    struct fgio_admission_group *group,
				    u8 class)
{
	struct fgio_waiter *waiter = fgio_container_of(
		group->waiters[class].next, struct fgio_waiter, link);

	fgio_admission_charge(admission, (enum fgio_line)class);
	stop_waiting(admission, waiter, 1);
	waiter->granted = true;
	return waiter;
}

static u8 class_of_heap(u32 heap)
{
	return heap == FGIO_ADMISSION_CRITICAL ? FGIO_CRITICAL :
						 FGIO_NONCRITICAL;
}

/*
 * In each heap, if the first place may take no slot, none may: whether a place
 * is below its part follows from its key, and all borrow, or none.
 */
struct fgio_waiter *
fgio_admission_grant_by_group(struct fgio_admission *admission)
{
	struct fgio_admission_groups *groups = admission->groups;
	struct fgio_admission_group *best = NULL;
	u8 class = FGIO_NONCRITICAL;

	for (u32 i = 0; i < FGIO_ADMISSION_HEAPS; i++) {
		struct fgio_heap_node *node = fgio_heap_first(&groups->heaps[i]);
		struct fgio_admission_group *group;

		if (!node || (best && !fgio_before(node->key,
						   best->due[class].key)))
			continue;
		group = group_of_due(node, class_of_heap(i));
		if (!may_take(admission, group, class_of_heap(i)))
			continue;
		best = group;
		class = class_of_heap(i);
	}
	if (!best)
		return NULL;
	if (best->waiting[FGIO_CRITICAL] &&
	    may_take(admission, best, FGIO_CRITICAL))
		class = FGIO_CRITICAL;
	return grant_to(admission, best, class);
}

struct fgio_waiter *
fgio_admission_grant_any_group(struct fgio_admission *admission)
{
	static const u8 order[FGIO_ADMISSION_HEAPS] = {
		FGIO_ADMISSION_CRITICAL,
		FGIO_ADMISSION_BESIDE,
		FGIO_ADMISSION_ALONE,
	};
	struct fgio_heap_node *node;

	for (u32 i = 0; i < FGIO_ADMISSION_HEAPS; i++) {
		node = fgio_heap_first(&admission->groups->heaps[order[i]]);
		if (node)
			return grant_to(admission,
					group_of_due(node,
						     class_of_heap(order[i])),
					class_of_heap(order[i]));
	}
	return NULL;
}

/* ---- tasks that have a slot, and no request yet ---- */

/* Where a task is carried in a line; @task 0: a free place for @whose. */
static struct fgio_admission_carried *
carried_at(struct fgio_admission *admission, u64 whose, u64 task, u8 line)
{
	u32 at = hash_of(whose, FGIO_ADMISSION_CARRIED_BITS);

	for (u32 i = 0; i < PROBES; i++) {
		struct fgio_admission_carried *carried =
			&admission->groups->carried[(at + i) %
						    FGIO_ADMISSION_CARRIED];

		if (carried->task == task && (!task || carried->line == line))
			return carried;
	}
	return NULL;
}

bool fgio_admission_carry(struct fgio_admission *admission, u64 task,
			  enum fgio_line line, u8 place)
{
	struct fgio_admission_carried *carried =
		carried_at(admission, task, 0, (u8)line);

	if (!carried)
		return false;
	*carried = (struct fgio_admission_carried){
		.task = task,
		.line = (u8)line,
		.place = place,
	};
	fgio_store(&admission->groups->carrying,
		   admission->groups->carrying + 1);
	return true;
}

u8 fgio_admission_carried(struct fgio_admission *admission, u64 task,
			  enum fgio_line line)
{
	struct fgio_admission_carried *carried =
		carried_at(admission, task, task, (u8)line);

	if (!carried)
		return FGIO_ADMISSION_NOWHERE;
	carried->task = 0;
	fgio_store(&admission->groups->carrying,
		   admission->groups->carrying - 1);
	return carried->place;
}
