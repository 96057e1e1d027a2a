// SPDX-License-Identifier: GPL-2.0
/*
 * Questions: a message, or a condition that is signalled, wakes the task that
 * waits for it. That task was asked, and the one that asked it is likely to wait
 * for its answer next:
 *
 *	a message over a socket		the next wait for the same socket, whichever
 *					thread of the program waits there
 *	any message, any condition	the next sleep of the thread that asked, for
 *					any message or condition; and of those after
 *					that, those for which no answer is known
 *
 * The registers of the system call say what current sends. So what it wakes in
 * other calls, as by a lock or a signal, was asked nothing; nor what waits for a
 * lock and not for a condition, as its own registers say. A task that sleeps again
 * where the question found it is done. Of those that wake in one call, a socket has
 * the last one.
 *
 * A semaphore looks like a condition, so that a task which waited for it as for a
 * lock was "asked", too.
 *
 * Left out:
 *	a task that is busy when the question comes: nothing wakes it.
 *	a task to which the one that was asked hands the question on.
 *	messages that io_uring sends, semop(2), signals, 32-bit programs.
 *	answers that another thread of the program waits for, but over a socket.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>

#include <asm/syscall.h>
#include <asm/unistd.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/mechanism.h"
#include "base/scale.h"
#include "base/waker.h"
#include "compat/compat.h"
#include "core/questions.h"
#include "graph/found.h"
#include "graph/walk.h"
#include "layers/delivery.h"
#include "layers/question.h"
#include "layers/sleep.h"
#include "who/foreground.h"
#include "who/tag.h"

/* --- over a socket --------------------------------------------------------- */

/**
 * struct question - the last one over a socket
 * @file: the socket's address; compared, never followed
 * @asked: the identity of the task that it woke
 * @at_ns: when
 *
 * Without locks or atomic operations: at worst a task is guessed that was asked
 * over another socket.
 */
struct question {
	u64 file;
	u64 asked;
	u64 at_ns;
};

static struct question questions[1 << FGIO_QUESTION_BITS];

static struct question *question_over(u64 file)
{
	return &questions[hash_64(file, FGIO_QUESTION_BITS)];
}

static void note_over(u64 file, u64 asked)
{
	struct question *question = question_over(file);

	WRITE_ONCE(question->file, 0);
	WRITE_ONCE(question->asked, asked);
	WRITE_ONCE(question->at_ns, ktime_get_mono_fast_ns());
	/* Pairs with fgio_question_asked(), which reads the file first. */
	smp_store_release(&question->file, file);
}

u64 fgio_question_asked(u64 file)
{
	const struct question *question = question_over(file);

	/* Pairs with note_over(). */
	if (!file || smp_load_acquire(&question->file) != file ||
	    ktime_get_mono_fast_ns() - READ_ONCE(question->at_ns) >
		    fgio_waker_window_ns())
		return 0;
	return READ_ONCE(question->asked);
}

/* --- of a task --------------------------------------------------------------- */

/**
 * struct asker - the last questions of a task
 * @lock: a leaf, as those of base/waker.c
 * @questions: by its identity
 */
struct asker {
	raw_spinlock_t lock;
	struct fgio_questions questions;
} ____cacheline_aligned;

static struct asker askers[1 << FGIO_ASKER_BITS];

static struct asker *asker_of(u64 identity)
{
	return &askers[hash_64(identity, FGIO_ASKER_BITS)];
}

/* @place: where @asked sleeps. */
static void note_by_current(u64 asked, u64 place)
{
	u64 identity = fgio_identity_of(current);
	struct asker *asker = asker_of(identity);
	struct fgio_question question = {
		.asked = asked,
		.at_ns = ktime_get_mono_fast_ns(),
		.sleeps = current->nvcsw,
		.place = place,
	};
	unsigned long flags;

	raw_spin_lock_irqsave(&asker->lock, flags);
	fgio_questions_note(&asker->questions, identity, &question);
	raw_spin_unlock_irqrestore(&asker->lock, flags);
}

static u32 list_of(u64 identity, u64 sleeps, bool known,
		   struct fgio_question list[FGIO_QUESTIONS])
{
	u64 since_ns = ktime_get_mono_fast_ns() - fgio_waker_window_ns();
	struct asker *asker = asker_of(identity);
	unsigned long flags;
	u32 count;

	raw_spin_lock_irqsave(&asker->lock, flags);
	count = fgio_questions_list(&asker->questions, identity, sleeps, known,
				    since_ns, list);
	raw_spin_unlock_irqrestore(&asker->lock, flags);
	return count;
}

/* It waits for the next question, where the last one found it. Context: RCU. */
static bool is_done(struct task_struct *task, u64 place)
{
	bool for_condition;

	return READ_ONCE(task->__state) & TASK_INTERRUPTIBLE &&
	       fgio_sleep_place(task, &for_condition) == place;
}

static void guess(const struct fgio_walk_step *step,
		  const struct fgio_question *question)
{
	struct task_struct *task;
	u64 key = 0;

	rcu_read_lock();
	task = fgio_task_of(question->asked);
	if (task && !is_done(task, question->place))
		key = fgio_walk_name(task);
	rcu_read_unlock();
	fgio_walk_guessed(step->walk, key);
}

void fgio_question_find(const struct fgio_walk_step *step, bool known)
{
	struct fgio_question list[FGIO_QUESTIONS];
	struct task_struct *task;
	u64 identity, sleeps;
	u32 count, i;

	if (!fgio_mechanism_on(FGIO_MECHANISM_REPLIES))
		return;
	rcu_read_lock();
	task = fgio_task_at(step->task);
	identity = task ? fgio_identity_of(task) : 0;
	sleeps = task ? READ_ONCE(task->nvcsw) : 0;
	rcu_read_unlock();
	count = identity ? list_of(identity, sleeps, known, list) : 0;
	for (i = 0; i < count; i++)
		guess(step, &list[i]);
}

int fgio_question_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(askers); i++)
		raw_spin_lock_init(&askers[i].lock);
	return 0;
}

/* --- what asks ---------------------------------------------------------------- */

/*
 * A thread of a program, idle: not one that sleeps for a lock of the kernel. A
 * foreground thread needs no help, and what it waits for is followed anyway.
 */
static bool may_answer(struct task_struct *task)
{
	return READ_ONCE(task->__state) & TASK_INTERRUPTIBLE &&
	       !(READ_ONCE(task->flags) &
		 (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) &&
	       fgio_tag_of(task) != FGIO_THREAD_FOREGROUND;
}

enum call {
	CALL_OTHER,
	/* A message, if the file that is the first argument carries any. */
	CALL_WRITES,
	/* A message in any case. */
	CALL_SENDS,
	CALL_FUTEX,
};

static enum call call_of_current(struct pt_regs *registers)
{
	if (fgio_is_compat_call(current))
		return CALL_OTHER;
	switch (syscall_get_nr(current, registers)) {
	case __NR_connect:
	case __NR_write:
	case __NR_writev:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendmmsg:
	case __NR_sendfile:
		return CALL_WRITES;
	case __NR_mq_timedsend:
	case __NR_msgsnd:
	case __NR_splice:
	case __NR_tee:
	case __NR_vmsplice:
		return CALL_SENDS;
	case __NR_futex:
#ifdef __NR_futex_wake
	case __NR_futex_wake:
	case __NR_futex_requeue:
#endif
		return CALL_FUTEX;
	default:
		return CALL_OTHER;
	}
}

/*
 * A pipe, a socket, or an eventfd, whose inode has no type. A write to another file
 * may wake those that watch it, who were asked nothing.
 */
static bool carries_messages(umode_t mode)
{
	return S_ISFIFO(mode) || S_ISSOCK(mode) || !(mode & S_IFMT);
}

/* @task is woken by what the current task writes to a file. */
static void note_write(struct pt_regs *registers, struct task_struct *task,
		       u64 place)
{
	unsigned long arguments[6];
	const struct file *file;
	umode_t mode;

	syscall_get_arguments(current, registers, arguments);
	file = (const struct file *)fgio_file_at(current, arguments[0]);
	if (!fgio_file_mode(file, &mode) || !carries_messages(mode))
		return;
	note_by_current(fgio_identity_of(task), place);
	if (S_ISSOCK(mode) && fgio_socket_is_local(file))
		note_over((u64)file, fgio_identity_of(task));
}

void fgio_question_note(struct task_struct *task)
{
	struct pt_regs *registers = task_pt_regs(current);
	bool for_condition;
	enum call call;
	u64 place;

	/* Most calls that wake tasks ask nothing: that is told first. */
	call = call_of_current(registers);
	if (call == CALL_OTHER || !may_answer(task) ||
	    !fgio_current_serves_requests())
		return;
	place = fgio_sleep_place(task, &for_condition);
	if (call == CALL_WRITES)
		note_write(registers, task, place);
	else if (call == CALL_SENDS || for_condition)
		note_by_current(fgio_identity_of(task), place);
}
