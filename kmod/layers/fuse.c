// SPDX-License-Identifier: GPL-2.0
/*
 * FUSE: waits for a request of a file system whose daemon is in user space. In
 * the way is the thread of the daemon that works on it.
 *
 *	request_wait_answer	the request's answer: lookups, reads, writes,
 *				fsyncs, whatever the task asked for itself
 *	fuse_get_req		room for a request in the background, such as
 *				reading ahead
 *	fuse_set_nowrite	the answers to all writes of a file: fsync, with
 *				the daemon's cache for writes
 *	fuse_direct_IO		the requests of direct I/O, which go out together
 *
 * Pages that are read ahead are waited for as all pages (io.c), which asks here.
 *
 * Two hooks tell of the daemon's threads, whatever it reads requests by:
 *
 *	fuse_copy_args		a thread takes a request
 *	fuse_request_end	it is answered, or given up
 *
 * All are real functions in 6.1 and 6.12. A thread counts as working on the
 * request that it took last, until that ends: exact where each thread answers
 * before it takes the next one, as those of libfuse do. A daemon may have a
 * thread that takes requests for others: it sleeps for the next one, and the
 * threads of its process are guessed that sleep for I/O or a lock of the kernel.
 *
 * Left out:
 *	direct I/O of libaio and io_uring.
 *	requests that a daemon takes through io_uring (6.14).
 *	virtiofs: its daemon is another machine's.
 */
#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/sched.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "compat/fuse.h"
#include "graph/probe.h"
#include "graph/wait.h"
#include "layers/fuse.h"
#include "layers/fuse_object.h"
#include "layers/server.h"
#include "who/presence.h"

/* In the detail of FGIO_WAIT_FUSE: the object's type. */
enum fuse_wait {
	FOR_REQUEST,
	FOR_ROOM,
	FOR_FILE,
};

/* --- hooks ----------------------------------------------------------------- */

static u64 argument(struct pt_regs *regs, unsigned int number)
{
	return regs_get_kernel_argument(regs, number);
}

/* Called for answers, too. What is copied is on the caller's stack. */
static int on_copy(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct fgio_fuse_object request;
	u64 copy = argument(regs, 0);

	if (fgio_waits_matter() &&
	    (u32)fgio_peek_word((void *)(copy + FGIO_FUSE_COPY_TO_DAEMON)) &&
	    fgio_fuse_read_request(fgio_peek_word((void *)(copy +
						FGIO_FUSE_COPY_REQUEST)),
				   &request) &&
	    request.number)
		fgio_server_took(current, request.connection, request.node,
				 request.number);
	return 1;
}

static int on_end(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct fgio_fuse_object request;

	if (fgio_waits_matter() &&
	    fgio_fuse_read_request(argument(regs, 0), &request) &&
	    request.number)
		fgio_server_ended(request.connection, request.number);
	return 1;
}

static int on_wait_for_answer(struct kretprobe_instance *instance,
			      struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FUSE, argument(regs, 0),
			       FOR_REQUEST);
}

/* Called for each request. The mount's connection stays meanwhile. */
static int on_get_request(struct kretprobe_instance *instance,
			  struct pt_regs *regs)
{
	u64 connection;

	if (!fgio_waits_matter() ||
	    !(u8)argument(regs, FGIO_FUSE_GET_REQ_MOUNT + 1))
		return 1;
	connection = fgio_fuse_connection_of(
		argument(regs, FGIO_FUSE_GET_REQ_MOUNT));
	if (!fgio_fuse_is_blocked(connection))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FUSE, connection, FOR_ROOM);
}

/* Called for each fsync. */
static int on_wait_for_writes(struct kretprobe_instance *instance,
			      struct pt_regs *regs)
{
	u64 inode = argument(regs, 0);

	if (!fgio_waits_matter() || !fgio_fuse_writes(inode))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FUSE, inode, FOR_FILE);
}

/* The caller has the file open. */
static int on_direct(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct kiocb *iocb = (struct kiocb *)argument(regs, 0);

	if (!fgio_waits_matter() || !is_sync_kiocb(iocb))
		return 1;
	return fgio_hook_enter(instance, FGIO_WAIT_FUSE,
			       (u64)file_inode(iocb->ki_filp), FOR_FILE);
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("fuse:fuse_request_end", REPLIES, on_end, NULL),
	FGIO_HOOK("fuse:fuse_copy_args", REPLIES, on_copy, NULL,
		  .ended_by = "fuse:fuse_request_end"),
	FGIO_HOOK("fuse:request_wait_answer", REPLIES, on_wait_for_answer,
		  fgio_hook_leave),
	FGIO_HOOK("fuse:fuse_get_req", REPLIES, on_get_request,
		  fgio_hook_leave),
	FGIO_HOOK("fuse:fuse_set_nowrite", REPLIES, on_wait_for_writes,
		  fgio_hook_leave),
	FGIO_HOOK("fuse:fuse_direct_IO", REPLIES, on_direct, fgio_hook_leave),
	{}
};

/* --- blockers -------------------------------------------------------------- */

static void find_any(const struct fgio_walk_step *step,
		     const struct fgio_fuse_object *object)
{
	if (!fgio_servers_find(step, object->connection, object->node) &&
	    !fgio_servers_find(step, object->connection, 0))
		fgio_servers_guess(step, object->connection);
}

static void find_for_request(const struct fgio_walk_step *step,
			     struct fgio_fuse_object *request)
{
	if (fgio_server_find(step, request->connection, request->number))
		return;
	if (!request->is_pending) {
		fgio_servers_guess(step, request->connection);
		return;
	}
	request->node = 0;
	find_any(step, request);
}

/* Return: whether the wait goes on, and its object leads to a connection. */
static bool read_object(const struct fgio_walk_step *step,
			struct fgio_fuse_object *object)
{
	u64 address = step->wait->object;
	unsigned long flags;
	bool found = false;

	if (!fgio_wait_hold(step->task, step->wait->seq, &flags))
		return false;
	switch (step->wait->detail) {
	case FOR_REQUEST:
		found = fgio_fuse_read_request(address, object);
		break;
	case FOR_ROOM:
		*object = (struct fgio_fuse_object){ .connection = address };
		found = true;
		break;
	case FOR_FILE:
		found = fgio_fuse_read_inode(address, object);
		break;
	}
	fgio_wait_release(step->task, flags);
	return found;
}

/* The innermost wait is for one request, and more is known of it. */
static bool is_innermost(const struct fgio_walk_step *step)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count = fgio_wait_copy_of(step->task, waits, NULL);

	return count && waits[count - 1].seq == step->wait->seq;
}

static void blockers(const struct fgio_walk_step *step)
{
	struct fgio_fuse_object object;

	if (!is_innermost(step) || !read_object(step, &object))
		return;
	if (step->wait->detail == FOR_REQUEST)
		find_for_request(step, &object);
	else
		find_any(step, &object);
}

bool fgio_fuse_find_servers(const struct fgio_walk_step *step, u64 mapping)
{
	struct fgio_fuse_object object;

	if (!FGIO_FUSE_KNOWN || !fgio_mechanism_on(FGIO_MECHANISM_REPLIES) ||
	    !fgio_fuse_read_mapping(mapping, &object))
		return false;
	find_any(step, &object);
	return true;
}

const struct fgio_layer fgio_fuse_layer = {
	.name = "FUSE",
	.mechanism = FGIO_MECHANISM_REPLIES,
	.kinds = BIT_ULL(FGIO_WAIT_FUSE),
	.hooks = FGIO_FUSE_KNOWN ? hooks : NULL,
	.blockers = blockers,
	.forget = fgio_servers_forget,
};
