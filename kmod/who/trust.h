/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of foreground tasks, by user and by cgroup, and the charges to them.
 */
#ifndef FGIO_TRUST_H
#define FGIO_TRUST_H

#include <linux/types.h>

#include "core/trust.h"

struct fgio_account;
struct task_struct;

/**
 * struct fgio_charge - charges of an entry of the table of tags
 * @account: of the user that is charged; NULL: the entry is not in the table
 * @cgroups: listed cgroups where it counts as foreground, see core/trust.h
 * @foreground: whether it counts as foreground
 * @declaring: whether its thread declared a wait; it counts until that ends
 */
struct fgio_charge {
	struct fgio_account *account;
	u32 cgroups;
	bool foreground;
	bool declaring;
};

/* The requests of a thread. */
enum fgio_wish {
	FGIO_WISH_TAG,
	FGIO_WISH_FOREGROUND,
	FGIO_WISH_DECLARE,
};

/* Whether foreground tasks are those of listed cgroups alone. Context: any. */
bool fgio_trust_lists_cgroups(void);

/*
 * Whether no limit binds the caller: it has CAP_SYS_NICE in the initial user
 * namespace, not in one of its own. A refusal is not logged for audit.
 */
bool fgio_trust_is_privileged(void);

/*
 * Whether the current task may tag another one: the rule of ioprio_set(2),
 * block/blk-ioc.c. Context: a system call.
 */
bool fgio_may_tag(struct task_struct *task);

/*
 * The same rule for a task that a waiter's memory names as the owner of a lock.
 * A refusal is not logged for audit. Context: under RCU; may be a hook's.
 */
bool fgio_may_lend(struct task_struct *waiter, struct task_struct *owner);

/* For fgio_trust_claim(). Return: NULL when there is no memory. */
struct fgio_account *fgio_trust_new_account(void);

/* The functions below run under fgio_tags_lock, up to fgio_trust_init(). */

/**
 * fgio_trust_claim() - charge a thread for a tag, a thread flag or a declared
 *	wait
 * @charge: of its entry, which is in the table or is being added
 * @task: the thread
 * @wish: FGIO_WISH_FOREGROUND when it may be a foreground task then
 * @privileged: whether no limit binds the asking task
 * @new: from fgio_trust_new_account(); NULL afterwards when it was used
 *
 * Return: 0 when the thread was charged; -EACCES when its cgroup is not listed,
 * -EDQUOT when its user or its cgroup is at the limit: then nothing was
 * charged.
 */
int fgio_trust_claim(struct fgio_charge *charge, struct task_struct *task,
		     enum fgio_wish wish, bool privileged,
		     struct fgio_account **new);

/* The entry ceases to be foreground. */
void fgio_trust_uncharge(struct fgio_charge *charge);

/* The entry leaves the table. */
void fgio_trust_give_back(struct fgio_charge *charge);

/* Its counts are zero: fgio_trust_recount() follows for every entry. */
void fgio_trust_set_list(const struct fgio_trust_list *list);

/* Counts the entry in the listed cgroups where its thread is now. */
void fgio_trust_recount(struct fgio_charge *charge, struct task_struct *task);

/* The file of counts in debugfs. Context: without the lock. */
int fgio_trust_init(void);
void fgio_trust_exit(void);

#endif /* FGIO_TRUST_H */
