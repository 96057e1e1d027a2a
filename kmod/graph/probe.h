/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hooks that record waits: attached while foreground tasks exist; some are while
 * a disk is shared, too.
 */
#ifndef FGIO_PROBE_H
#define FGIO_PROBE_H

#include "base/hook.h"

/* The seq of fgio_wait_enter(), which most hooks keep for their exit. */
static inline u32 *fgio_hook_seq(struct kretprobe_instance *instance)
{
	return (u32 *)instance->data;
}

/*
 * The end of most entries: the current task begins to wait, until
 * fgio_hook_leave(). Return: the result of the entry.
 */
int fgio_hook_enter(struct kretprobe_instance *instance, u8 kind, u64 object,
		    u64 detail);

/* The exit of most hooks: the wait that the entry recorded is over. */
int fgio_hook_leave(struct kretprobe_instance *instance, struct pt_regs *regs);

/*
 * A disk is shared from now on, or no longer: hooks that are for tenants follow
 * soon. Context: any, from fgio_probe_init() to fgio_probe_exit().
 */
void fgio_probe_tenants(bool comes);

/* As fgio_hooks_list(). Context: may sleep. */
int fgio_probe_list(struct fgio_hook_state *states, unsigned int capacity);

int fgio_probe_init(void);
void fgio_probe_exit(void);

#endif /* FGIO_PROBE_H */
