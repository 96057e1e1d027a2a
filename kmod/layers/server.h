/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads of programs in user space that answer requests of the kernel: daemons
 * of FUSE, programs that handle events. Requests come by a *connection*: the
 * address of an object of the kernel, which is only compared.
 */
#ifndef FGIO_SERVER_H
#define FGIO_SERVER_H

#include "graph/layer.h"

struct task_struct;

/**
 * fgio_server_took() - a thread works on a request, until that ends
 * @thread: current, or a task that cannot end meanwhile
 * @connection: the request came by it; not 0
 * @node: the file that it is about, in the connection; 0: none
 * @number: the request, in the connection: the lower, the earlier; not 0. Where
 *	requests have none: the time, of ktime_get_mono_fast_ns()
 *
 * It replaces the thread's last request by this connection. Context: any but NMI.
 */
void fgio_server_took(struct task_struct *thread, u64 connection, u64 node,
		      u64 number);

/* The request has ended, whichever thread took it. Context: any. */
void fgio_server_ended(u64 connection, u64 number);

/* A connection is closed; another one may have its address. Context: any. */
void fgio_server_closed(u64 connection);

/*
 * Calls fgio_walk_found() for the thread that works on a request; once the wait
 * takes longer than helper_window_ms, fgio_walk_guessed(). A thread that sleeps
 * for its next request may have handed this one to others of its process, which
 * are guessed. Return: whether a thread works on it. Context: the walk's
 * thread.
 */
bool fgio_server_find(const struct fgio_walk_step *step, u64 connection,
		      u64 number);

/*
 * The same for the threads that work on any request of a connection; if @node is
 * not 0, about that file. Those with the lowest numbers are found, others
 * guessed.
 */
bool fgio_servers_find(const struct fgio_walk_step *step, u64 connection,
		       u64 node);

/*
 * The same where the numbers are times: for those that do not sleep for their
 * next request; those that took one within helper_window_ms are found, others
 * guessed. Return: whether one of them waits itself; if not, the request may be
 * with others of their process.
 */
bool fgio_servers_find_at_work(const struct fgio_walk_step *step,
			       u64 connection);

/*
 * It is not known which thread has a request: guesses those of the processes
 * whose threads took requests. Context: the walk's thread.
 */
void fgio_servers_guess(const struct fgio_walk_step *step, u64 connection);

/* Forgets all threads: a layer's @forget. */
void fgio_servers_forget(void);

#endif /* FGIO_SERVER_H */
