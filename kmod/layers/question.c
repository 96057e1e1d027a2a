// SPDX-License-Identifier: GPL-2.0
/*
 * A message over a socket wakes the task that reads at its other end: that task
 * was asked. The next wait for the same socket is for its answer.
 *
 * The registers of the system call say over which file current sends. So what
 * it wakes in other calls, as by a lock or a log, was asked nothing. Of those that
 * wake in this call, the last one counts.
 *
 * Left out:
 *	pipes and message queues, which carry questions and answers in two files.
 *	a task that is busy when the question comes: nothing wakes it.
 *	requests of io_uring, sendfile(2) and splice(2).
 *	waits in select(2) and epoll_wait(2), which do not name the socket.
 */
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include <asm/syscall.h>
#include <asm/unistd.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/scale.h"
#include "base/waker.h"
#include "compat/compat.h"
#include "layers/delivery.h"
#include "layers/question.h"
#include "who/foreground.h"

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

/* All of them have the file as their first argument. */
static bool sends(int call)
{
	switch (call) {
	case __NR_connect:
	case __NR_write:
	case __NR_writev:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendmmsg:
		return true;
	default:
		return false;
	}
}

static bool is_local_socket(const struct file *file)
{
	const struct inode *inode;
	umode_t mode;

	inode = (const void *)fgio_kernel_word((u64)&file->f_inode);
	return inode && !get_kernel_nofault(mode, &inode->i_mode) &&
	       S_ISSOCK(mode) && fgio_socket_is_local(file);
}

/* Return: the socket that the current task sends over; 0: none. */
static u64 socket_of_call(void)
{
	struct pt_regs *registers = task_pt_regs(current);
	unsigned long arguments[6];
	u64 file;

	if (fgio_is_compat_call(current) ||
	    !sends(syscall_get_nr(current, registers)))
		return 0;
	syscall_get_arguments(current, registers, arguments);
	file = fgio_file_at(current, arguments[0]);
	return file && is_local_socket((const struct file *)file) ? file : 0;
}

/* A thread of a program, idle: not one that sleeps for a lock of the kernel. */
static bool may_answer(const struct task_struct *task)
{
	return READ_ONCE(task->__state) & TASK_INTERRUPTIBLE &&
	       !(READ_ONCE(task->flags) &
		 (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
}

void fgio_question_note(const struct task_struct *task)
{
	struct question *question;
	u64 file;

	/* Most calls that wake tasks send nothing: that is told first. */
	file = may_answer(task) ? socket_of_call() : 0;
	if (!file || !fgio_current_serves_requests())
		return;
	question = question_over(file);
	WRITE_ONCE(question->file, 0);
	WRITE_ONCE(question->asked, fgio_identity_of(task));
	WRITE_ONCE(question->at_ns, ktime_get_mono_fast_ns());
	/* Pairs with fgio_question_asked(), which reads the file first. */
	smp_store_release(&question->file, file);
}

u64 fgio_question_asked(u64 file)
{
	const struct question *question = question_over(file);

	/* Pairs with fgio_question_note(). */
	if (!file || smp_load_acquire(&question->file) != file ||
	    ktime_get_mono_fast_ns() - READ_ONCE(question->at_ns) >
		    fgio_waker_window_ns())
		return 0;
	return READ_ONCE(question->asked);
}
