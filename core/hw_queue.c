// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "hw_queue.h"
#include "number.h"
#include "queue_internal.h"

/* The queue that has the turn was not called for it yet. */
#define NOT_CALLED (~0ULL)

void fgio_hw_queue_init(struct fgio_hw_queue *hw, struct fgio_queue *queue,
			u32 index)
{
	*hw = (struct fgio_hw_queue){ .queue = queue, .index = index };
	fgio_order_init(&hw->order[FGIO_NONCRITICAL]);
	fgio_order_init(&hw->order[FGIO_CRITICAL]);
	fgio_list_init(&hw->granted);
}

void fgio_queue_set_hw(struct fgio_queue *queue,
		       struct fgio_hw_queue *const *hw, u32 count)
{
	/* Totals go on. */
	for (u32 i = 0; queue->hw && i < queue->hw_count; i++) {
		fgio_queue_add_counters(&queue->own.counters,
					&queue->hw[i]->counters);
		queue->hw[i]->counters =
			(struct fgio_queue_counters){ .promoted = 0 };
	}
	queue->hw = hw;
	queue->hw_count = count;
}

/* ---- without the device's leave ---- */

static struct fgio_request *next_granted(struct fgio_hw_queue *hw)
{
	struct fgio_request *request = fgio_container_of(
		hw->granted.next, struct fgio_request, link);

	fgio_list_remove(&request->link);
	fgio_store(&hw->granted_count, hw->granted_count - 1);
	return request;
}

/* The device is not told, unless fgio_hw_queue_tell() follows. */
static void pass(struct fgio_request *request, u64 now_ns)
{
	fgio_request_take_out(request);
	request->depth.sent_ns = 0;
	fgio_request_enter_device(request, now_ns);
}

static struct fgio_request *next_critical(struct fgio_hw_queue *hw, u64 now_ns)
{
	struct fgio_request *request;

	fgio_hw_queue_tell_time(hw, now_ns);
	request = fgio_hw_queue_oldest(hw, FGIO_CRITICAL);
	pass(request, now_ns);
	return request;
}

/* No critical I/O is about. */
static struct fgio_request *next_noncritical(struct fgio_hw_queue *hw,
					     u64 now_ns)
{
	struct fgio_request *request = fgio_queue_choose_free(hw, NULL, now_ns);

	pass(request, now_ns);
	if (!fgio_load(&hw->queue->unseen))
		fgio_store(&hw->queue->unseen, true);
	if (request->write) {
		fgio_store(&hw->passed.writes, hw->passed.writes + 1);
		fgio_store(&hw->passed.write_sectors,
			   hw->passed.write_sectors + request->sectors);
	}
	return request;
}

/*
 * Minimum service is one for the device. A queue that is never out of critical
 * requests would leave it to the others: its own have their part of it, as soon
 * as the in-flight limit has room.
 */
static bool is_overdue(const struct fgio_hw_queue *hw, u64 now_ns)
{
	const struct fgio_queue *queue = hw->queue;

	return hw->queued[FGIO_NONCRITICAL] && !fgio_queue_probes(queue) &&
	       now_ns >= hw->served_ns + queue->hw_count *
				queue->config.release_interval_ns;
}

struct fgio_request *fgio_hw_queue_next(struct fgio_hw_queue *hw, u64 now_ns)
{
	bool critical = hw->queued[FGIO_CRITICAL];
	bool noncritical = hw->queued[FGIO_NONCRITICAL];
	bool due = critical && (noncritical || hw->granted_count) &&
		   (fgio_queue_release_is_due(hw->queue, now_ns) ||
		    is_overdue(hw, now_ns));

	if (critical && !due)
		return next_critical(hw, now_ns);
	if (hw->granted_count)
		return next_granted(hw);
	if (!critical && noncritical && !fgio_queue_saw_critical(hw->queue))
		return next_noncritical(hw, now_ns);
	return NULL;
}

/* ---- what the device knows ---- */

u64 fgio_hw_queues_wrote(const struct fgio_queue *queue,
			 struct fgio_hw_queue *const *hw)
{
	u64 accounted = fgio_depth_size(
		fgio_load(&queue->passed.writes),
		fgio_load(&queue->passed.write_sectors));
	u64 writes = 0, sectors = 0;
	u32 i;

	for (i = 0; i < fgio_load(&queue->hw_count); i++) {
		writes += fgio_load(&hw[i]->passed.writes);
		sectors += fgio_load(&hw[i]->passed.write_sectors);
	}
	return beyond(fgio_depth_size(writes, sectors), accounted);
}

static void account_for_untold(struct fgio_hw_queue *hw, u64 now_ns)
{
	u64 count = hw->passed.untold - hw->accounted.untold;

	if (count)
		fgio_depth_passed(&hw->queue->depth, count,
				  hw->passed.untold_sectors -
					  hw->accounted.untold_sectors,
				  now_ns);
}

static void account_for_writes(struct fgio_hw_queue *hw)
{
	struct fgio_passed *all = &hw->queue->passed;
	u64 count = hw->passed.writes - hw->accounted.writes;
	u64 sectors = hw->passed.write_sectors - hw->accounted.write_sectors;

	if (!count)
		return;
	fgio_store(&all->writes, all->writes + count);
	fgio_store(&all->write_sectors, all->write_sectors + sectors);
	fgio_depth_wrote(&hw->queue->depth, count, sectors);
}

/* Of this queue; others account for theirs. */
static void account_for_passed(struct fgio_hw_queue *hw, u64 now_ns)
{
	account_for_untold(hw, now_ns);
	account_for_writes(hw);
	hw->accounted = hw->passed;
}

static enum fgio_queue_mode look(struct fgio_hw_queue *hw, u64 now_ns)
{
	enum fgio_queue_mode mode = fgio_queue_mode_at(hw->queue, now_ns);

	account_for_passed(hw, now_ns);
	fgio_queue_measure(hw->queue, mode, now_ns);
	return mode;
}

void fgio_hw_queue_does_not_tell(struct fgio_hw_queue *hw,
				 const struct fgio_request *request,
				 u64 now_ns)
{
	struct fgio_passed *passed = &hw->passed;

	hw->told_ns = now_ns;
	fgio_store(&passed->untold, passed->untold + 1);
	fgio_store(&passed->untold_sectors,
		   passed->untold_sectors + request->sectors);
}

bool fgio_hw_queue_tells(struct fgio_hw_queue *hw,
			 const struct fgio_request *request, u64 now_ns)
{
	if (request->class != FGIO_CRITICAL ||
	    !fgio_load(&hw->queue->measures))
		return false;
	if (now_ns >= hw->told_ns + FGIO_TELL_NS)
		return true;
	fgio_hw_queue_does_not_tell(hw, request, hw->told_ns);
	return false;
}

void fgio_hw_queue_tell(struct fgio_hw_queue *hw, struct fgio_request *request,
			u64 now_ns)
{
	hw->told_ns = now_ns;
	look(hw, now_ns);
	fgio_queue_measure_request(hw->queue, request, now_ns);
}

/* ---- turns ---- */

static struct fgio_hw_queue *holder_of(const struct fgio_queue *queue)
{
	return queue->hw[queue->turn.index];
}

/* Whether others have to wait for it: it wants the turn that it has. */
static bool holds_turn(const struct fgio_queue *queue,
		       const struct fgio_hw_queue *hw, u64 now_ns)
{
	return now_ns < fgio_load(&queue->turn.until_ns) &&
	       fgio_load(&hw->queued[FGIO_NONCRITICAL]);
}

/* Others wait until it was called, and FGIO_TURN_NS more. */
static void give_turn(struct fgio_queue *queue, u32 index)
{
	fgio_store(&queue->turn.index, index);
	fgio_store(&queue->turn.until_ns, NOT_CALLED);
}

/* Takes the turn where the queue that has it was called and does not come. */
static bool takes_turn(struct fgio_hw_queue *hw, u64 now_ns)
{
	struct fgio_queue *queue = hw->queue;
	struct fgio_hw_queue *holder = holder_of(queue);

	if (holder == hw)
		return true;
	if (holds_turn(queue, holder, now_ns))
		return false;
	holder->late = fgio_load(&holder->queued[FGIO_NONCRITICAL]) &&
		       fgio_load(&holder->called);
	give_turn(queue, hw->index);
	return true;
}

/* To the next one that wants it. Late ones come by themselves. */
static void pass_turn(struct fgio_hw_queue *hw)
{
	struct fgio_queue *queue = hw->queue;
	u32 count = queue->hw_count;
	u32 i, index;

	for (i = 1; i < count; i++) {
		index = (hw->index + i) % count;
		if (fgio_load(&queue->hw[index]->queued[FGIO_NONCRITICAL]) &&
		    !queue->hw[index]->late)
			break;
	}
	give_turn(queue, (hw->index + i) % count);
}

static void call(struct fgio_hw_queue *hw)
{
	if (fgio_load(&hw->queued[FGIO_NONCRITICAL]))
		fgio_store(&hw->called, true);
}

struct fgio_hw_queue *fgio_queue_turn(struct fgio_queue *queue, u64 now_ns)
{
	struct fgio_hw_queue *holder =
		queue->hw[fgio_load(&queue->turn.index)];
	u32 i;

	if (fgio_queue_saw_critical(queue) &&
	    holds_turn(queue, holder, now_ns)) {
		/* It may have been called before, for no turn of its own. */
		if (fgio_load(&queue->turn.until_ns) == NOT_CALLED)
			fgio_store(&queue->turn.until_ns,
				   now_ns + FGIO_TURN_NS);
		call(holder);
		return holder;
	}
	for (i = 0; i < queue->hw_count; i++)
		call(queue->hw[i]);
	return NULL;
}

/* ---- with the device's leave ---- */

/* How far ahead requests may go at once. */
static u64 grant_ns(const struct fgio_hw_queue *hw,
		    const struct fgio_request *first)
{
	u64 base_ns = fgio_depth_base_ns(&hw->queue->depth, first->sectors,
					 first->write);

	return larger(FGIO_GRANT_LEAST_NS,
		      smaller(base_ns / FGIO_GRANT_SHARE, FGIO_GRANT_MOST_NS));
}

/* Those after @first, as far as there is room for them now. */
static void grant_more(struct fgio_hw_queue *hw, struct fgio_request *first,
		       u64 now_ns)
{
	u64 until_ns = now_ns + grant_ns(hw, first);
	struct fgio_request *request;

	while (hw->queued[FGIO_NONCRITICAL] &&
	       hw->granted_count < FGIO_GRANT_MOST - 1 &&
	       fgio_queue_may_go_in_turn(hw, until_ns)) {
		request = fgio_hw_queue_oldest(hw, FGIO_NONCRITICAL);
		fgio_queue_hand_over(request, now_ns);
		fgio_depth_not_measured(&request->depth);
		fgio_depth_not_alone(&first->depth);
		fgio_list_add_tail(&hw->granted, &request->link);
		fgio_store(&hw->granted_count, hw->granted_count + 1);
	}
}

static struct fgio_request *grant(struct fgio_hw_queue *hw,
				  struct fgio_request *request, u64 now_ns)
{
	fgio_queue_hand_over(request, now_ns);
	if (request->class == FGIO_CRITICAL)
		return request;
	hw->late = false;
	hw->served_ns = now_ns;
	if (!hw->queued[FGIO_CRITICAL])
		grant_more(hw, request, now_ns);
	pass_turn(hw);
	/*
	 * It may not ask again soon: it has no more, or critical requests before
	 * them, or others were refused before. So the next one has to be run.
	 */
	if (holder_of(hw->queue) != hw &&
	    (!hw->queued[FGIO_NONCRITICAL] || hw->queued[FGIO_CRITICAL] ||
	     fgio_load(&hw->queue->withheld)))
		hw->queue->retry_ns = now_ns;
	return request;
}

/* It was late for its turn: one request goes, and others wait longer. */
static bool goes_late(struct fgio_hw_queue *hw, u64 now_ns)
{
	struct fgio_queue *queue = hw->queue;
	u64 next_ns = queue->turn.late_ns + queue->config.release_interval_ns;

	if (!hw->late || fgio_queue_probes(queue) || now_ns < next_ns)
		return false;
	queue->turn.late_ns = now_ns;
	return true;
}

/* Another queue has the turn, and is called as soon as there is room. */
static struct fgio_request *wait_for_turn(struct fgio_hw_queue *hw, u64 now_ns)
{
	struct fgio_queue *queue = hw->queue;
	u64 retry_ns = now_ns;

	fgio_queue_withhold(queue, now_ns);
	if (!fgio_queue_may_go_in_turn(hw, now_ns)) {
		/* A release may be due: then, too, it is called now. */
		retry_ns = larger(fgio_queue_retry_at(queue), now_ns);
	} else if (fgio_load(&queue->turn.until_ns) != NOT_CALLED) {
		retry_ns = fgio_load(&queue->turn.until_ns);
	}
	queue->retry_ns = retry_ns;
	return hw->queued[FGIO_CRITICAL] ?
		       fgio_hw_queue_oldest(hw, FGIO_CRITICAL) :
		       NULL;
}

static struct fgio_request *choose(struct fgio_hw_queue *hw, u64 now_ns)
{
	struct fgio_queue *queue = hw->queue;
	struct fgio_request *request;

	if (goes_late(hw, now_ns))
		return fgio_hw_queue_oldest(hw, FGIO_NONCRITICAL);
	hw->late = false;
	if (is_overdue(hw, now_ns)) {
		if (fgio_queue_release_has_room(queue))
			return fgio_hw_queue_oldest(hw, FGIO_NONCRITICAL);
		give_turn(queue, hw->index);
	}
	if (!takes_turn(hw, now_ns))
		return wait_for_turn(hw, now_ns);
	request = fgio_queue_choose_weighed(hw, now_ns);
	if (!request)
		give_turn(queue, hw->index);
	return request;
}

struct fgio_request *fgio_hw_queue_ask(struct fgio_hw_queue *hw, u64 now_ns)
{
	struct fgio_queue *queue = hw->queue;
	struct fgio_request *request;

	queue->retry_ns = 0;
	fgio_store(&hw->called, false);
	if (look(hw, now_ns) == FGIO_QUEUE_FREE) {
		request = fgio_queue_choose_free(hw, NULL, now_ns);
		fgio_queue_hand_over(request, now_ns);
		/* Turns are over: all that was withheld may go. */
		fgio_store(&queue->turn.until_ns, 0);
		queue->retry_ns = now_ns;
		return request;
	}
	fgio_queue_look_for_critical(queue, now_ns);
	request = choose(hw, now_ns);
	return request ? grant(hw, request, now_ns) : NULL;
}
