/* SPDX-License-Identifier: GPL-2.0 */
/* Writers' room: dirty pages of cgroups that share a disk, by weight. */
#ifndef FGIO_ROOM_H
#define FGIO_ROOM_H

#include <linux/types.h>

struct bdi_writeback;
struct fgio_queue_data;
struct request_queue;

/* Pages of all memory: that can be dirty; dirty or under writeback. Any context. */
u64 fgio_dirtyable_pages(void);
u64 fgio_dirty_pages(void);

/* After a look at groups. Context: under RCU, with the queue's look_lock. */
void fgio_divide_room(struct fgio_queue_data *fq);

/**
 * fgio_room_of_writer() - how many pages may be dirty of the cgroup of a writer
 * @wb: the writeback of the cgroup on the disk; the caller keeps it
 * @q: the disk's queue, which may be gone; NULL: none
 * @held: pages of @wb that are dirty or under writeback
 *
 * Notes that the cgroup dirties pages. Return: dirty and under writeback at once;
 * FGIO_ROOM_UNLIMITED: the disk is not shared, or the cgroup is the root or unknown
 * there. Context: any but NMI.
 */
u64 fgio_room_of_writer(struct bdi_writeback *wb, const struct request_queue *q,
			u64 held);

/*
 * Whether the current task may go on, with fgio_room_of_writer() and the same
 * arguments: within @limit, or since it is its turn by age. Context: any but NMI.
 */
bool fgio_writer_may_go(struct bdi_writeback *wb, const struct request_queue *q,
			u64 limit, u64 held);

/*
 * Whether a cgroup of a shared disk is unknown there, since it has had no I/O; and
 * to make it known, if there is memory. @wb, @q: as above. Context: any but NMI;
 * and a task's, without locks.
 */
bool fgio_writer_lacks_group(struct bdi_writeback *wb, const struct request_queue *q);
void fgio_make_writers_group(struct bdi_writeback *wb, const struct request_queue *q);

#endif /* FGIO_ROOM_H */
