// SPDX-License-Identifier: GPL-2.0
/*
 * Who is a foreground task: the table of tagged threads.
 *
 * An entry belongs to a thread (its task_struct, which execve() keeps and
 * fork() does not share) and ends with it, at sched_process_exit. The table
 * therefore needs no reference to the thread.
 */
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include "fgio.h"
#include "inherit.h"
#include "wait.h"

#define TAG_BITS 12

struct tag_entry {
	struct hlist_node node;
	struct task_struct *task;
	enum fgio_thread_tag tag;
	struct rcu_head rcu;
};

static DEFINE_HASHTABLE(tags, TAG_BITS);
/* Writers only; readers are under RCU. Taken with interrupts on. */
static DEFINE_SPINLOCK(tags_lock);
static unsigned int tag_count;
static unsigned int foreground_count;
static struct tracepoint *exit_tracepoint;

static unsigned int tags_max = 65536;
module_param(tags_max, uint, 0444);
MODULE_PARM_DESC(tags_max, "threads that can be tagged at once (65536)");

static struct tag_entry *find_entry(struct task_struct *task)
{
	struct tag_entry *entry;

	hash_for_each_possible_rcu(tags, entry, node, (unsigned long)task,
				   lockdep_is_held(&tags_lock))
		if (entry->task == task)
			return entry;
	return NULL;
}

/* Context: any. */
enum fgio_thread_tag fgio_tag_of(struct task_struct *task)
{
	enum fgio_thread_tag tag = FGIO_THREAD_UNTAGGED;
	struct tag_entry *entry;

	if (!READ_ONCE(tag_count))
		return tag;
	rcu_read_lock();
	entry = find_entry(task);
	if (entry)
		tag = READ_ONCE(entry->tag);
	rcu_read_unlock();
	return tag;
}

enum fgio_thread_tag fgio_tag_of_current(void)
{
	return fgio_tag_of(current);
}

/* The lock is held, or nobody else is left. */
static void count_foreground(enum fgio_thread_tag was, enum fgio_thread_tag is)
{
	WRITE_ONCE(foreground_count, foreground_count +
				     (is == FGIO_THREAD_FOREGROUND) -
				     (was == FGIO_THREAD_FOREGROUND));
}

static void remove_entry(struct tag_entry *entry)
{
	count_foreground(entry->tag, FGIO_THREAD_UNTAGGED);
	hash_del_rcu(&entry->node);
	WRITE_ONCE(tag_count, tag_count - 1);
	kfree_rcu(entry, rcu);
}

static void clear_tag(struct task_struct *task)
{
	struct tag_entry *entry;

	spin_lock(&tags_lock);
	entry = find_entry(task);
	if (entry)
		remove_entry(entry);
	spin_unlock(&tags_lock);
	fgio_foreground_vanished();
}

/*
 * A thread sets PF_EXITING before it reaches sched_process_exit: either we see
 * the flag here, or on_exit() comes after us and removes what we add.
 */
static int insert_tag(struct task_struct *task, enum fgio_thread_tag tag,
		      struct tag_entry *new)
{
	struct tag_entry *entry;
	int error = 0;

	spin_lock(&tags_lock);
	entry = find_entry(task);
	if (READ_ONCE(task->flags) & PF_EXITING) {
		error = -ESRCH;
	} else if (entry) {
		count_foreground(entry->tag, tag);
		WRITE_ONCE(entry->tag, tag);
		error = -EEXIST;
	} else if (tag_count >= tags_max) {
		error = -ENOSPC;
	} else {
		new->task = task;
		new->tag = tag;
		count_foreground(FGIO_THREAD_UNTAGGED, tag);
		hash_add_rcu(tags, &new->node, (unsigned long)task);
		WRITE_ONCE(tag_count, tag_count + 1);
	}
	spin_unlock(&tags_lock);
	return error;
}

/**
 * fgio_tag_set() - tag a thread, or take its tag away
 * @task: the thread; the caller holds a reference
 * @tag: FGIO_THREAD_UNTAGGED takes the tag away
 *
 * Return: 0, -ESRCH when the thread is exiting, -ENOSPC when the table is
 * full, -ENOMEM, -EOPNOTSUPP when tags could not end with their threads.
 * Context: may sleep.
 */
int fgio_tag_set(struct task_struct *task, enum fgio_thread_tag tag)
{
	struct tag_entry *new;
	int error;

	if (!exit_tracepoint)
		return -EOPNOTSUPP;
	if (tag == FGIO_THREAD_UNTAGGED) {
		clear_tag(task);
		return 0;
	}
	new = kmalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	error = insert_tag(task, tag, new);
	if (error)
		kfree(new);
	if (error && error != -EEXIST)
		return error;
	if (tag == FGIO_THREAD_FOREGROUND)
		fgio_foreground_appeared();
	else
		fgio_foreground_vanished();
	return 0;
}

unsigned int fgio_tag_count(void)
{
	return READ_ONCE(tag_count);
}

unsigned int fgio_foreground_count(void)
{
	return READ_ONCE(foreground_count);
}

unsigned int fgio_tag_max(void)
{
	return tags_max;
}

/*
 * Calls @visit for each tag, under RCU: it must not sleep, and the task may be
 * exiting. Return: the number of visits.
 */
unsigned int fgio_tag_list(void (*visit)(struct task_struct *task,
					 enum fgio_thread_tag tag, void *data),
			   void *data)
{
	struct tag_entry *entry;
	unsigned int visits = 0;
	int bucket;

	rcu_read_lock();
	hash_for_each_rcu(tags, bucket, entry, node) {
		visit(entry->task, READ_ONCE(entry->tag), data);
		visits++;
	}
	rcu_read_unlock();
	return visits;
}

static void on_exit(void *data, struct task_struct *task)
{
	if (fgio_tag_of(task) != FGIO_THREAD_UNTAGGED)
		clear_tag(task);
	fgio_wait_forget_current();
}

/* Return: whether tags can be used. */
bool fgio_tag_init(void)
{
	struct tracepoint *tp = fgio_find_tracepoint("sched_process_exit");

	if (tp && !tracepoint_probe_register(tp, on_exit, NULL))
		exit_tracepoint = tp;
	return exit_tracepoint;
}

/* Nobody tags or asks any more. */
void fgio_tag_exit(void)
{
	struct tag_entry *entry;
	struct hlist_node *next;
	int bucket;

	if (exit_tracepoint) {
		tracepoint_probe_unregister(exit_tracepoint, on_exit, NULL);
		tracepoint_synchronize_unregister();
	}
	hash_for_each_safe(tags, bucket, next, entry, node)
		remove_entry(entry);
	rcu_barrier();
}
