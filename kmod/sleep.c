// SPDX-License-Identifier: GPL-2.0
/*
 * Which tasks sleep in futex(2), and for what.
 *
 * Whole pools of threads idle there, and their programs pass from one to the
 * other there all the time. So nothing is recorded for tasks that are not
 * foreground, and no function of the kernel's futexes is hooked for them: what
 * a task sleeps for is read from the registers of its system call, which stay
 * as they are while it sleeps.
 *
 *	foreground tasks	when the scheduler takes them off a processor;
 *				the sleep ends when it runs them again
 *	other tasks		when the walk finds that one is in the way
 *
 * Of others the walk reads the stack of a task that may wake up, run and end
 * meanwhile. It reads without faulting, and believes what it read if the task
 * has not been on a processor in between: it counts its switches.
 */
#include <linux/bitfield.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/uaccess.h>
#include <asm/syscall.h>
#include <asm/unistd.h>
#include <uapi/linux/futex.h>

#include "compat/compat.h"
#include "futex.h"
#include "inherit.h"
#include "wait.h"

struct sleep {
	u64 address;
	enum fgio_futex_shape shape;
	u32 count;
	bool shared;
};

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
	/* The kernel wakes who joins a thread, always by a shared futex. */
	return shared && value ? FGIO_SHAPE_JOIN : FGIO_SHAPE_NONE;
}

/* futex(uaddr, futex_op, val, ...). Return: whether it sleeps at all. */
static bool read_futex(const unsigned long *arguments, bool is_compat,
		       struct sleep *sleep)
{
	u32 operation = arguments[1];

	sleep->address = arguments[0];
	sleep->shared = !(operation & FUTEX_PRIVATE_FLAG);
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		sleep->shape = shape_of_value(arguments[2], sleep->shared,
					      is_compat);
		return true;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		sleep->shape = FGIO_SHAPE_OWNER_WORD;
		return true;
	case FUTEX_WAIT_REQUEUE_PI:
		sleep->shape = FGIO_SHAPE_NONE;
		return true;
	default:
		return false;
	}
}

/* futex_waitv(waiters, nr_futexes, ...) */
static bool read_vector(const unsigned long *arguments, struct sleep *sleep)
{
	sleep->address = arguments[0];
	sleep->shape = FGIO_SHAPE_VECTOR;
	sleep->count = min_t(u32, arguments[1], FGIO_FUTEX_VECTOR_MAX);
	sleep->shared = false;
	return true;
}

/* futex_wait(uaddr, val, mask, flags, ...), since 6.7 */
static bool read_futex_wait(const unsigned long *arguments, bool is_compat,
			    struct sleep *sleep)
{
	sleep->address = arguments[0];
	sleep->shared = !(arguments[3] & FUTEX_PRIVATE_FLAG);
	sleep->shape = shape_of_value(arguments[1], sleep->shared, is_compat);
	return true;
}

enum call { CALL_NONE, CALL_FUTEX, CALL_WAITV, CALL_WAIT };

static enum call call_of(int number, bool is_compat)
{
	if (is_compat)
		return fgio_is_compat_futex(number) ? CALL_FUTEX : CALL_NONE;
	switch (number) {
	case __NR_futex:
		return CALL_FUTEX;
	case __NR_futex_waitv:
		return CALL_WAITV;
#ifdef __NR_futex_wait
	case __NR_futex_wait:
		return CALL_WAIT;
#endif
	default:
		return CALL_NONE;
	}
}

static enum call call_in(struct task_struct *task, struct pt_regs *registers)
{
	return call_of(syscall_get_nr(task, registers),
		       fgio_is_compat_call(task));
}

/* Return: whether a task whose system call has these registers sleeps in it. */
static bool read_call(struct task_struct *task, struct pt_regs *registers,
		      struct sleep *sleep)
{
	bool is_compat = fgio_is_compat_call(task);
	unsigned long arguments[6];

	syscall_get_arguments(task, registers, arguments);
	switch (call_in(task, registers)) {
	case CALL_FUTEX:
		return read_futex(arguments, is_compat, sleep);
	case CALL_WAITV:
		return read_vector(arguments, sleep);
	case CALL_WAIT:
		return read_futex_wait(arguments, is_compat, sleep);
	default:
		return false;
	}
}

static bool is_user_thread(const struct task_struct *task)
{
	return task->mm && !(READ_ONCE(task->flags) &
			     (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

static u8 kind_of(const struct sleep *sleep)
{
	return sleep->shape == FGIO_SHAPE_NONE ||
			       sleep->shape == FGIO_SHAPE_VECTOR ?
		       FGIO_WAIT_CONDITION :
		       FGIO_WAIT_FUTEX;
}

static u64 detail_of(const struct sleep *sleep)
{
	return (sleep->address & FGIO_FUTEX_ADDRESS) |
	       FIELD_PREP(FGIO_FUTEX_COUNT, sleep->count) |
	       FIELD_PREP(FGIO_FUTEX_SHAPE, sleep->shape) |
	       (sleep->shared ? FGIO_FUTEX_IS_SHARED : 0);
}

/* Context: as fall_asleep(). */
static noinline void note_sleep(struct task_struct *task,
				struct pt_regs *registers)
{
	struct sleep sleep = {};

	if (read_call(task, registers, &sleep))
		fgio_sleep_enter(kind_of(&sleep),
				 fgio_futex_object(task->mm, sleep.address),
				 detail_of(&sleep));
}

/*
 * A task, which is current, is about to sleep. All threads come here, and few of
 * them get past the first questions. Context: the scheduler's.
 */
static void fall_asleep(struct task_struct *task)
{
	struct pt_regs *registers = task_pt_regs(task);

	if (is_user_thread(task) && call_in(task, registers) != CALL_NONE &&
	    fgio_current_serves_requests())
		note_sleep(task, registers);
}

/*
 * Context: the run queue's lock is held and interrupts are off, so that nothing
 * here wakes a task, starts a timer, or reads memory that may fault.
 */
static void on_sched_switch(void *data, bool preempt, struct task_struct *prev,
			    struct task_struct *next, unsigned int prev_state)
{
	if (!fgio_waits_matter())
		return;
	/* Sleeps for memory and locks on the way are not interruptible. */
	if (!preempt && prev_state & TASK_INTERRUPTIBLE)
		fall_asleep(prev);
	if (!(next->flags & PF_KTHREAD))
		fgio_sleep_leave(next);
}

struct fgio_hook fgio_sleep_hooks[] = {
	{
		.name = "sched_switch",
		.mechanism = FGIO_MECHANISM_USER,
		.tracepoint = on_sched_switch,
	},
	{}
};

/*
 * Names a sleep among those of its task: by how often it left a processor.
 * Return: 0 when it does not sleep interruptibly, or is gone. Context: any but
 * NMI; the task need not exist.
 */
static u32 seq_of(const struct task_struct *task)
{
	unsigned long by_itself, by_others;
	unsigned int state;

	if (get_kernel_nofault(state, &task->__state) ||
	    !(state & TASK_INTERRUPTIBLE) ||
	    get_kernel_nofault(by_itself, &task->nvcsw) ||
	    get_kernel_nofault(by_others, &task->nivcsw))
		return 0;
	return FGIO_SEQ_OUTSIDE | (u32)(by_itself + by_others);
}

/*
 * Whether a task is still in the sleep that fgio_sleep_of() found. One that took
 * the place of a task which ended has the same number by accident alone, and
 * then is taken for it until the next walk.
 */
bool fgio_sleep_goes_on(u64 task, u32 seq)
{
	return seq_of((const struct task_struct *)task) == seq;
}

/*
 * The stack may be another task's by now, or nobody's: what was read counts if
 * this task has slept on.
 */
static bool read_sleep(struct task_struct *task, struct sleep *sleep, u32 *seq)
{
	struct pt_regs registers;

	*seq = seq_of(task);
	if (!*seq || !is_user_thread(task))
		return false;
	/* The registers are read between two looks at the task. */
	smp_rmb();
	if (copy_from_kernel_nofault(&registers, task_pt_regs(task),
				     sizeof(registers)))
		return false;
	/* With the one above. */
	smp_rmb();
	return seq_of(task) == *seq && read_call(task, &registers, sleep);
}

/**
 * fgio_sleep_of() - what a task sleeps for in futex(2) that nobody recorded
 * @task: who
 * @wait: out: the wait; its seq has FGIO_SEQ_OUTSIDE
 *
 * Return: whether it does. Context: the walk's thread.
 */
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
			.object = fgio_futex_object(READ_ONCE(sleeper->mm),
						    sleep.address),
			.detail = detail_of(&sleep),
			.seq = seq,
			.kind = kind_of(&sleep),
		};
	rcu_read_unlock();
	return found;
}

/* Return: a task that sleeps on, with a reference, or NULL. */
struct task_struct *fgio_sleeper_get(u64 task, u32 seq)
{
	struct task_struct *sleeper;

	rcu_read_lock();
	sleeper = fgio_task_at(task);
	if (sleeper && fgio_wait_is_on(task, seq))
		get_task_struct(sleeper);
	else
		sleeper = NULL;
	rcu_read_unlock();
	return sleeper;
}
