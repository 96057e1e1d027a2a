/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of tasks that outlive them. An *identity* is a thread id and a start
 * time: unlike the address of a task, it never names another task later. A
 * *payer* is the user whose share of a table a task uses.
 */
#ifndef FGIO_IDENTITY_H
#define FGIO_IDENTITY_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct task_struct;

/* Context: any; the task exists. Never 0 for a thread. */
u64 fgio_identity_of(const struct task_struct *task);

/*
 * The thread with an id of the initial pid namespace; NULL when it has ended.
 * Context: RCU.
 */
struct task_struct *fgio_thread_of(pid_t tid);

/*
 * The task with an identity; NULL when it has ended. One for which its parent has
 * yet to wait leads to the other threads of its process. Context: RCU.
 */
struct task_struct *fgio_task_of(u64 identity);

/* The same, but NULL, too, when its parent has yet to wait. Context: RCU. */
struct task_struct *fgio_live_task_of(u64 identity);

/*
 * The real user of a task; in a user namespace, the owner of the outermost one.
 * Context: any but NMI; the task exists.
 */
kuid_t fgio_payer_uid(struct task_struct *task);

/*
 * The payer as a number, the same one for all threads of the kernel. Context:
 * any but NMI; the task exists.
 */
u32 fgio_payer_of(struct task_struct *task);

#endif /* FGIO_IDENTITY_H */
