// SPDX-License-Identifier: GPL-2.0
#include <linux/hash.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/scale.h"
#include "base/waker.h"
#include "core/number.h"
#include "core/places.h"
#include "graph/found.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "layers/server.h"
#include "layers/sleep.h"

/*
 * Any of the requests before one that no thread has taken makes way for it:
 * those that work on the oldest are boosted. The oldest may never end.
 */
#define SERVERS_MAX 4

/* Processes whose threads are guessed for one wait. */
#define PROCESSES_MAX 2

/* --- threads that work on requests ---------------------------------------- */

/**
 * struct notes - threads of programs, and the requests that they took last
 * @threads: identities; 0 for a free place
 * @payers: the user that each thread counts for
 * @connections: the request came by it
 * @nodes: the file that the request is about
 * @numbers: the request, unique in its connection; 0: it has ended
 *
 * Without locks: at worst, a thread is taken to work on another request, also
 * one of another program that has its places here, until that ends.
 */
struct notes {
	u64 threads[FGIO_PLACES];
	u32 payers[FGIO_PLACES];
	u64 connections[FGIO_PLACES];
	u64 nodes[FGIO_PLACES];
	u64 numbers[FGIO_PLACES];
};

/* A connection's threads are in this number of sets, by thread. */
#define SETS_BITS 2
#define SETS (1U << SETS_BITS)
#define NOTES_MAX (SETS * FGIO_PLACES)

static struct notes table[1 << FGIO_SERVER_BITS];

static struct notes *notes_of(u64 connection)
{
	return &table[hash_64(connection, FGIO_SERVER_BITS - SETS_BITS)
		      << SETS_BITS];
}

/**
 * struct taken - a note
 * @thread: the thread's identity
 * @node: the file
 * @number: the request; 0: it has ended
 */
struct taken {
	u64 thread;
	u64 node;
	u64 number;
};

/* Return: whether the note is of that connection. */
static bool read_note(unsigned int index, u64 connection, struct taken *taken)
{
	const struct notes *notes = notes_of(connection) + index / FGIO_PLACES;
	unsigned int place = index % FGIO_PLACES;

	/* Pairs with fgio_server_took(). */
	taken->number = smp_load_acquire(&notes->numbers[place]);
	taken->thread = READ_ONCE(notes->threads[place]);
	taken->node = READ_ONCE(notes->nodes[place]);
	return taken->thread &&
	       READ_ONCE(notes->connections[place]) == connection;
}

/* A thread whose request has ended gives way first, whichever user's it is. */
static unsigned int place_for(const struct notes *notes, u64 thread,
			      u32 payer, u32 first)
{
	unsigned int place = fgio_place_of(notes->threads, thread);

	if (place == FGIO_PLACES)
		place = fgio_place_of(notes->numbers, 0);
	if (place == FGIO_PLACES)
		place = fgio_place_for(notes->threads, notes->payers, payer,
				       first);
	return place;
}

void fgio_server_took(struct task_struct *thread, u64 connection, u64 node,
		      u64 number)
{
	u32 id = (u32)thread->pid;
	struct notes *notes = notes_of(connection) + id % SETS;
	u64 identity = fgio_identity_of(thread);
	u32 payer = fgio_payer_of(thread);
	unsigned int place = place_for(notes, identity, payer, id / SETS);

	WRITE_ONCE(notes->numbers[place], 0);
	WRITE_ONCE(notes->threads[place], identity);
	WRITE_ONCE(notes->payers[place], payer);
	WRITE_ONCE(notes->connections[place], connection);
	WRITE_ONCE(notes->nodes[place], node);
	/* Pairs with read_note(). */
	smp_store_release(&notes->numbers[place], number);
}

void fgio_server_ended(u64 connection, u64 number)
{
	struct notes *notes = notes_of(connection);
	struct taken taken;
	unsigned int i;

	for (i = 0; i < NOTES_MAX; i++)
		if (read_note(i, connection, &taken) &&
		    taken.number == number)
			cmpxchg(&notes[i / FGIO_PLACES].numbers[i % FGIO_PLACES],
				number, 0);
}

void fgio_server_closed(u64 connection)
{
	struct notes *notes = notes_of(connection);
	struct taken taken;
	unsigned int i;

	for (i = 0; i < NOTES_MAX; i++)
		if (read_note(i, connection, &taken))
			cmpxchg(&notes[i / FGIO_PLACES].threads[i % FGIO_PLACES],
				taken.thread, 0);
}

void fgio_servers_forget(void)
{
	memset(table, 0, sizeof(table));
}

/* --- blockers -------------------------------------------------------------- */

/* Context: RCU. */
static void guess_others(const struct fgio_walk_step *step, u64 thread)
{
	struct task_struct *task = fgio_task_of(thread);

	if (task)
		fgio_guessed_sleepers_of(step, task, FGIO_SLEEPERS);
}

/* How a task sleeps; 0: not at all, or it has ended. */
static unsigned int sleep_state_of(u64 key)
{
	const struct task_struct *task;
	unsigned int state = 0;

	rcu_read_lock();
	task = fgio_task_at(key);
	if (task)
		state = READ_ONCE(task->__state) & TASK_NORMAL;
	rcu_read_unlock();
	return state;
}

/* It may sleep for its next request, and others do what it took. */
static bool may_have_handed_over(u64 key)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];

	return sleep_state_of(key) & TASK_INTERRUPTIBLE &&
	       !fgio_wait_copy_of(key, waits, NULL);
}

/* A program that does not answer for this time gets what a guess gets. */
static bool is_late(const struct fgio_wait *wait)
{
	return ktime_get_mono_fast_ns() - wait->since_ns >
	       fgio_waker_window_ns();
}

static void add_server(const struct fgio_walk_step *step, u64 key, bool is_sure)
{
	if (!is_sure || is_late(step->wait))
		fgio_walk_guessed(step->walk, key);
	else
		fgio_walk_found(step->walk, key);
}

static void find_server(const struct fgio_walk_step *step, u64 thread,
			bool is_sure)
{
	u64 key = fgio_name_identity(thread);

	if (!key)
		return;
	add_server(step, key, is_sure);
	if (!may_have_handed_over(key))
		return;
	rcu_read_lock();
	guess_others(step, thread);
	rcu_read_unlock();
}

bool fgio_server_find(const struct fgio_walk_step *step, u64 connection,
		      u64 number)
{
	struct taken taken;
	unsigned int i;

	for (i = 0; i < NOTES_MAX; i++) {
		if (!read_note(i, connection, &taken) ||
		    taken.number != number)
			continue;
		find_server(step, taken.thread, true);
		return true;
	}
	return false;
}

/* Adds a note to those that are sorted by number, as requests came. */
static void sort_in(struct taken *sorted, unsigned int count,
		    const struct taken *taken)
{
	unsigned int i;

	for (i = count; i && sorted[i - 1].number > taken->number; i--)
		sorted[i] = sorted[i - 1];
	sorted[i] = *taken;
}

static bool lives(const struct taken *taken)
{
	const struct task_struct *thread;

	rcu_read_lock();
	thread = fgio_live_task_of(taken->thread);
	rcu_read_unlock();
	return thread;
}

bool fgio_servers_find(const struct fgio_walk_step *step, u64 connection,
		       u64 node)
{
	struct taken sorted[NOTES_MAX], taken;
	unsigned int count = 0;
	unsigned int i;

	for (i = 0; i < NOTES_MAX; i++)
		if (read_note(i, connection, &taken) && taken.number &&
		    (!node || taken.node == node) && lives(&taken))
			sort_in(sorted, count++, &taken);
	for (i = 0; i < count; i++)
		find_server(step, sorted[i].thread, i < SERVERS_MAX);
	return count;
}

enum doing {
	IDLES,
	WORKS, /* perhaps at something else: it gave its request to others */
	WAITS,
};

/*
 * Whether a wait is for the next request: for a message, or for the answer to an
 * event of its own.
 */
static bool is_idle_in(const struct fgio_wait *wait, u64 connection)
{
	return wait->kind == FGIO_WAIT_REPLY ||
	       (wait->kind == FGIO_WAIT_EVENT && wait->object == connection);
}

/* A sleep in user space may be for a lock, or for those that do the work. */
static enum doing doing_of(u64 key, u64 connection)
{
	struct fgio_wait waits[FGIO_WAITS_NESTED];
	unsigned int count = fgio_wait_copy_of(key, waits, NULL);
	unsigned int state = sleep_state_of(key);

	if (count)
		return is_idle_in(&waits[count - 1], connection) ? IDLES : WAITS;
	if (state & TASK_UNINTERRUPTIBLE)
		return WAITS;
	if (state && (!fgio_sleep_of(key, &waits[0]) ||
		      is_idle_in(&waits[0], connection)))
		return IDLES;
	return WORKS;
}

static bool is_old(const struct taken *taken)
{
	return beyond(ktime_get_mono_fast_ns(), taken->number) >
	       fgio_waker_window_ns();
}

bool fgio_servers_find_at_work(const struct fgio_walk_step *step,
			       u64 connection)
{
	struct taken sorted[NOTES_MAX], taken;
	unsigned int i, noted = 0, sure = 0;
	bool waits = false;
	enum doing doing;
	u64 key;

	for (i = 0; i < NOTES_MAX; i++)
		if (read_note(i, connection, &taken) && taken.number)
			sort_in(sorted, noted++, &taken);
	for (i = 0; i < noted; i++) {
		key = fgio_name_identity(sorted[i].thread);
		if (!key || key == step->task)
			continue;
		doing = doing_of(key, connection);
		if (doing == IDLES)
			continue;
		waits |= doing == WAITS;
		add_server(step, key,
			   !is_old(&sorted[i]) && sure++ < SERVERS_MAX);
	}
	return waits;
}

void fgio_servers_guess(const struct fgio_walk_step *step, u64 connection)
{
	u64 processes[PROCESSES_MAX];
	struct task_struct *task;
	unsigned int count = 0;
	struct taken taken;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < NOTES_MAX && count < PROCESSES_MAX; i++) {
		if (!read_note(i, connection, &taken))
			continue;
		task = fgio_task_of(taken.thread);
		if (!task || is_among((u64)task->signal, processes, count))
			continue;
		processes[count++] = (u64)task->signal;
		fgio_guessed_sleepers_of(step, task, FGIO_SLEEPERS);
	}
	rcu_read_unlock();
}
