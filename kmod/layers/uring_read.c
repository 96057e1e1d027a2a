// SPDX-License-Identifier: GPL-2.0
/*
 * Buffered reads of io_uring that wait for a locked page: by a callback, so that no
 * task waits for that page. A thread sleeps for the ring's completions, or for a
 * file that tells of them: the ring's own, or an eventfd, mostly under epoll(7).
 *
 * The reads that were issued last are noted for each ring. The walk looks which of
 * them wait.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/io_uring_types.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <uapi/linux/io_uring.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/scale.h"
#include "block/io_target.h"
#include "compat/compat.h"
#include "graph/walk.h"
#include "layers/uring_read.h"
#include "who/uring.h"

/**
 * struct read_set - requests that read, issued last for some of the rings
 * @last: place of the last one
 * @requests: their addresses, which are gone or used again by now, or 0
 *
 * Without locks or atomic operations: at worst a request is forgotten.
 */
struct read_set {
	u32 last;
	u64 requests[FGIO_URING_READS];
};

static struct read_set read_sets[1 << FGIO_URING_SET_BITS];

static struct read_set *set_of(u64 ring)
{
	return &read_sets[hash_64(ring, FGIO_URING_SET_BITS)];
}

/*
 * Called for reads of all threads, each a few thousand instructions long. To
 * find out whether the thread matters would take longer than to note it.
 */
void fgio_on_uring_read(unsigned long function, unsigned long caller,
			struct ftrace_ops *operations, struct ftrace_regs *regs)
{
	u64 request = fgio_ftrace_argument(regs, 0);
	struct read_set *set;
	u32 place;

	set = set_of((u64)((const struct io_kiocb *)request)->ctx);
	place = (READ_ONCE(set->last) + 1) % FGIO_URING_READS;
	WRITE_ONCE(set->last, place);
	WRITE_ONCE(set->requests[place], request);
}

static bool is_read(u64 request)
{
	u8 opcode;

	if (get_kernel_nofault(opcode,
			       &((const struct io_kiocb *)request)->opcode))
		return false;
	return opcode == IORING_OP_READ || opcode == IORING_OP_READV ||
	       opcode == IORING_OP_READ_FIXED;
}

/*
 * The page for which a request waits. All of a request that waits by callback
 * leads back to it: one that is done, or whose memory is used for another one,
 * is not taken for it.
 *
 * The data of a request that was something else before may be words of its
 * submitter's choice, so they must not lead to the registers of a device.
 *
 * Return: the folio, or NULL.
 */
static const struct folio *awaited_folio(u64 request, u64 ring)
{
	const struct wait_page_queue *queue;
	struct wait_page_queue wait;
	struct kiocb read;

	/* The data of a read or write request begin with its kiocb. */
	static_assert(sizeof(read) <= sizeof(struct io_cmd_data));
	if (!request || fgio_uring_ring_of(request) != ring ||
	    !is_read(request) ||
	    copy_from_kernel_nofault(&read, (const void *)request,
				     sizeof(read)) ||
	    !(read.ki_flags & IOCB_WAITQ))
		return NULL;
	queue = read.ki_waitq;
	if (!fgio_copy_kernel(&wait, (u64)queue, sizeof(wait)) ||
	    (u64)wait.wait.private != request ||
	    wait.wait.entry.next == &queue->wait.entry ||
	    !fgio_is_page(&wait.folio->page))
		return NULL;
	return wait.folio;
}

/* A copy of the folio is looked at, since it may be gone by now. */
static void want_folio(const struct fgio_walk_step *step,
		       const struct folio *folio)
{
	struct folio copy;
	u64 mapping, first;

	/* A tail page is no folio: the memory is another's by now. */
	if (copy_from_kernel_nofault(&copy, folio, sizeof(copy)) ||
	    PageTail(&copy.page))
		return;
	mapping = fgio_mapping_of_folio(&copy, &first);
	if (mapping)
		fgio_wanted_add(step, FGIO_WANTED_PAGES, mapping, first,
				first + folio_nr_pages(&copy) - 1);
}

void fgio_uring_want_pages(const struct fgio_walk_step *step, u64 ring)
{
	const struct read_set *set = set_of(ring);
	const struct folio *folio;
	unsigned int i;

	for (i = 0; i < FGIO_URING_READS; i++) {
		folio = awaited_folio(READ_ONCE(set->requests[i]), ring);
		if (folio)
			want_folio(step, folio);
	}
}

void fgio_uring_want_own_pages(const struct fgio_walk_step *step)
{
	const struct io_uring_task *own = NULL;
	struct task_struct *task;
	u64 ring;

	rcu_read_lock();
	task = fgio_task_at(step->task);
	if (task)
		own = fgio_uring_of_task(task);
	ring = own ? fgio_kernel_word((u64)&own->last) : 0;
	rcu_read_unlock();
	if (ring && fgio_mechanism_on(FGIO_MECHANISM_URING))
		fgio_uring_want_pages(step, ring);
}
