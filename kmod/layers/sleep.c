// SPDX-License-Identifier: GPL-2.0
/*
 * Sleeps in futex(2), semop(2), io_uring_enter(2), io_getevents(2), flock(2),
 * fcntl(2), in calls that wait for other tasks' messages, and in nanosleep(2)
 * before a lock of a file is tried again: the sleeping tasks and their objects.
 *
 * Whole pools of threads idle there, and programs switch between threads there
 * all the time. So nothing is recorded for tasks that are not foreground, and
 * no function that sleeps is hooked for them: the object is read from the
 * registers of the task's system call, which do not change while it sleeps.
 *
 *	foreground tasks	when the scheduler takes them off a processor;
 *				the sleep ends when it runs them again
 *	other tasks		when the walk finds that one is in the way
 *
 * For other tasks the walk reads the stack of a task that may wake up, run and
 * end meanwhile. It reads without faulting, and uses the result only if the
 * task has not been on a processor in between, by its count of context
 * switches.
 */
#include <linux/bitfield.h>
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/syscall.h>
#include <asm/unistd.h>
#include <uapi/linux/futex.h>
#include <uapi/linux/io_uring.h>
#include <uapi/linux/sched.h>
#include <uapi/linux/wait.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "compat/compat.h"
#include "graph/wait.h"
#include "layers/child.h"
#include "layers/file_lock.h"
#include "layers/futex.h"
#include "layers/reply.h"
#include "layers/sleep.h"
#include "layers/sysvsem.h"
#include "layers/uring.h"
#include "who/foreground.h"
#include "who/presence.h"

/**
 * struct sleep - a task's sleep, by the arguments of its system call
 * @kind: FGIO_WAIT_*
 * @object: as in struct fgio_wait
 * @detail: as in struct fgio_wait
 */
struct sleep {
	u8 kind;
	u64 object;
	u64 detail;
};

/**
 * struct call - a system call that a task may sleep in
 * @task: the task: current, or lives under RCU
 * @mm: the task's
 * @arguments: as they were at entry
 * @is_compat: the call is of a 32-bit process
 */
struct call {
	struct task_struct *task;
	const struct mm_struct *mm;
	unsigned long arguments[6];
	bool is_compat;
};

static void sleep_on_futex(const struct call *call, u64 address,
			   enum fgio_futex_shape shape, bool shared, u32 count,
			   struct sleep *sleep)
{
	bool is_condition = shape == FGIO_SHAPE_NONE ||
			    shape == FGIO_SHAPE_VECTOR;

	sleep->kind = is_condition ? FGIO_WAIT_CONDITION : FGIO_WAIT_FUTEX;
	sleep->object = fgio_futex_object(call->mm, address);
	sleep->detail = (address & FGIO_FUTEX_ADDRESS) |
			FIELD_PREP(FGIO_FUTEX_COUNT, count) |
			FIELD_PREP(FGIO_FUTEX_SHAPE, shape) |
			(shared ? FGIO_FUTEX_IS_SHARED : 0);
}

/* glibc's layouts are those of 64-bit processes. */
static enum fgio_futex_shape shape_of_value(u32 value, bool shared,
					    bool is_compat)
{
	if (value & FUTEX_WAITERS && value & FUTEX_TID_MASK)
		return FGIO_SHAPE_OWNER_WORD;
	if (is_compat)
		return FGIO_SHAPE_NONE;
	if (value == FGIO_GLIBC_CONTENDED_MUTEX)
		return FGIO_SHAPE_MUTEX;
	if (value == FGIO_GLIBC_CONTENDED_RWLOCK)
		return FGIO_SHAPE_RWLOCK;
	/* The kernel wakes a joining thread, always by a shared futex. */
	return shared && value ? FGIO_SHAPE_JOIN : FGIO_SHAPE_NONE;
}

/* futex(uaddr, futex_op, val, ...). Return: whether the operation sleeps. */
static bool read_futex(const struct call *call, struct sleep *sleep)
{
	u32 operation = call->arguments[1];
	bool shared = !(operation & FUTEX_PRIVATE_FLAG);
	enum fgio_futex_shape shape;

	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		shape = shape_of_value(call->arguments[2], shared,
				       call->is_compat);
		break;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		shape = FGIO_SHAPE_OWNER_WORD;
		break;
	case FUTEX_WAIT_REQUEUE_PI:
		shape = FGIO_SHAPE_NONE;
		break;
	default:
		return false;
	}
	sleep_on_futex(call, call->arguments[0], shape, shared, 0, sleep);
	return true;
}

/* futex_waitv(waiters, nr_futexes, ...) */
static bool read_vector(const struct call *call, struct sleep *sleep)
{
	u32 count = min_t(u32, call->arguments[1], FGIO_FUTEX_VECTOR_MAX);

	sleep_on_futex(call, call->arguments[0], FGIO_SHAPE_VECTOR, false,
		       count, sleep);
	return true;
}

#ifdef __NR_futex_wait
/* futex_wait(uaddr, val, mask, flags, ...), since 6.7 */
static bool read_futex_wait(const struct call *call, struct sleep *sleep)
{
	bool shared = !(call->arguments[3] & FUTEX_PRIVATE_FLAG);
	enum fgio_futex_shape shape;

	shape = shape_of_value(call->arguments[1], shared, call->is_compat);
	sleep_on_futex(call, call->arguments[0], shape, shared, 0, sleep);
	return true;
}
#endif

/* semop(semid, sops, nsops), and semtimedop() */
static bool read_semop(const struct call *call, struct sleep *sleep)
{
	u32 count = min_t(u32, call->arguments[2], FGIO_SEMOP_MAX);

	sleep->kind = FGIO_WAIT_SYSV_SEMAPHORE;
	sleep->object = (call->arguments[1] & FGIO_SEMOP_ADDRESS) |
			FIELD_PREP(FGIO_SEMOP_COUNT, count);
	sleep->detail = (u32)call->arguments[0];
	return true;
}

/* io_uring_enter(fd, to_submit, min_complete, flags, ...) */
static bool read_ring(const struct call *call, struct sleep *sleep)
{
	u32 flags = call->arguments[3];

	if (!(flags & IORING_ENTER_GETEVENTS))
		return false;
	sleep->kind = FGIO_WAIT_URING;
	sleep->object = fgio_uring_of_call(call->task, call->arguments[0],
					   flags);
	return sleep->object;
}

/* io_getevents(context, min_nr, ...), and io_pgetevents() */
static bool read_completions(const struct call *call, struct sleep *sleep)
{
	sleep->kind = FGIO_WAIT_AIO;
	sleep->object = fgio_futex_object(call->mm, call->arguments[0]);
	sleep->detail = call->arguments[0];
	return fgio_mechanism_on(FGIO_MECHANISM_IO);
}

static bool sleep_on_lock(const struct call *call,
			  enum fgio_file_lock_request request, u64 address,
			  struct sleep *sleep)
{
	sleep->kind = FGIO_WAIT_FILE_LOCK;
	sleep->object = fgio_file_at(call->task, call->arguments[0]);
	sleep->detail = (address & FGIO_FILE_LOCK_ADDRESS) |
			FIELD_PREP(FGIO_FILE_LOCK_REQUEST, request);
	return sleep->object && fgio_mechanism_on(FGIO_MECHANISM_FILE_LOCKS);
}

/* flock(fd, operation) */
static bool read_flock(const struct call *call, struct sleep *sleep)
{
	u32 operation = call->arguments[1];

	if (operation & LOCK_NB || operation & LOCK_UN)
		return false;
	return sleep_on_lock(call, operation & LOCK_EX ?
					   FGIO_FLOCK_EXCLUSIVE :
					   FGIO_FLOCK_SHARED, 0, sleep);
}

/* fcntl(fd, command, ...) */
static bool read_fcntl(const struct call *call, struct sleep *sleep)
{
	switch ((u32)call->arguments[1]) {
	case F_SETLKW:
		return sleep_on_lock(call, FGIO_POSIX_LOCK, call->arguments[2],
				     sleep);
	case F_OFD_SETLKW:
		return sleep_on_lock(call, FGIO_OFD_LOCK, call->arguments[2],
				     sleep);
	default:
		return false;
	}
}

/* nanosleep(time, ...), clock_nanosleep(clock, ...) */
static bool read_timer(const struct call *call, struct sleep *sleep)
{
	sleep->kind = FGIO_WAIT_FILE_LOCK;
	sleep->object = fgio_file_lock_refused(call->task);
	sleep->detail = FIELD_PREP(FGIO_FILE_LOCK_REQUEST, FGIO_LOCK_REFUSED);
	return sleep->object && fgio_mechanism_on(FGIO_MECHANISM_FILE_LOCKS);
}

static bool sleep_for_reply(u64 object, struct sleep *sleep)
{
	sleep->kind = FGIO_WAIT_REPLY;
	sleep->object = object;
	return object && fgio_mechanism_on(FGIO_MECHANISM_REPLIES);
}

/* read(fd, ...), accept(fd, ...), epoll_wait(fd, ...) and their kin */
static bool read_from_file(const struct call *call, struct sleep *sleep)
{
	return sleep_for_reply(fgio_reply_object(call->task,
						 call->arguments[0]), sleep);
}

/*
 * Calls that wait for several files, or for none: select(), msgrcv(), open() of a
 * pipe whose other end is not open.
 */
static bool read_from_any(const struct call *call, struct sleep *sleep)
{
	return sleep_for_reply((u64)call->task, sleep);
}

/* connect(fd, ...): the socket is a new one each time, the thread is not. */
static bool read_connect(const struct call *call, struct sleep *sleep)
{
	return fgio_reply_object(call->task, call->arguments[0]) &&
	       sleep_for_reply((u64)call->task, sleep);
}

/* poll(fds, nfds, ...), and ppoll() */
static bool read_poll(const struct call *call, struct sleep *sleep)
{
	u32 count = min_t(unsigned long, call->arguments[1], FGIO_POLLED_MAX);

	sleep->detail = (call->arguments[0] & FGIO_POLLED_ADDRESS) |
			FIELD_PREP(FGIO_POLLED_COUNT, count);
	return sleep_for_reply((u64)call->task, sleep);
}

static bool sleep_for_child(const struct call *call, u64 detail,
			    struct sleep *sleep)
{
	sleep->kind = FGIO_WAIT_CHILD;
	sleep->object = (u64)call->task;
	sleep->detail = detail;
	return fgio_mechanism_on(FGIO_MECHANISM_REPLIES);
}

/* wait4(pid, ...) */
static bool read_wait4(const struct call *call, struct sleep *sleep)
{
	return sleep_for_child(call, max_t(s32, call->arguments[0], 0), sleep);
}

/* waitid(which, pid, ...) */
static bool read_waitid(const struct call *call, struct sleep *sleep)
{
	pid_t tid;

	switch ((s32)call->arguments[0]) {
	case P_PID:
		return sleep_for_child(call, (u32)call->arguments[1], sleep);
	case P_PIDFD:
		tid = fgio_child_of_file(call->task, call->arguments[1]);
		return tid && sleep_for_child(call, FGIO_CHILD_BY_FILE | tid,
					      sleep);
	default:
		return sleep_for_child(call, 0, sleep);
	}
}

/* vfork(), clone(flags, ...), clone3(...), whose flags are in memory */
static bool read_vfork(const struct call *call, struct sleep *sleep)
{
	return sleep_for_child(call, FGIO_CHILD_VFORKED, sleep);
}

static bool read_clone(const struct call *call, struct sleep *sleep)
{
	return call->arguments[0] & CLONE_VFORK && read_vfork(call, sleep);
}

typedef bool (*read_fn)(const struct call *call, struct sleep *sleep);

/* Return: the reader of this system call; NULL when it has none. */
static read_fn reader_of(int number, bool is_compat)
{
	if (is_compat)
		return fgio_is_compat_futex(number) ? read_futex : NULL;
	switch (number) {
	case __NR_futex:
		return read_futex;
	case __NR_futex_waitv:
		return read_vector;
#ifdef __NR_futex_wait
	case __NR_futex_wait:
		return read_futex_wait;
#endif
	case __NR_io_uring_enter:
		return read_ring;
	case __NR_io_getevents:
	case __NR_io_pgetevents:
		return read_completions;
	case __NR_flock:
		return read_flock;
	case __NR_fcntl:
		return read_fcntl;
	case __NR_nanosleep:
	case __NR_clock_nanosleep:
		return read_timer;
	case __NR_semop:
	case __NR_semtimedop:
		return read_semop;
	case __NR_read:
	case __NR_readv:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_write:
	case __NR_writev:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendmmsg:
	case __NR_mq_timedreceive:
	case __NR_mq_timedsend:
	case __NR_splice:
	case __NR_tee:
	case __NR_vmsplice:
	case __NR_sendfile:
	case __NR_accept:
	case __NR_accept4:
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
		return read_from_file;
	case __NR_connect:
		return read_connect;
	case __NR_poll:
	case __NR_ppoll:
		return read_poll;
	case __NR_select:
	case __NR_pselect6:
	case __NR_msgrcv:
	case __NR_msgsnd:
	case __NR_pause:
	case __NR_rt_sigsuspend:
	case __NR_rt_sigtimedwait:
	case __NR_open:
	case __NR_creat:
	case __NR_openat:
	case __NR_openat2:
		return read_from_any;
	case __NR_wait4:
		return read_wait4;
	case __NR_waitid:
		return read_waitid;
	case __NR_clone:
		return read_clone;
	case __NR_clone3:
	case __NR_vfork:
		return read_vfork;
	default:
		return NULL;
	}
}

static read_fn reader_in(struct task_struct *task, struct pt_regs *registers)
{
	return reader_of(syscall_get_nr(task, registers),
			 fgio_is_compat_call(task));
}

/* Return: whether a task whose system call has these registers sleeps in it. */
static bool read_call(struct task_struct *task, struct pt_regs *registers,
		      struct sleep *sleep)
{
	struct call call = {
		.task = task,
		.mm = READ_ONCE(task->mm),
		.is_compat = fgio_is_compat_call(task),
	};
	read_fn read = reader_in(task, registers);

	if (!read)
		return false;
	syscall_get_arguments(task, registers, call.arguments);
	return read(&call, sleep);
}

/*
 * It sleeps for its request (fuse.c), for its fault to be handled (event.c) or for
 * a lease (file_lock.c), in whichever system call it met that.
 */
static bool is_on_the_way(const struct task_struct *task)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count;

	if (likely(!fgio_wait_has_any()))
		return false;
	count = fgio_wait_copy_of((u64)task, waits, NULL);
	return count && (waits[count - 1].kind == FGIO_WAIT_FUSE ||
			 waits[count - 1].kind == FGIO_WAIT_EVENT ||
			 waits[count - 1].kind == FGIO_WAIT_LEASE);
}

static bool is_user_thread(const struct task_struct *task)
{
	return task->mm && !(READ_ONCE(task->flags) &
			     (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

/*
 * Whether a sleep in this state may be that for which a system call was made.
 * Sleeps for memory and locks on the way are not interruptible, nor are those of
 * parents in vfork(2), which end by fatal signals alone.
 */
static bool may_be_for_call(read_fn read, unsigned int state)
{
	return state & TASK_INTERRUPTIBLE ||
	       ((state & TASK_KILLABLE) == TASK_KILLABLE &&
		(read == read_vfork || read == read_clone));
}

/* A task, which is current, is about to sleep. Context: the scheduler's. */
static noinline void fall_asleep(struct task_struct *task, unsigned int state)
{
	struct pt_regs *registers = task_pt_regs(task);
	struct sleep sleep = {};
	read_fn read;

	if (!fgio_waits_matter() || !is_user_thread(task))
		return;
	read = reader_in(task, registers);
	if (read && may_be_for_call(read, state) &&
	    fgio_current_serves_requests() && !is_on_the_way(task) &&
	    read_call(task, registers, &sleep))
		fgio_sleep_enter(sleep.kind, sleep.object, sleep.detail);
}

/*
 * All threads come here, and few of them pass the first conditions. Context:
 * the run queue's lock is held and interrupts are off: no code here may wake a
 * task, start a timer, or read memory that may fault.
 */
static void on_sched_switch(void *data, bool preempt, struct task_struct *prev,
			    struct task_struct *next, unsigned int prev_state)
{
	if (!preempt && prev_state & (TASK_INTERRUPTIBLE | TASK_WAKEKILL) &&
	    unlikely(fgio_may_serve_requests(prev)))
		fall_asleep(prev, prev_state);
	if (!(next->flags & PF_KTHREAD) &&
	    unlikely(fgio_wait_may_be_root(next)))
		fgio_sleep_leave(next);
}

static struct fgio_hook hooks[] = {
	{
		.name = "sched_switch",
		.mechanism = FGIO_MECHANISM_USER,
		.tracepoint = on_sched_switch,
	},
	{}
};

/*
 * The stack may be another task's by now, or no task's: the registers count if
 * this task still is in the same sleep.
 */
static bool read_sleep(struct task_struct *task, struct sleep *sleep, u32 *seq)
{
	struct pt_regs registers;

	*seq = fgio_sleep_seq(task);
	if (!*seq || !is_user_thread(task))
		return false;
	/* The registers are read between the two reads of the seq. */
	smp_rmb();
	if (copy_from_kernel_nofault(&registers, task_pt_regs(task),
				     sizeof(registers)))
		return false;
	/* As above. */
	smp_rmb();
	return fgio_sleep_seq(task) == *seq && read_call(task, &registers, sleep);
}

static bool is_futex(read_fn read)
{
#ifdef __NR_futex_wait
	if (read == read_futex_wait)
		return true;
#endif
	return read == read_futex || read == read_vector;
}

/* Both futexes of a condition variable are one place, as one object. */
static u64 place_in(struct task_struct *task, struct pt_regs *registers,
		    bool is_futex_call)
{
	unsigned long arguments[6];

	syscall_get_arguments(task, registers, arguments);
	if (is_futex_call)
		arguments[0] &= ~7UL;
	return hash_64(arguments[0], 64) ^ syscall_get_nr(task, registers);
}

u64 fgio_sleep_place(struct task_struct *task, bool *for_condition)
{
	struct pt_regs registers;
	struct sleep sleep = {};
	bool futex;

	*for_condition = false;
	if (!is_user_thread(task) ||
	    copy_from_kernel_nofault(&registers, task_pt_regs(task),
				     sizeof(registers)))
		return 0;
	/* Those of other calls look at files. */
	futex = is_futex(reader_in(task, &registers));
	*for_condition = futex && read_call(task, &registers, &sleep) &&
			 sleep.kind == FGIO_WAIT_CONDITION;
	return place_in(task, &registers, futex);
}

bool fgio_sleep_of(u64 task, struct fgio_wait *wait)
{
	struct task_struct *sleeper;
	struct sleep sleep = {};
	bool found;
	u32 seq;

	rcu_read_lock();
	sleeper = fgio_task_at(task);
	found = sleeper && read_sleep(sleeper, &sleep, &seq);
	if (found)
		*wait = (struct fgio_wait){
			.object = sleep.object,
			.detail = sleep.detail,
			.seq = seq,
			.kind = sleep.kind,
		};
	rcu_read_unlock();
	return found;
}

const struct fgio_layer fgio_sleep_layer = {
	.name = "sleep",
	.mechanism = FGIO_MECHANISM_USER,
	.hooks = hooks,
	.unrecorded = fgio_sleep_of,
};
