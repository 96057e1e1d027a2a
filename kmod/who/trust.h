/* SPDX-License-Identifier: GPL-2.0 */
/* Between tag.c, which asks, and trust.c, which knows what each user has. */
#ifndef FGIO_TRUST_H
#define FGIO_TRUST_H

#include <linux/spinlock.h>
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

/* tag.c: protects all counts. Taken with interrupts on. */
extern spinlock_t fgio_tags_lock;
int fgio_tag_declare(void);
void fgio_tag_relist(const struct fgio_trust_list *list);

/* trust.c */
bool fgio_trust_lists_cgroups(void);
bool fgio_trust_is_privileged(void);
u32 fgio_trust_payer_of(struct task_struct *task);
struct fgio_account *fgio_trust_new_account(void);
int fgio_trust_claim(struct fgio_charge *charge, struct task_struct *task,
		     enum fgio_wish wish, bool privileged,
		     struct fgio_account **new);
void fgio_trust_calm(struct fgio_charge *charge);
void fgio_trust_give_back(struct fgio_charge *charge);
void fgio_trust_set_list(const struct fgio_trust_list *list);
void fgio_trust_recount(struct fgio_charge *charge, struct task_struct *task);
int fgio_trust_init(void);
void fgio_trust_exit(void);

#endif /* FGIO_TRUST_H */
