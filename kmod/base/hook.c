// SPDX-License-Identifier: GPL-2.0
/*
 * Attaches the hooks that follow waits while foreground tasks exist, and only
 * then: where nobody is foreground they cost nothing at all.
 *
 * At load every hook is attached for a moment, so that what cannot be attached
 * is known before it is missed. A hook in a module that comes later is tried
 * again when that module is there.
 *
 * Functions are probed by kretprobes, which all kernels have and which need no
 * prototype. A task may sleep in a probed function while its hook goes: it
 * returns through code of the kernel, which finds the handler gone.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "fgio.h"
#include "inherit.h"
#include "graph/wait.h"

/* Hooks stay so long after the last foreground task went. */
#define LINGER (5 * HZ)

static unsigned int hook_sleepers_max = 4096;
module_param(hook_sleepers_max, uint, 0444);
MODULE_PARM_DESC(hook_sleepers_max, "tasks that can be inside a hooked function at once (4096)");

static char *fail_hook = "";
module_param(fail_hook, charp, 0444);
MODULE_PARM_DESC(fail_hook, "for tests: the hook of this name cannot be attached");

static bool lone_hooks;
module_param(lone_hooks, bool, 0444);
MODULE_PARM_DESC(lone_hooks, "for tests: hooks that begin waits are attached without those that end them (N)");

static struct fgio_hook *const tables[] = {
	fgio_lock_hooks,    fgio_journal_hooks, fgio_xfs_hooks,
	fgio_io_hooks,	    fgio_flush_hooks,	fgio_futex_hooks,
	fgio_sleep_hooks,
	fgio_sysvsem_hooks, fgio_pagecache_hooks, fgio_gate_hooks,
};

static const char *const mechanism_names[FGIO_MECHANISMS] = {
	[FGIO_MECHANISM_LOCKS] = "locks",
	[FGIO_MECHANISM_JOURNAL] = "journal",
	[FGIO_MECHANISM_IO] = "io",
	[FGIO_MECHANISM_USER] = "user",
	[FGIO_MECHANISM_PAGECACHE] = "pagecache",
	[FGIO_MECHANISM_BLAME] = "blame",
	[FGIO_MECHANISM_GATE] = "gate",
	[FGIO_MECHANISM_COMMITS] = "commits",
};

static bool mechanisms[FGIO_MECHANISMS] = {
	true, true, true, true, true, true, false, true,
};

static void reconsider(struct work_struct *unused);
static DECLARE_DELAYED_WORK(work, reconsider);

static bool initialised;
/* Serialises attaching, and protects the members of hooks that it sets. */
static DEFINE_MUTEX(hooks_lock);

/* Jiffies when foreground I/O by priority was seen last; 0 for never. */
static unsigned long foreground_ioprio_at;

bool fgio_mechanism_on(enum fgio_mechanism mechanism)
{
	return READ_ONCE(mechanisms[mechanism]);
}

static void reconsider_soon(void)
{
	mutex_lock(&hooks_lock);
	if (initialised)
		mod_delayed_work(system_long_wq, &work, 0);
	mutex_unlock(&hooks_lock);
}

void fgio_mechanism_switch(enum fgio_mechanism mechanism, bool on)
{
	WRITE_ONCE(mechanisms[mechanism], on);
	reconsider_soon();
}

static int set_mechanism(const char *text, const struct kernel_param *param)
{
	int error = param_set_bool(text, param);

	if (!error)
		reconsider_soon();
	return error;
}

static const struct kernel_param_ops mechanism_ops = {
	.set = set_mechanism,
	.get = param_get_bool,
};

#define MECHANISM(name, which, what)                                       \
	module_param_cb(name, &mechanism_ops, &mechanisms[which], 0644);   \
	MODULE_PARM_DESC(name, what)

MECHANISM(locks, FGIO_MECHANISM_LOCKS, "follow waits for kernel locks (Y)");
MECHANISM(journal, FGIO_MECHANISM_JOURNAL,
	  "follow waits for file system journals (Y)");
MECHANISM(io, FGIO_MECHANISM_IO, "follow waits for outstanding I/O (Y)");
MECHANISM(user, FGIO_MECHANISM_USER,
	  "follow waits for locks and conditions in user space (Y)");
MECHANISM(commits, FGIO_MECHANISM_COMMITS,
	  "whoever syncs or writes a file that foreground tasks sync is one meanwhile (Y)");
MECHANISM(pagecache, FGIO_MECHANISM_PAGECACHE,
	  "keep room in the page cache for foreground tasks (Y)");

int fgio_hook_enter(struct kretprobe_instance *instance, u8 kind, u64 object,
		    u64 detail)
{
	u32 seq = fgio_wait_enter(kind, object, detail);

	*fgio_hook_seq(instance) = seq;
	return !seq;
}

int fgio_hook_leave(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	fgio_wait_leave(*fgio_hook_seq(instance));
	return 0;
}

/* Its arguments are not what its hook takes them for. */
static bool is_changed(const char *name)
{
	static const char *const changed[] = { FGIO_CHANGED_FUNCTIONS };
	unsigned int i;

	for (i = 0; changed[i][0]; i++)
		if (!strcmp(changed[i], name))
			return true;
	return false;
}

/* With one, ftrace knows that the function may be left out, as by a livepatch. */
static void after_function(struct kprobe *probe, struct pt_regs *regs,
			   unsigned long flags)
{
}

/* Return: why this function or tracepoint must not be hooked, or 0. */
int fgio_hook_objection(const char *name)
{
	if (!strcmp(name, fail_hook))
		return -EINVAL;
	return is_changed(name) ? -EPROTOTYPE : 0;
}

static int register_detour(struct fgio_hook *hook)
{
	struct kprobe *probe = &hook->kretprobe.kp;

	probe->pre_handler = hook->detour;
	probe->post_handler = after_function;
	return register_kprobe(probe);
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

static int register_symbol(struct fgio_hook *hook, const char *symbol)
{
	struct kretprobe *probe = &hook->kretprobe;

	memset(probe, 0, sizeof(*probe));
	probe->kp.symbol_name = symbol;
	return hook->detour ? register_detour(hook) : register_function(hook);
}

/*
 * Compilers append these to the name of a static function whose parameters
 * they changed. What would tell all symbols is not exported to modules.
 */
static const char *const clone_suffixes[] = {
	".isra.0", ".constprop.0", ".isra.0.constprop.0", ".constprop.0.isra.0",
};

static int register_clone(struct fgio_hook *hook)
{
	char symbol[96];
	unsigned int i;
	int error = -ENOENT;

	for (i = 0; i < ARRAY_SIZE(clone_suffixes) && error == -ENOENT; i++) {
		snprintf(symbol, sizeof(symbol), "%s%s", hook->name,
			 clone_suffixes[i]);
		error = register_symbol(hook, symbol);
	}
	/* The symbol was on the stack; its address is known now. */
	hook->kretprobe.kp.symbol_name = hook->name;
	return error;
}

static int attach_function(struct fgio_hook *hook)
{
	struct kretprobe *probe = &hook->kretprobe;
	unsigned long missed = probe->nmissed + probe->kp.nmissed;
	int error = register_symbol(hook, hook->name);

	if (error == -ENOENT && hook->may_be_clone)
		error = register_clone(hook);
	probe->nmissed = missed;
	return error;
}

/*
 * Nothing but the arguments is saved, and nothing looked up: a fraction of what
 * a probe costs.
 */
static int attach_look(struct fgio_hook *hook)
{
	struct ftrace_ops *operations = &hook->operations;
	int error = 0;

	operations->func = hook->look;
	/* Searches all functions of the kernel: once, at load. */
	if (!hook->is_aimed)
		error = ftrace_set_filter(operations,
					  (unsigned char *)hook->name,
					  strlen(hook->name), 1);
	if (error)
		return error;
	hook->is_aimed = true;
	return register_ftrace_function(operations);
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
	if (hook->end && !hook->end->attached && !lone_hooks)
		hook->error = hook->end->error ?: -ENOENT;
	else if (!hook->error)
		hook->error = attach_by_kind(hook);
	hook->attached = !hook->error;
}

#define FUNCTIONS_MAX 96

/* Functions whose hooks go together: each unregistering waits for all CPUs. */
static struct kretprobe *detached[FUNCTIONS_MAX];
static int detached_count;

static void unregister_detached(void)
{
	if (detached_count)
		unregister_kretprobes(detached, detached_count);
	detached_count = 0;
}

/* Done when unregister_detached() has been called. */
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
		unregister_ftrace_function(&hook->operations);
		return;
	}
	if (hook->detour) {
		unregister_kprobe(&hook->kretprobe.kp);
		return;
	}
	detached[detached_count++] = &hook->kretprobe;
	if (detached_count == FUNCTIONS_MAX)
		unregister_detached();
}

#define HOOKS_MAX 160

/* Those of all tables. */
static struct fgio_hook *hooks[HOOKS_MAX];
static unsigned int hook_count;

#define for_each_hook(i, hook) \
	for (i = 0; i < hook_count && (hook = hooks[i]); i++)

static int collect_hooks(void)
{
	struct fgio_hook *hook;
	unsigned int i;

	hook_count = 0;
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		for (hook = tables[i]; hook->name; hook++) {
			if (WARN_ON(hook_count == HOOKS_MAX))
				return -ENOSPC;
			hooks[hook_count++] = hook;
		}
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

static void link_pairs(void)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook) {
		if (!hook->ended_by)
			continue;
		hook->end = find_hook(hook->ended_by);
		if (!WARN_ON(!hook->end))
			hook->end->is_end = true;
	}
}

/* The error of a hook that begins what @end ends; 0 when one is attached. */
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

static void attach_some(bool (*comes)(const struct fgio_hook *hook), bool ends)
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

/*
 * Ends come before what begins: a wait that is recorded is seen to end. An end
 * without a begin is no use.
 */
static void attach_where(bool (*comes)(const struct fgio_hook *hook))
{
	attach_some(comes, true);
	attach_some(comes, false);
	detach_ends_alone();
}

static bool detach_some(bool (*goes)(const struct fgio_hook *hook), bool ends)
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
 * In the other order. Hooks that begin may still run on other CPUs when they are
 * detached: the first grace period is for them.
 *
 * Return: whether there were any. What those hooks recorded may have ended
 * unseen by now.
 */
static bool detach_where(bool (*goes)(const struct fgio_hook *hook))
{
	bool any = detach_some(goes, false);

	if (any)
		tracepoint_synchronize_unregister();
	if (detach_some(goes, true)) {
		tracepoint_synchronize_unregister();
		any = true;
	}
	return any;
}

/* --- when ------------------------------------------------------------- */

static bool is_on(const struct fgio_hook *hook)
{
	return fgio_mechanism_on(hook->mechanism);
}

static bool is_off(const struct fgio_hook *hook)
{
	return !is_on(hook);
}

static bool always(const struct fgio_hook *hook)
{
	return true;
}

static bool foreground_exists(void)
{
	unsigned long seen = READ_ONCE(foreground_ioprio_at);

	return fgio_foreground_count() ||
	       (seen && time_before(jiffies, seen + LINGER));
}

/*
 * Waits that were recorded by hooks which are gone would never end. No walk looks
 * at them from before a hook goes until they are forgotten.
 */
static void detach_and_forget(bool (*goes)(const struct fgio_hook *hook))
{
	fgio_walk_pause();
	if (detach_where(goes))
		fgio_wait_forget_all();
	fgio_walk_resume();
}

static void follow_waits(void)
{
	detach_and_forget(is_off);
	attach_where(is_on);
	WRITE_ONCE(fgio_waits_matter_now, true);
}

/*
 * From the moment that waits do not matter, their ends are ignored, and the ends
 * of threads: by then the walk has to be paused.
 */
static void ignore_waits(void)
{
	fgio_walk_pause();
	WRITE_ONCE(fgio_waits_matter_now, false);
	detach_where(always);
	fgio_wait_forget_all();
	fgio_walk_resume();
}

/*
 * A foreground task may come or go at any time: it is counted first, and asks for
 * waits to be followed or ignored by what fgio_waits_matter() says then. This
 * changes what that says first, and counts then. Between both lies a barrier on
 * either side, so that one of them sees the other.
 */
static void reconsider(struct work_struct *unused)
{
	mutex_lock(&hooks_lock);
	if (!foreground_exists() && READ_ONCE(fgio_waits_matter_now))
		ignore_waits();
	/* With fgio_foreground_appeared(). */
	smp_mb();
	if (foreground_exists()) {
		follow_waits();
		/* With fgio_foreground_vanished(). */
		smp_mb();
		/* Nothing tells when the last one by priority is gone. */
		if (!fgio_foreground_count())
			mod_delayed_work(system_long_wq, &work, LINGER);
	}
	mutex_unlock(&hooks_lock);
}

void fgio_saw_foreground_ioprio(void)
{
	unsigned long now = jiffies ?: 1;

	if (READ_ONCE(foreground_ioprio_at) == now)
		return;
	WRITE_ONCE(foreground_ioprio_at, now);
	/* With reconsider(). */
	smp_mb();
	if (!fgio_waits_matter() && READ_ONCE(initialised))
		queue_delayed_work(system_long_wq, &work, 0);
}

/* Returns when waits are followed, so that a thread's first one is. */
void fgio_foreground_appeared(void)
{
	/* With reconsider(). */
	smp_mb();
	if (fgio_waits_matter())
		return;
	mod_delayed_work(system_long_wq, &work, 0);
	flush_delayed_work(&work);
}

/* A foreground task is one no more, perhaps the last. Context: any. */
void fgio_foreground_vanished(void)
{
	/* With reconsider(). */
	smp_mb();
	if (fgio_waits_matter() && !fgio_foreground_count())
		mod_delayed_work(system_long_wq, &work, LINGER);
}

static const char *going_module;

static bool is_going(const struct fgio_hook *hook)
{
	size_t length = strlen(going_module);

	return !strncmp(hook->name, going_module, length) &&
	       hook->name[length] == ':';
}

static void note_gone(void)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook)
		if (is_going(hook) || (hook->end && is_going(hook->end)))
			hook->error = -ENOENT;
	detach_ends_alone();
}

static void let_module_go(const char *name)
{
	struct fgio_hook *hook;
	bool concerned = false;
	unsigned int i;

	going_module = name;
	for_each_hook(i, hook)
		concerned |= is_going(hook);
	if (!concerned)
		return;
	detach_and_forget(is_going);
	note_gone();
}

static int on_module(struct notifier_block *block, unsigned long state,
		     void *data)
{
	struct module *module = data;

	if (state == MODULE_STATE_LIVE && fgio_waits_matter())
		mod_delayed_work(system_long_wq, &work, 0);
	if (state == MODULE_STATE_GOING) {
		mutex_lock(&hooks_lock);
		let_module_go(module->name);
		mutex_unlock(&hooks_lock);
	}
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = {
	.notifier_call = on_module,
};

static void list_hook(struct fgio_hook_state *state,
		      const struct fgio_hook *hook)
{
	memset(state, 0, sizeof(*state));
	strscpy(state->name, hook->name, sizeof(state->name));
	strscpy(state->mechanism, mechanism_names[hook->mechanism],
		sizeof(state->mechanism));
	state->error = -hook->error;
	state->missed = hook->kretprobe.nmissed + hook->kretprobe.kp.nmissed;
	state->state = (hook->error ? 0 : FGIO_HOOK_WORKS) |
		       (hook->attached ? FGIO_HOOK_ATTACHED : 0) |
		       (hook->optional ? FGIO_HOOK_OPTIONAL : 0);
}

/* Return: how many hooks there are; at most @capacity were listed. */
int fgio_probe_list(struct fgio_hook_state *states, unsigned int capacity)
{
	struct fgio_hook *hook;
	unsigned int count = 0;
	unsigned int i;

	mutex_lock(&hooks_lock);
	for_each_hook(i, hook) {
		if (count < capacity)
			list_hook(&states[count], hook);
		count++;
	}
	mutex_unlock(&hooks_lock);
	return count;
}

static void warn_of_broken_hooks(void)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook) {
		/* A function of a module that is not loaded says nothing yet. */
		if (!hook->error || hook->optional || strchr(hook->name, ':'))
			continue;
		pr_warn("cannot attach to %s: error %d; see fgio doctor\n",
			hook->name, hook->error);
	}
}

int fgio_probe_init(void)
{
	int error = collect_hooks();

	if (error)
		return error;
	error = register_module_notifier(&module_notifier);
	if (error)
		return error;
	mutex_lock(&hooks_lock);
	link_pairs();
	attach_where(always);
	warn_of_broken_hooks();
	detach_where(always);
	mutex_unlock(&hooks_lock);
	WRITE_ONCE(initialised, true);
	return 0;
}

static void forget_aims(void)
{
	struct fgio_hook *hook;
	unsigned int i;

	for_each_hook(i, hook)
		if (hook->is_aimed)
			ftrace_free_filter(&hook->operations);
}

void fgio_probe_exit(void)
{
	unregister_module_notifier(&module_notifier);
	/* Under the lock, so that no switch queues the work after this. */
	mutex_lock(&hooks_lock);
	WRITE_ONCE(initialised, false);
	mutex_unlock(&hooks_lock);
	cancel_delayed_work_sync(&work);
	mutex_lock(&hooks_lock);
	if (READ_ONCE(fgio_waits_matter_now))
		ignore_waits();
	mutex_unlock(&hooks_lock);
	forget_aims();
}
