/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hooks on functions and tracepoints of the kernel, attached and detached
 * together, and in pairs where one hook ends the waits that another begins.
 *
 * Hooks run in the context of the task that waits, with preemption off and
 * perhaps with interrupts off and locks of the kernel held: they record, and
 * neither sleep nor wake nor allocate. A look that is @alone may be preempted,
 * and run after it was detached: it records no wait.
 *
 * The caller serialises all calls but fgio_hook_objection() and fgio_aim().
 */
#ifndef FGIO_HOOK_H
#define FGIO_HOOK_H

#include <linux/kprobes.h>
#include <linux/types.h>

#include "base/calls.h"
#include "base/mechanism.h"
#include "uapi/fgio.h"

struct tracepoint;

/**
 * struct fgio_hook - a hook on a function or a tracepoint
 * @name: of a function (with "module:" before it where it is in a module, or
 *	built in what mostly is one) or of a tracepoint
 * @mechanism: the mechanism that it serves
 * @entry: called before a function; arguments by regs_get_kernel_argument();
 *	its result other than 0 means that @exit need not be called
 * @exit: called after it, or NULL; finds in instance->data the bytes that
 *	@entry left there
 * @tracepoint: called instead at a tracepoint, with NULL as first argument
 * @look: called instead before a function, by ftrace itself: for functions that
 *	threads which are not foreground call all the time. In no pair
 * @alone: through an ftrace_ops of its own, for functions that are called too
 *	often to be told from others (base/calls.h)
 * @ended_by: name of the hook that ends the waits that this one begins. It is
 *	attached earlier and detached later; where either fails, both stay
 *	detached. A hook may end the waits of several others
 * @optional: not all kernels have it; no warning
 * @fallback: attached only where the entry before it cannot be
 * @for_tenants: attached without foreground tasks, too, while a disk is shared
 * @may_be_clone: a static function, which the compiler may have renamed
 *	NAME.isra.0 or the like; its arguments are then not those of the source,
 *	and @entry must not read them
 * @kretprobe: kept by hook.c, as are the members below
 * @found: the tracepoint
 * @is_built_in: it is known that the kernel has the function of its module
 * @unseen: the reason why calls of the function of @look cannot be seen, or 0
 * @place: of that function, or 0
 * @calls: of a @look that is @alone
 * @end: the hook that @ended_by names
 * @is_end: another hook names this one in @ended_by
 * @error: the reason why it cannot be attached, or 0
 * @attached: whether it is attached
 */
struct fgio_hook {
	const char *name;
	enum fgio_mechanism mechanism;
	int (*entry)(struct kretprobe_instance *instance, struct pt_regs *regs);
	int (*exit)(struct kretprobe_instance *instance, struct pt_regs *regs);
	void *tracepoint;
	ftrace_func_t look;
	const char *ended_by;
	bool optional;
	bool fallback;
	bool for_tenants;
	bool may_be_clone;
	bool alone;

	struct kretprobe kretprobe;
	bool is_built_in;
	int unseen;
	unsigned long place;
	struct fgio_calls calls;
	struct tracepoint *found;
	struct fgio_hook *end;
	bool is_end;
	int error;
	bool attached;
};

/* Bytes that entry may leave for exit in instance->data. */
#define FGIO_HOOK_DATA 32

/* A hook of a function, for FGIO_MECHANISM_@which; more members may follow. */
#define FGIO_HOOK(function, which, on_entry, on_exit, ...) \
	{                                                  \
		.name = function,                          \
		.mechanism = FGIO_MECHANISM_##which,       \
		.entry = on_entry,                         \
		.exit = on_exit,                           \
		##__VA_ARGS__                              \
	}

/* A hook that ftrace calls before a function, with its arguments. */
#define FGIO_LOOK(function, which, called, ...)            \
	{                                                  \
		.name = function,                          \
		.mechanism = FGIO_MECHANISM_##which,       \
		.look = called,                            \
		##__VA_ARGS__                              \
	}

typedef bool fgio_hook_test_t(const struct fgio_hook *hook);

/* Return: an error when the function or tracepoint must not be hooked, or 0. */
int fgio_hook_objection(const char *name);

/*
 * Has ftrace call @operations for the function alone, once they are registered.
 * Context: may sleep. Return: 0 or an error.
 */
int fgio_aim(struct ftrace_ops *operations, const char *name);

/* Chooses how many tasks can be inside one function, unless an administrator did. */
void fgio_hooks_init(void);

/*
 * Adds the hooks of an array that ends with an entry without a name. All are
 * added before the first is attached. Return: 0 or -ENOSPC.
 */
int fgio_hooks_add(struct fgio_hook *table);

/* All hooks were added: finds the hook that each @ended_by names. */
void fgio_hooks_link_pairs(void);

/*
 * All hooks were added: finds the functions of looks, and notes which of them
 * cannot be seen. Context: may sleep.
 */
void fgio_hooks_find_calls(void);

/*
 * Attaches the hooks that @comes is true of: ends before begins, so that the
 * end of each recorded wait is seen. An end whose begins all failed stays
 * detached. Context: may sleep.
 */
void fgio_hooks_attach(fgio_hook_test_t *comes);

/*
 * Detaches the hooks that @goes is true of, and begins whose ends go: begins
 * first, and ends when no begin runs any more.
 *
 * Return: whether there were any. Waits that those hooks recorded may have
 * ended unseen by now. Context: may sleep.
 */
bool fgio_hooks_detach(fgio_hook_test_t *goes);

/* Whether there is a hook that @is is true of, attached or not. */
bool fgio_hooks_any(fgio_hook_test_t *is);

/*
 * Whether a hook of a table that its kernel should have could not be attached.
 * Those of a module of which no hook could are not counted: it is not loaded.
 * Context: any; what is being attached meanwhile counts as before or as after.
 */
bool fgio_hooks_lack_any(const struct fgio_hook *table);

/* The functions of hooks that @is is true of are gone. Context: may sleep. */
void fgio_hooks_note_gone(fgio_hook_test_t *is);

/* Return: the number of hooks; at most @capacity were listed. */
int fgio_hooks_list(struct fgio_hook_state *states, unsigned int capacity);

/* Logs the hooks that cannot be attached. */
void fgio_hooks_warn(void);

/* No hook is attached, and none will be. */
void fgio_hooks_exit(void);

#endif /* FGIO_HOOK_H */
