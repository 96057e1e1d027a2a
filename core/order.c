// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "order.h"
#include "queue.h"

void fgio_order_init(struct fgio_order *order)
{
	*order = (struct fgio_order){ 0 };
	fgio_list_init(&order->fifo[false]);
	fgio_list_init(&order->fifo[true]);
}

static bool is_queued(const struct fgio_order *order, bool write)
{
	return !fgio_list_empty(&order->fifo[write]);
}

static struct fgio_request *oldest(const struct fgio_order *order, bool write)
{
	return fgio_container_of(order->fifo[write].next, struct fgio_request,
				 link);
}

/* One that the device gave back, or of unknown age, has waited enough. */
static bool is_overdue(const struct fgio_request *request, u64 now_ns)
{
	u64 expire_ns = request->write ? FGIO_ORDER_WRITE_NS :
					 FGIO_ORDER_READ_NS;

	return !request->queued_ns || now_ns >= request->queued_ns + expire_ns;
}

/* ---- a sweep over a disk ---- */

/* The next one of the batch that is under way, or NULL. */
static struct fgio_request *next_of_batch(const struct fgio_order *order,
					  const struct fgio_sweep *sweep)
{
	if (order->batch >= FGIO_ORDER_BATCH)
		return NULL;
	return sweep->next[order->write];
}

static struct fgio_request *choose_on_sweep(const struct fgio_order *order,
					    const struct fgio_sweep *sweep,
					    u64 now_ns)
{
	struct fgio_request *request = next_of_batch(order, sweep);
	bool write = !is_queued(order, false);

	if (request)
		return request;
	if (is_queued(order, true) && order->starved >= FGIO_ORDER_STARVED)
		write = true;
	request = oldest(order, write);
	if (!sweep->next[write] || is_overdue(request, now_ns))
		return request;
	return sweep->next[write];
}

static void went_on_sweep(struct fgio_order *order,
			  const struct fgio_request *request,
			  const struct fgio_sweep *sweep)
{
	if (request == next_of_batch(order, sweep)) {
		order->batch++;
		return;
	}
	order->write = request->write;
	order->batch = 1;
	if (request->write)
		order->starved = 0;
	else if (is_queued(order, true))
		order->starved++;
}

/* ---- no sweep ---- */

/* Reads that may go while writes are queued, and then writes beside reads. */
static u32 reads_at_a_time(enum fgio_order_by by)
{
	return by == FGIO_ORDER_SHARE ? FGIO_ORDER_SHARE_READS :
					FGIO_ORDER_STARVED;
}

static u32 writes_at_a_time(enum fgio_order_by by)
{
	return by == FGIO_ORDER_SHARE ? FGIO_ORDER_BATCH : 1;
}

static struct fgio_request *choose_by_age(const struct fgio_order *order,
					  enum fgio_order_by by)
{
	bool write = !is_queued(order, false);

	if (is_queued(order, true) && order->passed >= reads_at_a_time(by))
		write = true;
	return oldest(order, write);
}

static void went_by_age(struct fgio_order *order,
			const struct fgio_request *request,
			enum fgio_order_by by)
{
	bool both = is_queued(order, !request->write);

	if (!request->write && both) {
		order->passed++;
		return;
	}
	/* The turn of the writes is over when it was long enough, or nothing vies. */
	if (both && ++order->turn < writes_at_a_time(by))
		return;
	order->passed = 0;
	order->turn = 0;
}

/* ---- all ---- */

struct fgio_request *fgio_order_choose(const struct fgio_order *order,
				       enum fgio_order_by by,
				       const struct fgio_sweep *sweep,
				       u64 now_ns)
{
	return by == FGIO_ORDER_SWEEP ? choose_on_sweep(order, sweep, now_ns) :
					choose_by_age(order, by);
}

void fgio_order_went(struct fgio_order *order,
		     const struct fgio_request *request, enum fgio_order_by by,
		     const struct fgio_sweep *sweep)
{
	order->position[request->write] = request->sector + request->sectors;
	if (by == FGIO_ORDER_SWEEP)
		went_on_sweep(order, request, sweep);
	else
		went_by_age(order, request, by);
}
