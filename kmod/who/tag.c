// SPDX-License-Identifier: GPL-2.0
/*
 * Foreground tasks: the table of threads that have a tag or a thread flag
 * (thread_flag.c), or that declared a wait (layers/declared_wait.c).
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

#include "base/scale.h"
#include "base/setting.h"
#include "base/tracepoint.h"
#include "who/presence.h"
#include "who/tag.h"
#include "who/thread_flag.h"
#include "who/trust.h"

/**
 * struct tag_entry - the tag and the flag of a thread
 * @node: in fgio_tags
 * @task: the thread
 * @tag: its tag
 * @flag: its thread flag, or NULL
 * @tied: in fgio_thread_flags.tied, when it has a flag
 * @charge: its charge to limits; foreground when may_be_foreground()
 * @rcu: frees it
 */
struct tag_entry {
	struct hlist_node node;
	struct task_struct *task;
	enum fgio_thread_tag tag;
	const struct fgio_word __rcu *flag;
	struct hlist_node tied;
	struct fgio_charge charge;
	struct rcu_head rcu;
};

/* Memory that a claim may need, allocated before the lock is taken. */
struct fresh {
	struct tag_entry *entry;
	struct fgio_account *account;
};

DEFINE_HASHTABLE(fgio_tags, FGIO_TAG_BITS);
/* Writers only; readers are under RCU. */
DEFINE_SPINLOCK(fgio_tags_lock);
unsigned int fgio_tag_entries;
static struct tracepoint *exit_tracepoint;
static void (*thread_ends)(void);

static unsigned int tags_max = FGIO_DEFAULT_tags_max;
module_param(tags_max, uint, 0444);

static struct tag_entry *find_entry(struct task_struct *task)
{
	struct tag_entry *entry;

	hlist_for_each_entry_rcu(entry, &fgio_tags[fgio_tag_index(task)], node,
				 lockdep_is_held(&fgio_tags_lock))
		if (entry->task == task)
			return entry;
	return NULL;
}

/* A flag that holds a class overrules the tag. Context: under RCU. */
static enum fgio_thread_tag judge(const struct tag_entry *entry)
{
	const struct fgio_word *flag = rcu_dereference(entry->flag);
	enum fgio_thread_tag said = FGIO_THREAD_UNTAGGED;

	if (flag)
		said = fgio_thread_flag_class(flag);
	return said != FGIO_THREAD_UNTAGGED ? said : READ_ONCE(entry->tag);
}

enum fgio_thread_tag fgio_tag_look_up(struct task_struct *task)
{
	enum fgio_thread_tag tag = FGIO_THREAD_UNTAGGED;
	struct tag_entry *entry;

	rcu_read_lock();
	entry = find_entry(task);
	if (entry)
		tag = judge(entry);
	rcu_read_unlock();
	return tag;
}

bool fgio_tag_request_of(u64 task, struct fgio_served *served)
{
	struct task_struct *thread = (struct task_struct *)task;
	const struct fgio_word *flag;
	struct tag_entry *entry;
	bool serves = false;

	if (!fgio_tag_may_have(thread))
		return false;
	rcu_read_lock();
	entry = find_entry(thread);
	flag = entry ? rcu_dereference(entry->flag) : NULL;
	if (flag && judge(entry) == FGIO_THREAD_FOREGROUND)
		serves = fgio_thread_flag_request(flag, served);
	rcu_read_unlock();
	return serves;
}

/* All functions from here to clear_tag() run under the lock. */

/* A flag changes unseen: its thread may become foreground at any moment. */
static bool may_be_foreground(const struct tag_entry *entry)
{
	return rcu_access_pointer(entry->flag) ||
	       entry->tag == FGIO_THREAD_FOREGROUND;
}

static void set_entry(struct tag_entry *entry, enum fgio_thread_tag tag,
		      const struct fgio_word *flag)
{
	bool was = may_be_foreground(entry);

	WRITE_ONCE(entry->tag, tag);
	rcu_assign_pointer(entry->flag, flag);
	fgio_foreground_recount(was, may_be_foreground(entry));
	if (!may_be_foreground(entry))
		fgio_trust_uncharge(&entry->charge);
}

static const struct fgio_word *flag_of(const struct tag_entry *entry)
{
	return rcu_dereference_protected(entry->flag,
					 lockdep_is_held(&fgio_tags_lock));
}

static void remove_entry(struct tag_entry *entry)
{
	fgio_foreground_recount(may_be_foreground(entry), false);
	if (!hlist_unhashed(&entry->tied))
		hlist_del_init(&entry->tied);
	hash_del_rcu(&entry->node);
	fgio_trust_give_back(&entry->charge);
	WRITE_ONCE(fgio_tag_entries, fgio_tag_entries - 1);
	kfree_rcu(entry, rcu);
}

static void remove_if_empty(struct tag_entry *entry)
{
	if (entry->tag == FGIO_THREAD_UNTAGGED && !flag_of(entry) &&
	    !entry->charge.declaring)
		remove_entry(entry);
}

static void untie(struct tag_entry *entry)
{
	hlist_del_init(&entry->tied);
	set_entry(entry, entry->tag, NULL);
	remove_if_empty(entry);
}

static bool obtain_memory(struct fresh *fresh)
{
	fresh->entry = kzalloc(sizeof(*fresh->entry), GFP_KERNEL_ACCOUNT);
	fresh->account = fgio_trust_new_account();
	return fresh->entry && fresh->account;
}

static void free_unused(const struct fresh *fresh)
{
	kfree(fresh->entry);
	kfree(fresh->account);
}

static bool is_exiting(const struct task_struct *task)
{
	return READ_ONCE(task->flags) & PF_EXITING;
}

static void add_entry(struct tag_entry *entry, struct task_struct *task)
{
	entry->task = task;
	WRITE_ONCE(fgio_tag_entries, fgio_tag_entries + 1);
	hlist_add_head_rcu(&entry->node, &fgio_tags[fgio_tag_index(task)]);
}

/*
 * The entry of a thread, charged for @wish.
 *
 * An exiting thread sets PF_EXITING, then looks for its entry without the lock
 * (on_exit()). Here the entry is published, then PF_EXITING is read. With the
 * barrier between the two on either side, at least one side sees the other: an
 * entry that on_exit() missed is removed here. An existing entry was published
 * by such a call before, so on_exit() removes it when the lock is free.
 */
static struct tag_entry *obtain_entry(struct task_struct *task,
				      enum fgio_wish wish, bool privileged,
				      struct fresh *fresh)
{
	struct tag_entry *entry = find_entry(task);
	int error;

	/* Not needed for correctness: it saves the charge. */
	if (is_exiting(task))
		return ERR_PTR(-ESRCH);
	if (!entry && fgio_tag_entries >= tags_max)
		return ERR_PTR(-ENOSPC);
	error = fgio_trust_claim(entry ? &entry->charge : &fresh->entry->charge,
				 task, wish, privileged, &fresh->account);
	if (error)
		return ERR_PTR(error);
	if (entry)
		return entry;
	entry = fresh->entry;
	fresh->entry = NULL;
	add_entry(entry, task);
	/* Pairs with the barrier in on_exit(). */
	smp_mb();
	if (!is_exiting(task))
		return entry;
	remove_entry(entry);
	return ERR_PTR(-ESRCH);
}

/*
 * Changes that may remove foreground tasks run between these two. Only a change
 * that did remove the last one restarts the time for which waits are still
 * followed: else any user could keep the hooks attached by clearing a tag that
 * is not there.
 */
static unsigned int lock_tags(void) __acquires(&fgio_tags_lock)
{
	spin_lock(&fgio_tags_lock);
	return fgio_foreground_count();
}

static void unlock_tags(unsigned int before) __releases(&fgio_tags_lock)
{
	bool vanished = before && !fgio_foreground_count();

	spin_unlock(&fgio_tags_lock);
	if (vanished)
		fgio_foreground_vanished();
}

static void clear_tag(struct task_struct *task)
{
	unsigned int before = lock_tags();
	struct tag_entry *entry = find_entry(task);

	if (entry) {
		set_entry(entry, FGIO_THREAD_UNTAGGED, flag_of(entry));
		remove_if_empty(entry);
	}
	unlock_tags(before);
}

static int set_tag(struct task_struct *task, enum fgio_thread_tag tag,
		   struct fresh *fresh)
{
	enum fgio_wish wish = tag == FGIO_THREAD_FOREGROUND ?
				      FGIO_WISH_FOREGROUND :
				      FGIO_WISH_TAG;
	bool privileged = fgio_trust_is_privileged();
	unsigned int before = lock_tags();
	struct tag_entry *entry;

	entry = obtain_entry(task, wish, privileged, fresh);
	if (!IS_ERR(entry))
		set_entry(entry, tag, flag_of(entry));
	unlock_tags(before);
	return PTR_ERR_OR_ZERO(entry);
}

int fgio_tag_thread(struct task_struct *task, enum fgio_thread_tag tag)
{
	struct fresh fresh;
	int error = -ENOMEM;

	if (!exit_tracepoint)
		return -EOPNOTSUPP;
	if (tag == FGIO_THREAD_UNTAGGED) {
		clear_tag(task);
		return 0;
	}
	if (obtain_memory(&fresh))
		error = set_tag(task, tag, &fresh);
	free_unused(&fresh);
	if (!error && tag == FGIO_THREAD_FOREGROUND)
		fgio_foreground_appeared();
	return error;
}

/* Context: under the lock. */
static int tie_to(struct fgio_thread_flags *flags, u32 index, bool privileged,
		  struct fresh *fresh)
{
	struct tag_entry *entry;

	if (!atomic_read(&flags->maps))
		return -EINVAL;
	entry = obtain_entry(current, FGIO_WISH_FOREGROUND, privileged, fresh);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	if (!hlist_unhashed(&entry->tied))
		hlist_del_init(&entry->tied);
	hlist_add_head(&entry->tied, &flags->tied);
	set_entry(entry, entry->tag, &flags->flag[index]);
	return 0;
}

static int tie_current(struct fgio_thread_flags *flags, u32 index,
		       struct fresh *fresh)
{
	bool privileged = fgio_trust_is_privileged();
	int error;

	spin_lock(&fgio_tags_lock);
	error = tie_to(flags, index, privileged, fresh);
	spin_unlock(&fgio_tags_lock);
	return error;
}

int fgio_tag_tie(struct fgio_thread_flags *flags, u32 index)
{
	struct fresh fresh;
	int error = -ENOMEM;

	if (!exit_tracepoint)
		return -EOPNOTSUPP;
	if (obtain_memory(&fresh))
		error = tie_current(flags, index, &fresh);
	free_unused(&fresh);
	if (!error)
		fgio_foreground_appeared();
	return error;
}

/* Only the thread itself declares waits, and only its end undoes that. */
static bool has_declared(void)
{
	const struct tag_entry *entry;
	bool has;

	rcu_read_lock();
	entry = find_entry(current);
	has = entry && entry->charge.declaring;
	rcu_read_unlock();
	return has;
}

static int declare(struct fresh *fresh)
{
	bool privileged = fgio_trust_is_privileged();
	struct tag_entry *entry;

	spin_lock(&fgio_tags_lock);
	entry = obtain_entry(current, FGIO_WISH_DECLARE, privileged, fresh);
	spin_unlock(&fgio_tags_lock);
	return PTR_ERR_OR_ZERO(entry);
}

int fgio_tag_declare(void)
{
	struct fresh fresh;
	int error = -ENOMEM;

	if (!exit_tracepoint)
		return -EOPNOTSUPP;
	if (has_declared())
		return 0;
	if (obtain_memory(&fresh))
		error = declare(&fresh);
	free_unused(&fresh);
	return error;
}

static void forget(struct task_struct *task)
{
	unsigned int before = lock_tags();
	struct tag_entry *entry = find_entry(task);

	if (entry)
		remove_entry(entry);
	unlock_tags(before);
}

void fgio_tag_untie_current(void)
{
	unsigned int before = lock_tags();
	struct tag_entry *entry = find_entry(current);

	if (entry && flag_of(entry))
		untie(entry);
	unlock_tags(before);
}

void fgio_tag_untie_all(struct fgio_thread_flags *flags)
{
	unsigned int before = lock_tags();
	struct hlist_node *next;
	struct tag_entry *entry;

	if (!atomic_read(&flags->maps))
		hlist_for_each_entry_safe(entry, next, &flags->tied, tied)
			untie(entry);
	unlock_tags(before);
}

/*
 * Readers do not wait for this. Writers do, while all entries are recounted;
 * the list seldom changes.
 */
void fgio_tag_relist(const struct fgio_trust_list *list)
{
	struct tag_entry *entry;
	int bucket;

	spin_lock(&fgio_tags_lock);
	fgio_trust_set_list(list);
	hash_for_each(fgio_tags, bucket, entry, node)
		fgio_trust_recount(&entry->charge, entry->task);
	spin_unlock(&fgio_tags_lock);
}

unsigned int fgio_tag_max(void)
{
	return tags_max;
}

unsigned int fgio_tag_list(void (*visit)(struct task_struct *task,
					 enum fgio_thread_tag tag, void *data),
			   void *data)
{
	struct tag_entry *entry;
	enum fgio_thread_tag tag;
	unsigned int visits = 0;
	int bucket;

	rcu_read_lock();
	hash_for_each_rcu(fgio_tags, bucket, entry, node) {
		tag = judge(entry);
		if (tag == FGIO_THREAD_UNTAGGED)
			continue;
		visit(entry->task, tag, data);
		visits++;
	}
	rcu_read_unlock();
	return visits;
}

static bool has_entry(struct task_struct *task)
{
	bool has;

	rcu_read_lock();
	has = fgio_tag_count() && find_entry(task);
	rcu_read_unlock();
	return has;
}

static void on_exit(void *data, struct task_struct *task)
{
	/* PF_EXITING is set. Pairs with the barrier in obtain_entry(). */
	smp_mb();
	if (has_entry(task))
		forget(task);
	thread_ends();
}

bool fgio_tag_is_attached(void)
{
	return exit_tracepoint;
}

bool fgio_tag_init(void (*ends)(void))
{
	struct tracepoint *tp = fgio_find_tracepoint("sched_process_exit");

	thread_ends = ends;
	if (tp && !tracepoint_probe_register(tp, on_exit, NULL))
		exit_tracepoint = tp;
	return exit_tracepoint;
}

void fgio_tag_exit(void)
{
	struct tag_entry *entry;
	struct hlist_node *next;
	int bucket;

	if (exit_tracepoint) {
		tracepoint_probe_unregister(exit_tracepoint, on_exit, NULL);
		tracepoint_synchronize_unregister();
	}
	spin_lock(&fgio_tags_lock);
	hash_for_each_safe(fgio_tags, bucket, next, entry, node)
		remove_entry(entry);
	spin_unlock(&fgio_tags_lock);
	rcu_barrier();
}
