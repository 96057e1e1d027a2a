/* SPDX-License-Identifier: GPL-2.0 */
/* Requests of a device with many hardware queues: insertion and dispatch. */
#ifndef FGIO_BLOCK_HW_QUEUE_H
#define FGIO_BLOCK_HW_QUEUE_H

#include "block/queue.h"

/* The elevator's insert_requests, dispatch_request and has_work. */
void fgio_hw_insert(struct fgio_hw *hw, struct list_head *list, bool at_head);
struct request *fgio_hw_dispatch(struct fgio_hw *hw);
bool fgio_hw_has_work(const struct fgio_hw *hw);

/*
 * Returns once no insertion is under way that began before the call. Context:
 * may not hold a lock of a hardware queue.
 */
void fgio_hw_wait_for_inserts(struct fgio_queue_data *fq);

#endif /* FGIO_BLOCK_HW_QUEUE_H */
