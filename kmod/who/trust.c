// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of foreground tasks: the facts of the kernel by which core/trust.c
 * judges, and the administrator's limits.
 *
 * A thread counts against its real user. In a user namespace that is the owner
 * of the outermost one, as with the kernel's own limits: a user with 65,536
 * user ids in a namespace still has one account.
 *
 * A charge is returned to the account and the cgroups that it was taken from,
 * even if the thread has another user (setuid(2)) or another cgroup by now.
 *
 * Counts are under fgio_tags_lock, and change only when the class of a thread
 * in the table does: I/O and sections do not pass here.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "base/debug.h"
#include "base/identity.h"
#include "base/scale.h"
#include "base/setting.h"
#include "compat/compat.h"
#include "who/tag.h"
#include "who/trust.h"

/* Cgroups below this depth count as their ancestor at this depth. */
#define LEVEL_MAX 16

/**
 * struct fgio_account - a user with threads in the table of tags
 * @node: in accounts
 * @uid: the user
 * @user: the counts of its threads
 */
struct fgio_account {
	struct hlist_node node;
	kuid_t uid;
	struct fgio_trust_user user;
};

static DEFINE_HASHTABLE(accounts, FGIO_ACCOUNT_BITS);
static struct fgio_trust_list listed;
static struct dentry *counts_file;

static unsigned int user_foreground_max =
	FGIO_DEFAULT_user_foreground_max;

FGIO_NUMBER_PARAM(user_foreground_max, &user_foreground_max);

static int set_cgroups(const char *text, const struct kernel_param *param)
{
	struct fgio_trust_list *list = kmalloc(sizeof(*list), GFP_KERNEL);
	int error = 0;

	if (!list)
		return -ENOMEM;
	if (fgio_trust_parse(list, text))
		fgio_tag_relist(list);
	else
		error = -EINVAL;
	kfree(list);
	return error;
}

static int show_cgroup(char *page, int at,
		       const struct fgio_trust_cgroup *cgroup)
{
	const char *path = cgroup->length ? cgroup->path : "/";
	const char *comma = at ? "," : "";
	int length;

	length = scnprintf(page + at, PAGE_SIZE - at, "%s%s", comma, path);
	if (cgroup->max != FGIO_TRUST_NO_LIMIT)
		length += scnprintf(page + at + length, PAGE_SIZE - at - length,
				    "=%u", cgroup->max);
	return length;
}

/* The module's parameter lock serialises this with set_cgroups(). */
static int get_cgroups(char *page, const struct kernel_param *param)
{
	int at = 0;
	u32 i;

	if (!listed.count)
		return scnprintf(page, PAGE_SIZE, FGIO_TRUST_ANY "\n");
	for (i = 0; i < listed.count; i++)
		at += show_cgroup(page, at, &listed.cgroup[i]);
	return at + scnprintf(page + at, PAGE_SIZE - at, "\n");
}

static const struct kernel_param_ops cgroups_ops = {
	.set = set_cgroups,
	.get = get_cgroups,
};

module_param_cb(foreground_cgroups, &cgroups_ops, NULL, 0644);

bool fgio_trust_lists_cgroups(void)
{
	return READ_ONCE(listed.count);
}

bool fgio_trust_is_privileged(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_SYS_NICE);
}

struct fgio_account *fgio_trust_new_account(void)
{
	return kzalloc(sizeof(struct fgio_account), GFP_KERNEL_ACCOUNT);
}

/* Context: under RCU. */
static bool is_user_of(const struct cred *cred, struct task_struct *task)
{
	return uid_eq(task_uid(task), cred->euid) ||
	       uid_eq(task_uid(task), cred->uid);
}

bool fgio_may_tag(struct task_struct *task)
{
	bool same_user;

	rcu_read_lock();
	same_user = is_user_of(current_cred(), task);
	rcu_read_unlock();
	return same_user || capable(CAP_SYS_NICE);
}

bool fgio_may_lend(struct task_struct *waiter, struct task_struct *owner)
{
	return is_user_of(__task_cred(waiter), owner) ||
	       has_capability_noaudit(waiter, CAP_SYS_NICE);
}

/* All functions from here to trust_show() run under fgio_tags_lock. */

static u32 cgroups_of(struct task_struct *task)
{
	char path[FGIO_TRUST_PATH_BYTES];

	if (!listed.count)
		return 0;
	rcu_read_lock();
	fgio_cgroup_path(task, LEVEL_MAX, path, sizeof(path));
	rcu_read_unlock();
	return fgio_trust_match(&listed, path);
}

static struct fgio_account *find_account(kuid_t uid)
{
	struct fgio_account *account;

	hash_for_each_possible(accounts, account, node, __kuid_val(uid))
		if (uid_eq(account->uid, uid))
			return account;
	return NULL;
}

static struct fgio_account *use_account(kuid_t uid, struct fgio_account **new)
{
	struct fgio_account *account = *new;

	*new = NULL;
	account->uid = uid;
	hash_add(accounts, &account->node, __kuid_val(uid));
	return account;
}

static void take_foreground(struct fgio_charge *charge, u32 cgroups)
{
	charge->foreground = true;
	charge->cgroups = cgroups;
	fgio_trust_charge(&listed, &charge->account->user, cgroups);
}

void fgio_trust_uncharge(struct fgio_charge *charge)
{
	if (!charge->foreground)
		return;
	fgio_trust_release(&listed, &charge->account->user, charge->cgroups);
	charge->foreground = false;
}

void fgio_trust_give_back(struct fgio_charge *charge)
{
	struct fgio_account *account = charge->account;

	if (!account)
		return;
	fgio_trust_uncharge(charge);
	account->user.declaring -= charge->declaring;
	charge->declaring = false;
	charge->account = NULL;
	if (--account->user.threads)
		return;
	hash_del(&account->node);
	kfree(account);
}

/* An entry that becomes foreground is charged to its thread's present user. */
static void pay(struct fgio_charge *charge, kuid_t uid,
		struct fgio_account *account, struct fgio_account **new)
{
	bool declaring = charge->declaring;

	if (!account)
		account = use_account(uid, new);
	account->user.threads++;
	fgio_trust_give_back(charge);
	charge->account = account;
	charge->declaring = declaring;
	account->user.declaring += declaring;
}

static int error_of(enum fgio_trust_verdict verdict)
{
	switch (verdict) {
	case FGIO_TRUST_GRANTED:
		return 0;
	case FGIO_TRUST_NOT_LISTED:
		return -EACCES;
	default:
		return -EDQUOT;
	}
}

int fgio_trust_claim(struct fgio_charge *charge, struct task_struct *task,
		     enum fgio_wish wish, bool privileged,
		     struct fgio_account **new)
{
	static const struct fgio_trust_user nothing;
	const struct fgio_trust_limits limits = {
		.threads = max(fgio_tag_max() / 2, 1U),
		.foreground = READ_ONCE(user_foreground_max),
	};
	kuid_t uid = fgio_payer_uid(task);
	struct fgio_account *account = find_account(uid);
	bool foreground = wish == FGIO_WISH_FOREGROUND;
	bool becomes = foreground && !charge->foreground;
	const struct fgio_trust_claim claim = {
		.privileged = privileged,
		.foreground = foreground,
		.adds_thread = !charge->account ||
			       (becomes && charge->account != account),
		.adds_foreground = becomes,
		.adds_declaring = wish == FGIO_WISH_DECLARE &&
				  !charge->declaring,
		.cgroups = foreground ? cgroups_of(task) : 0,
	};
	int error;

	error = error_of(fgio_trust_judge(&listed, &limits,
					  account ? &account->user : &nothing,
					  &claim));
	if (error)
		return error;
	if (claim.adds_thread)
		pay(charge, uid, account, new);
	if (becomes)
		take_foreground(charge, claim.cgroups);
	if (claim.adds_declaring) {
		charge->account->user.declaring++;
		charge->declaring = true;
	}
	return 0;
}

void fgio_trust_set_list(const struct fgio_trust_list *list)
{
	u32 i;

	for (i = 0; i < list->count; i++)
		listed.cgroup[i] = list->cgroup[i];
	WRITE_ONCE(listed.count, list->count);
}

void fgio_trust_recount(struct fgio_charge *charge, struct task_struct *task)
{
	u32 i;

	if (!charge->foreground)
		return;
	charge->cgroups = cgroups_of(task);
	for (i = 0; i < listed.count; i++)
		listed.cgroup[i].foreground += charge->cgroups >> i & 1;
}

static int trust_show(struct seq_file *file, void *data)
{
	const struct fgio_account *account;
	unsigned int bucket;
	u32 i;

	spin_lock(&fgio_tags_lock);
	hash_for_each(accounts, bucket, account, node)
		seq_printf(file, "user %u threads %u foreground %u declaring %u\n",
			   __kuid_val(account->uid), account->user.threads,
			   account->user.foreground, account->user.declaring);
	for (i = 0; i < listed.count; i++)
		seq_printf(file, "cgroup %s foreground %u\n",
			   listed.cgroup[i].length ? listed.cgroup[i].path : "/",
			   listed.cgroup[i].foreground);
	spin_unlock(&fgio_tags_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(trust);

int fgio_trust_init(void)
{
	counts_file = debugfs_create_file("trust", 0400, fgio_debug_root(),
					  NULL, &trust_fops);
	return 0;
}

void fgio_trust_exit(void)
{
	debugfs_remove(counts_file);
}
