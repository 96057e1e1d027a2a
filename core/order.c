// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "order.h"

void fgio_order_init(struct fgio_order *order)
{
	*order = (struct fgio_order){ 0 };
	fgio_list_init(&order->fifo[false]);
	fgio_list_init(&order->fifo[true]);
}

/* A request that the device gave back, or of unknown age, has waited enough. */
static bool is_overdue(const struct fgio_request *request, u64 now_ns)
{
	u64 expire_ns = request->write ? FGIO_ORDER_WRITE_NS :
					 FGIO_ORDER_READ_NS;

	return !request->queued_ns || now_ns >= request->queued_ns + expire_ns;
}

/* The next request of the batch under way, or NULL. */
static struct fgio_request *next_of_batch(const struct fgio_order *order,
					  const struct fgio_sweep *sweep)
{
	if (order->batch >= FGIO_ORDER_BATCH)
		return NULL;
	return sweep->next[order->write];
}

struct fgio_request *fgio_order_choose_on_sweep(const struct fgio_order *order,
						const struct fgio_sweep *sweep,
						u64 now_ns)
{
	struct fgio_request *request = next_of_batch(order, sweep);
	bool write = !fgio_order_holds(order, false);

	if (request)
		return request;
	if (fgio_order_holds(order, true) &&
	    order->starved >= FGIO_ORDER_STARVED)
		write = true;
	request = fgio_order_oldest(order, write);
	if (!sweep->next[write] || is_overdue(request, now_ns))
		return request;
	return sweep->next[write];
}

void fgio_order_went_on_sweep(struct fgio_order *order,
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
	else if (fgio_order_holds(order, true))
		order->starved++;
}
