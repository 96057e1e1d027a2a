// SPDX-License-Identifier: GPL-2.0
/*
 * Attaching hooks.
 *
 * Functions are probed by kretprobes, which all kernels have and which need no
 * prototype. A task may sleep in a probed function while the hook is detached:
 * it returns through the kernel's trampoline, which finds no handler.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "base/calls.h"
#include "base/hook.h"
#include "base/scale.h"
#include "base/setting.h"
#include "base/tracepoint.h"
#include "compat/compat.h"

static unsigned int hook_sleepers_max = FGIO_DEFAULT_hook_sleepers_max;
module_param(hook_sleepers_max, uint, 0444);

void fgio_hooks_init(void)
{
	if (!hook_sleepers_max)
		hook_sleepers_max =
			fgio_scale_of_machine() / FGIO_WAITS_PER_HOOK;
}

/* The function has other arguments in this kernel than its hook expects. */
static bool is_changed(const char *name)
{
	static const char *const changed[] = { FGIO_CHANGED_FUNCTIONS };
	unsigned int i;

	for (i = 0; changed[i][0]; i++)
		if (!strcmp(changed[i], name))
			return true;
	return false;
}

int fgio_hook_objection(const char *name)
{
	return is_changed(name) ? -EPROTOTYPE : 0;
}

static int register_function(struct fgio_hook *hook)
{
	struct kretprobe *probe = &hook->kretprobe;

	probe->entry_handler = hook->entry;
	probe->handler = hook->exit;
	probe->data_size = FGIO_HOOK_DATA;
	probe->maxactive = hook->exit ? hook_sleepers_max :
					2 * num_possible_cpus();
	return register_kretprobe(probe);
}

/*
 * The place of a function. A kprobe looks up the one name, the first of several:
 * the kernel's own before those of modules. It is never armed.
 */
static int find_function(const char *name, unsigned long *place)
{
	struct kprobe probe = {
		.symbol_name = name,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int error = register_kprobe(&probe);

	if (error)
		return error;
	unregister_kprobe(&probe);
	*place = (unsigned long)probe.addr;
	return 0;
}

/* Whether the kernel itself has a function of this name, not a module. */
static bool is_of_kernel(const char *symbol)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned long place;

	if (find_function(symbol, &place))
		return false;
	sprint_symbol(name, place);
	/* "function+0x0/0x10 [module]" */
	return !strchr(name, '[');
}

static int register_symbol(struct fgio_hook *hook, const char *symbol)
{
	struct kretprobe *probe = &hook->kretprobe;

	if (strchr(hook->name, ':') && !strchr(symbol, ':') &&
	    !hook->is_built_in) {
		if (!is_of_kernel(symbol))
			return -ENOENT;
		/* Once for all: to ask waits for other CPUs. */
		hook->is_built_in = !hook->may_be_clone;
	}
	memset(probe, 0, sizeof(*probe));
	probe->kp.symbol_name = symbol;
	return register_function(hook);
}

/*
 * Compilers append these to the name of a static function whose parameters
 * they changed. Modules cannot list all symbols: the function is not exported.
 */
static const char *const clone_suffixes[] = {
	".isra.0", ".constprop.0", ".isra.0.constprop.0", ".constprop.0.isra.0",
};

static int register_clone(struct fgio_hook *hook, const char *name)
{
	char symbol[96];
	unsigned int i;
	int error = -ENOENT;

	for (i = 0; i < ARRAY_SIZE(clone_suffixes) && error == -ENOENT; i++) {
		snprintf(symbol, sizeof(symbol), "%s%s", name,
			 clone_suffixes[i]);
		error = register_symbol(hook, symbol);
	}
	/* The name was on the stack; the symbol's address is known now. */
	hook->kretprobe.kp.symbol_name = hook->name;
	return error;
}

static int register_name(struct fgio_hook *hook, const char *name)
{
	int error = register_symbol(hook, name);

	if (error == -ENOENT && hook->may_be_clone)
		error = register_clone(hook, name);
	return error;
}

/* A kernel may have built in what is a module of another one. */
static int attach_function(struct fgio_hook *hook)
{
	struct kretprobe *probe = &hook->kretprobe;
	unsigned long missed = probe->nmissed + probe->kp.nmissed;
	const char *colon = strchr(hook->name, ':');
	int error = register_name(hook, hook->name);

	if (error == -ENOENT && colon)
		error = register_name(hook, colon + 1);
	probe->nmissed = missed;
	return error;
}

/*
 * For replacements of the lab. By name, ftrace would look up the name of every function
 * of the kernel. Where kprobes may not be, as in functions that they use, the name has to do.
 */
int fgio_aim(struct ftrace_ops *operations, const char *name)
{
	unsigned long place;
	int error = find_function(name, &place);

	if (error == -EINVAL)
		return ftrace_set_filter(operations, (unsigned char *)name,
					 strlen(name), 1);
	if (error)
		return error;
	return ftrace_set_filter_ip(operations, place, 0, 1);
}
FGIO_EXPORT(fgio_aim);

/*
 * A function that was not found at load is not looked for again: it would be another
 * one, of a module. Of shared looks it is complete once they are committed.
 */
static int attach_look(struct fgio_hook *hook)
{
	if (hook->unseen)
		return hook->unseen;
	if (hook->alone)
		return fgio_calls_see(&hook->calls, &hook->place, 1);
	fgio_calls_watch(hook->place, hook->look);
	return 0;
}

static void detach_look(struct fgio_hook *hook)
{
	if (hook->alone)
		fgio_calls_see(&hook->calls, NULL, 0);
	else
		fgio_calls_watch(hook->place, NULL);
}

static int attach_tracepoint(struct fgio_hook *hook)
{
	if (!hook->found)
		hook->found = fgio_find_tracepoint(hook->name);
	if (!hook->found)
		return -ENOENT;
	return tracepoint_probe_register(hook->found, hook->tracepoint, NULL);
}

static int attach_by_kind(struct fgio_hook *hook)
{
	if (hook->tracepoint)
		return attach_tracepoint(hook);
	return hook->look ? attach_look(hook) : attach_function(hook);
}

static void attach(struct fgio_hook *hook)
{
	if (hook->attached)
		return;
	if (hook->fallback && !hook[-1].error)
		return;
	hook->error = fgio_hook_objection(hook->name);
	if (hook->end && !hook->end->attached)
		hook->error = hook->end->error ?: -ENOENT;
	else if (!hook->error)
		hook->error = attach_by_kind(hook);
	hook->attached = !hook->error;
}

#define DETACHED_MAX 8

/*
 * Unregistered together, since each call waits for all CPUs; but not all, since
 * detaching ends early where a hook is needed again.
 */
static struct kretprobe *detached[DETACHED_MAX];
static int detached_count;

static void unregister_detached(void)
{
	if (detached_count)
		unregister_kretprobes(detached, detached_count);
	detached_count = 0;
}

/* Complete once unregister_detached() and, of a look, fgio_calls_commit() were called. */
static void detach(struct fgio_hook *hook)
{
	if (!hook->attached)
		return;
	hook->attached = false;
	if (hook->tracepoint) {
		tracepoint_probe_unregister(hook->found, hook->tracepoint,
					    NULL);
		return;
	}
	if (hook->look) {
		detach_look(hook);
		return;
	}
	detached[detached_count++] = &hook->kretprobe;
	if (detached_count == DETACHED_MAX)
		unregister_detached();
}

#define HOOKS_MAX 160

/* The hooks of all tables. */
static struct fgio_hook *hooks[HOOKS_MAX];
static unsigned int hook_count;

#define for_each_hook(i, hook) \
	for (i = 0; i < hook_count && (hook = hooks[i]); i++)

int fgio_hooks_add(struct fgio_hook *table)
{
	struct fgio_hook *hook;

	for (hook = table; hook->name; hook++) {
		if (WARN_ON(hook_count == HOOKS_MAX))
			return -ENOSPC;
		hooks[hook_count++] = hook;
	}
	return 0;
}

/* --- pairs ------------------------------------------------------------ */

static struct fgio_hook *find_hook(const char *name)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook)
		if (!strcmp(hook->name, name))
			return hook;
	return NULL;
}

void fgio_hooks_link_pairs(void)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook) {
		if (!hook->ended_by)
			continue;
		hook->end = find_hook(hook->ended_by);
		if (!WARN_ON(!hook->end || hook->look || hook->end->look))
			hook->end->is_end = true;
	}
}

/* The error of the hooks that @end belongs to; 0 when one is attached. */
static int error_of_begins(const struct fgio_hook *end)
{
	struct fgio_hook *hook;
	int error = -ENOENT;
	unsigned int i;

	for_each_hook(i, hook) {
		if (hook->end != end)
			continue;
		if (hook->attached)
			return 0;
		error = hook->error ?: error;
	}
	return error;
}

static void attach_some(fgio_hook_test_t *comes, bool ends)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook)
		if (hook->is_end == ends && comes(hook))
			attach(hook);
}

static void detach_ends_alone(void)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook) {
		if (!hook->is_end || !hook->attached)
			continue;
		hook->error = error_of_begins(hook);
		if (hook->error)
			detach(hook);
	}
	unregister_detached();
}

/* The looks that are seen together fail together. */
static void fail_shared(int error)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook) {
		if (!hook->look || hook->alone || !hook->attached)
			continue;
		hook->error = error;
		detach(hook);
	}
	fgio_calls_commit();
}

void fgio_hooks_attach(fgio_hook_test_t *comes)
{
	int error;

	attach_some(comes, true);
	attach_some(comes, false);
	error = fgio_calls_commit();
	if (error)
		fail_shared(error);
	detach_ends_alone();
}

static bool detach_some(fgio_hook_test_t *goes, bool ends)
{
	struct fgio_hook *hook;
	bool any = false;
	unsigned int i;

	for_each_hook(i, hook) {
		if (!hook->attached || hook->is_end != ends ||
		    !(goes(hook) || (hook->end && goes(hook->end))))
			continue;
		detach(hook);
		any = true;
	}
	unregister_detached();
	return any;
}

/*
 * Detached hooks that begin waits may still run on other CPUs: the first grace
 * period is for them.
 */
bool fgio_hooks_detach(fgio_hook_test_t *goes)
{
	bool any = detach_some(goes, false);

	if (any) {
		fgio_calls_commit();
		tracepoint_synchronize_unregister();
	}
	if (detach_some(goes, true)) {
		tracepoint_synchronize_unregister();
		any = true;
	}
	return any;
}

/* --- calls ------------------------------------------------------------ */

/* Return: 0, or the reason why ftrace cannot see calls of the function. */
static int aim_look(struct fgio_hook *hook)
{
	if (!hook->alone)
		return fgio_calls_share(hook->place);
	hook->calls.operations.func = hook->look;
	return ftrace_set_filter_ip(&hook->calls.operations, hook->place, 0, 1);
}

/*
 * As find_function(), but that the probe is returned for the caller to unregister: for
 * all looks together, since that waits for all CPUs.
 */
static struct kprobe *find_look(struct fgio_hook *hook)
{
	struct kprobe *probe = &hook->kretprobe.kp;

	hook->unseen = fgio_hook_objection(hook->name);
	if (hook->unseen)
		return NULL;
	probe->symbol_name = hook->name;
	probe->flags = KPROBE_FLAG_DISABLED;
	hook->unseen = register_kprobe(probe);
	if (hook->unseen)
		return NULL;
	hook->place = (unsigned long)probe->addr;
	hook->unseen = aim_look(hook);
	return probe;
}

void fgio_hooks_find_calls(void)
{
	static struct kprobe *probes[HOOKS_MAX];
	struct fgio_hook *hook;
	int count = 0;
	unsigned int i;

	for_each_hook(i, hook) {
		if (!hook->look)
			continue;
		probes[count] = find_look(hook);
		count += probes[count] != NULL;
		/* One that is not needed counts as working. */
		hook->error = hook->fallback && !hook[-1].error ? 0 :
							       hook->unseen;
	}
	if (count)
		unregister_kprobes(probes, count);
}

/* --- all -------------------------------------------------------------- */

bool fgio_hooks_any(fgio_hook_test_t *is)
{
	struct fgio_hook *hook;
	bool any = false;
	unsigned int i;

	for_each_hook(i, hook)
		any |= is(hook);
	return any;
}

/* Whether the module of a hook's function is loaded: a hook there works. */
static bool is_module_there(const struct fgio_hook *table,
			    const struct fgio_hook *hook, size_t prefix)
{
	const struct fgio_hook *other;

	for (other = table; other->name; other++)
		if (!READ_ONCE(other->error) &&
		    !strncmp(other->name, hook->name, prefix))
			return true;
	return false;
}

bool fgio_hooks_lack_any(const struct fgio_hook *table)
{
	const struct fgio_hook *hook;
	const char *colon;

	for (hook = table; hook->name; hook++) {
		if (likely(!READ_ONCE(hook->error)) || hook->optional)
			continue;
		colon = strchr(hook->name, ':');
		if (!colon ||
		    is_module_there(table, hook, colon + 1 - hook->name))
			return true;
	}
	return false;
}

void fgio_hooks_note_gone(fgio_hook_test_t *is)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook)
		if (is(hook) || (hook->end && is(hook->end)))
			hook->error = -ENOENT;
	detach_ends_alone();
}

static void list_hook(struct fgio_hook_state *state,
		      const struct fgio_hook *hook)
{
	memset(state, 0, sizeof(*state));
	strscpy(state->name, hook->name, sizeof(state->name));
	strscpy(state->mechanism, fgio_mechanism_name(hook->mechanism),
		sizeof(state->mechanism));
	state->error = -hook->error;
	state->missed = hook->kretprobe.nmissed + hook->kretprobe.kp.nmissed;
	state->state = (hook->error ? 0 : FGIO_HOOK_WORKS) |
		       (hook->attached ? FGIO_HOOK_ATTACHED : 0) |
		       (hook->optional ? FGIO_HOOK_OPTIONAL : 0);
}

int fgio_hooks_list(struct fgio_hook_state *states, unsigned int capacity)
{
	struct fgio_hook *hook;
	unsigned int count = 0;
	unsigned int i;

	for_each_hook(i, hook) {
		if (count < capacity)
			list_hook(&states[count], hook);
		count++;
	}
	return count;
}

void fgio_hooks_warn(void)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook) {
		/* A module that is not loaded may have the function. */
		if (!hook->error || hook->optional || strchr(hook->name, ':'))
			continue;
		pr_warn("cannot attach to %s: error %d; see fgio doctor\n",
			hook->name, hook->error);
	}
}

void fgio_hooks_exit(void)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook)
		if (hook->look)
			fgio_calls_end(&hook->calls);
	fgio_calls_exit();
}
