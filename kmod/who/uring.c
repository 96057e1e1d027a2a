// SPDX-License-Identifier: GPL-2.0
/*
 * The threads that io_uring's threads act for (io_uring/io-wq.c, sqpoll.c).
 *
 * A worker holds its pool (io_wq), and the pool the thread whose requests it
 * executes: that thread ends after all of its workers. So nothing is recorded
 * when a worker begins and ends a request, and nothing can be missed: whether
 * the worker counts as foreground is asked when it waits or submits I/O. Between
 * two requests it does neither.
 *
 * A thread that polls a submission queue keeps no pointer to the thread that
 * set the queue up. Its name has the id of that thread.
 */
#include <linux/io_uring_types.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <uapi/linux/io_uring.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/mechanism.h"
#include "compat/compat.h"
#include "compat/uring.h"
#include "who/tag.h"
#include "who/uring.h"

#define POLLER_PREFIX "iou-sqp-"

static bool is_uring_thread(const struct task_struct *thread)
{
	return READ_ONCE(thread->flags) & PF_IO_WORKER;
}

/* NULL for a worker that exits, and for threads that are no workers. */
static const void *worker_of(const struct task_struct *thread)
{
	return is_uring_thread(thread) ? READ_ONCE(thread->worker_private) :
					 NULL;
}

/*
 * Another thread may have put another file in the place of a ring's (dup2(2)):
 * what is taken for a ring may be any driver's object, whose words may be the
 * addresses of a device's registers. Return: what the path ends at, or 0.
 */
static u64 follow(const void *object, const struct fgio_uring_path *path)
{
	u64 at = path->steps ? (u64)object : 0;
	unsigned int i;

	for (i = 0; i < path->steps; i++)
		at = fgio_word_of(at, path->offset[i]);
	return at;
}

/*
 * The name may have been changed by a thread of the same process, so it must
 * lead to a thread of that process. Context: RCU.
 */
static struct task_struct *owner_of_poller(const struct task_struct *poller)
{
	char name[TASK_COMM_LEN];
	struct task_struct *task;
	pid_t tid;

	memcpy(name, poller->comm, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	if (!str_has_prefix(name, POLLER_PREFIX) ||
	    kstrtoint(name + strlen(POLLER_PREFIX), 10, &tid))
		return NULL;
	task = fgio_thread_of(tid);
	return task && same_thread_group(task, (struct task_struct *)poller) ?
		       task : NULL;
}

/*
 * Workers of a poller act for that poller's owner. Only the address of the
 * owner of a worker is used, unless the kernel's table of threads leads back to
 * it. Context: RCU.
 */
static struct task_struct *owner_of(const struct task_struct *thread)
{
	const void *worker = worker_of(thread);
	const struct task_struct *owner;

	if (!worker)
		return owner_of_poller(thread);
	/* The thread of its pool exists while the worker does. */
	owner = fgio_task_at(follow(worker, &fgio_uring_owner_of_worker));
	if (owner && is_uring_thread(owner))
		return owner_of_poller(owner);
	return (struct task_struct *)owner;
}

enum fgio_thread_tag fgio_uring_tag_of(struct task_struct *thread)
{
	struct task_struct *owner = NULL;
	enum fgio_thread_tag tag;

	rcu_read_lock();
	if (fgio_mechanism_on(FGIO_MECHANISM_URING))
		owner = owner_of(thread);
	tag = fgio_tag_of(owner ? owner : thread);
	rcu_read_unlock();
	return tag;
}

u64 fgio_uring_owner_of(struct task_struct *thread)
{
	struct task_struct *owner = NULL;

	rcu_read_lock();
	if (fgio_mechanism_on(FGIO_MECHANISM_URING))
		owner = owner_of(thread);
	rcu_read_unlock();
	return (u64)(owner ? owner : thread);
}

u64 fgio_uring_request_of(const struct task_struct *thread)
{
	u64 work = follow(worker_of(thread), &fgio_uring_work_of_worker);

	return work ? work - offsetof(struct io_kiocb, work) : 0;
}

u64 fgio_uring_poller_of(u64 ring)
{
	return follow((const void *)ring, &fgio_uring_poller_of_ring);
}

/* Entries come and go meanwhile: what was read is an address at worst. */
unsigned int fgio_uring_submitters_of(u64 ring,
				      u64 threads[FGIO_URING_SUBMITTERS])
{
	u64 head = ring + offsetof(struct io_ring_ctx, tctx_list);
	unsigned int count = 0;
	u64 entry;

	if (!FGIO_URING_TASK_IN_NODE)
		return 0;
	for (entry = fgio_word_of(head, 0);
	     entry && entry != head && count < FGIO_URING_SUBMITTERS;
	     entry = fgio_word_of(entry, 0))
		threads[count++] = fgio_word_of(entry, FGIO_URING_TASK_IN_NODE);
	return count;
}

u64 fgio_uring_ring_of(u64 request)
{
	return fgio_word_of(request, offsetof(struct io_kiocb, ctx));
}

static bool writes_or_syncs(u64 request)
{
	const struct io_kiocb *req = (const struct io_kiocb *)request;
	u8 opcode;

	if (!request || get_kernel_nofault(opcode, &req->opcode))
		return false;
	return opcode == IORING_OP_FSYNC || opcode == IORING_OP_WRITE ||
	       opcode == IORING_OP_WRITEV || opcode == IORING_OP_WRITE_FIXED;
}

u64 fgio_uring_file_of_current(void)
{
	u64 request = fgio_uring_request_of(current);

	if (!fgio_mechanism_on(FGIO_MECHANISM_URING) ||
	    !writes_or_syncs(request))
		return 0;
	return fgio_word_of(fgio_word_of(request, offsetof(struct io_kiocb, file)),
		      offsetof(struct file, f_mapping));
}
