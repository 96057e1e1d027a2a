/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which tasks may become foreground tasks, and how many: the limits of users
 * and cgroups, and what each has taken from them.
 */
#ifndef FGIO_TRUST_H
#define FGIO_TRUST_H

#include <linux/types.h>

#include "core/trust.h"

struct fgio_account;
struct task_struct;

/**
 * struct fgio_charge - what an entry of the table of tags takes from limits
 * @account: of the user that pays for it; NULL when it is not in the table
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

/* What a thread may ask for. */
enum fgio_wish {
	FGIO_WISH_TAG,
	FGIO_WISH_FOREGROUND,
	FGIO_WISH_DECLARE,
};

/* Whether foreground tasks are those of listed cgroups alone. Context: any. */
bool fgio_trust_lists_cgroups(void);

/*
 * Whether the caller is bound by no rule: in the initial user namespace, not as
 * root of one of its own. Not being so is no event for the audit log.
 */
bool fgio_trust_is_privileged(void);

/*
 * Whether the current task may tag another one: the rule of ioprio_set(2),
 * block/blk-ioc.c. Context: a system call.
 */
bool fgio_may_tag(struct task_struct *task);

/*
 * The same rule for a task that a waiter's memory names as the owner of a lock.
 * Not having the capability is no event for the audit log. Context: under RCU;
 * may be a hook's.
 */
bool fgio_may_lend(struct task_struct *waiter, struct task_struct *owner);

/* For fgio_trust_claim(). Return: NULL when there is no memory. */
struct fgio_account *fgio_trust_new_account(void);

/* What follows runs under fgio_tags_lock. */

/**
 * fgio_trust_claim() - a thread is to get a tag or a thread flag, or declares a
 *	wait
 * @charge: of its entry, which is in the table or comes there now
 * @task: the thread
 * @wish: FGIO_WISH_FOREGROUND when it may be a foreground task then
 * @privileged: whether the asking task is bound by no rule
 * @new: what fgio_trust_new_account() gave; NULL afterwards when it was used
 *
 * Return: 0 when the charge was taken; -EACCES when the thread's cgroup is not
 * listed, -EDQUOT when its user or its cgroup has as many as it may: then
 * nothing was.
 */
int fgio_trust_claim(struct fgio_charge *charge, struct task_struct *task,
		     enum fgio_wish wish, bool privileged,
		     struct fgio_account **new);

/* The entry is foreground no more. */
void fgio_trust_uncharge(struct fgio_charge *charge);

/* The entry leaves the table. */
void fgio_trust_give_back(struct fgio_charge *charge);

/* No thread counts in it yet: fgio_trust_recount() follows for every entry. */
void fgio_trust_set_list(const struct fgio_trust_list *list);

/* In the cgroup where the thread is now; where it was is not known any more. */
void fgio_trust_recount(struct fgio_charge *charge, struct task_struct *task);

/* Without the lock: the file of counts in debugfs. */
int fgio_trust_init(void);
void fgio_trust_exit(void);

#endif /* FGIO_TRUST_H */
