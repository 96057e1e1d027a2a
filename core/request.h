/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A request in core: queued (order.h), or in the device (depth.h). */
#ifndef FGIO_CORE_REQUEST_H
#define FGIO_CORE_REQUEST_H

#include "depth.h"
#include "list.h"
#include "shares_heap.h"
#include "types.h"

enum fgio_request_state {
	FGIO_REQUEST_IDLE, /* not the queue's: not inserted, or completed */
	FGIO_REQUEST_QUEUED,
	FGIO_REQUEST_IN_DEVICE,
};

struct fgio_hw_queue;
struct fgio_request_memo;
struct fgio_share_group;

/**
 * struct fgio_share_stamp - what shares.h keeps of a request
 * @group: the group that it is charged to; NULL: shares are off
 * @sent_ns: time of its dispatch
 * @charge_ns: drive time charged for it
 * @number: of its dispatch, see struct fgio_shares
 * @sent_before: requests sent to the drive when it joined its group...
 * @own_before: ...and those of the group
 * @alone: the drive was empty, and its group's request was the last to go
 * @kind: see shares_cost.h
 * @moved: another group paid since
 * @first: on a disk, it began a slice
 */
struct fgio_share_stamp {
	struct fgio_share_group *group;
	u64 sent_ns;
	u32 charge_ns;
	u32 number;
	u32 sent_before;
	u32 own_before;
	u8 kind;
	bool alone;
	bool moved;
	bool first;
};

enum fgio_rank_state {
	FGIO_RANK_NONE,
	FGIO_RANK_ALONE, /* it has one as soon as another request's comes */
	FGIO_RANK_SET,
};

/**
 * struct fgio_rank - the user's request that an I/O serves, and its place by that
 *	(request_order.h)
 * @id: request id, a claim; 0: none. This and the next two are set before
 *	insertion, where the order is on
 * @deadline_ms: as in struct fgio_word
 * @parts: the same
 * @memo: what its request had; that of another one if it was forgotten since.
 *	NULL: none
 * @state: enum fgio_rank_state
 * @heap: which one it is in, if it is ranked
 * @chain: ranked I/Os of one request, in the order of their keys; the first of
 *	them is in the heap for all
 * @node: in a heap, or not; by key and order of insertion
 */
struct fgio_rank {
	u64 id;
	u32 deadline_ms;
	u32 parts;
	struct fgio_request_memo *memo;
	u8 state;
	u8 heap;
	struct fgio_list chain;
	struct fgio_heap_node node;
};

/**
 * struct fgio_request - one request, embedded in the caller's own
 * @link: position in the FIFO of its class while queued
 * @hw: the hardware queue that it was inserted into
 * @sector: first sector (512 bytes)
 * @sectors: length
 * @depth: private to depth.h while it is in the device
 * @class: enum fgio_class
 * @state: enum fgio_request_state; see fgio_request_is_in_device()
 * @write: it is no read
 * @epoch: private to inflight.h while it is in the device
 * @queued_ns: time of its insertion, on the clock of fgio_queue_next(); 0 if
 *	unknown
 * @share: see shares.h
 * @rank: see request_order.h
 */
struct fgio_request {
	struct fgio_list link;
	struct fgio_hw_queue *hw;
	u64 sector;
	u64 queued_ns;
	u32 sectors;
	u32 epoch;
	u8 class;
	u8 state;
	bool write;
	struct fgio_depth_stamp depth;
	struct fgio_share_stamp share;
	struct fgio_rank rank;
};

#endif /* FGIO_CORE_REQUEST_H */
