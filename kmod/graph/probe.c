// SPDX-License-Identifier: GPL-2.0
/*
 * Attaches hooks while foreground tasks exist, and a few while a disk is shared.
 *
 * At load the functions of looks are found, and all other hooks attached for a
 * moment: so hooks which cannot be attached are known before they are needed. A
 * hook in a module that is loaded later is tried again then.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "base/hook.h"
#include "base/mechanism.h"
#include "graph/layer.h"
#include "graph/probe.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "who/presence.h"

static void reconsider(struct work_struct *unused);
/* Two, as the last foreground task's end puts the first off, and no switch. */
static DECLARE_DELAYED_WORK(later, reconsider);
static DECLARE_WORK(at_once, reconsider);

static bool initialised;
/* Serialises attaching. */
static DEFINE_MUTEX(hooks_lock);
/* Hooks that need foreground tasks may be attached. Under hooks_lock. */
static bool follows;
/* Disks that are shared. */
static atomic_t tenants = ATOMIC_INIT(0);

static void reconsider_soon(void)
{
	mutex_lock(&hooks_lock);
	if (initialised)
		queue_work(system_long_wq, &at_once);
	mutex_unlock(&hooks_lock);
}

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

static bool is_on(const struct fgio_hook *hook)
{
	return fgio_mechanism_on(hook->mechanism) &&
	       (follows || (hook->for_tenants && atomic_read(&tenants)));
}

static bool is_off(const struct fgio_hook *hook)
{
	return !is_on(hook);
}

/* A foreground task came while hooks went, and waits for that. Under hooks_lock. */
static bool rest_stays;

/* Of a pair, an end does not go where the foreground is gone again. */
static bool is_over(const struct fgio_hook *hook)
{
	rest_stays |= fgio_foreground_exists();
	return !rest_stays && is_off(hook);
}

static bool always(const struct fgio_hook *hook)
{
	return true;
}

static bool is_probe(const struct fgio_hook *hook)
{
	return !hook->look;
}

static void forget_all(void)
{
	fgio_wait_forget_all();
	fgio_layers_forget();
}

/*
 * Waits that were recorded by detached hooks would never end. No walk looks at
 * them from before a hook is detached until they are forgotten.
 */
static void detach_and_forget(fgio_hook_test_t *goes)
{
	fgio_walk_pause();
	if (fgio_hooks_detach(goes))
		forget_all();
	fgio_walk_resume();
}

static void attach_those_on(void)
{
	detach_and_forget(is_off);
	fgio_hooks_attach(is_on);
}

static void follow_waits(void)
{
	follows = true;
	attach_those_on();
	fgio_waits_set_matter(true);
}

/*
 * Once waits do not matter, the ends of waits and of threads are ignored: the
 * walk has to be paused before.
 */
static void ignore_waits(void)
{
	fgio_walk_pause();
	fgio_waits_set_matter(false);
	follows = false;
	rest_stays = false;
	/* In any case, none runs that has not seen that waits do not matter. */
	if (!fgio_hooks_detach(is_over))
		tracepoint_synchronize_unregister();
	forget_all();
	fgio_walk_resume();
}

/*
 * A foreground task may come or go at any time: it changes the count, then
 * reads fgio_waits_matter() and asks for a change if need be. This function
 * changes fgio_waits_matter(), then reads the count. Both sides have a barrier
 * between the two, so at least one of them sees the other.
 */
static void reconsider_locked(void)
{
	if (!fgio_foreground_exists() && fgio_waits_matter() &&
	    fgio_presence_ends())
		ignore_waits();
	/* Pairs with fgio_foreground_appeared(). */
	smp_mb();
	if (fgio_foreground_exists()) {
		follow_waits();
		/* Pairs with fgio_foreground_vanished(). */
		smp_mb();
		/* The end of the last task by priority is not seen: poll. */
		if (!fgio_foreground_count())
			queue_delayed_work(system_long_wq, &later,
					   FGIO_FOREGROUND_LINGER);
	} else {
		attach_those_on();
		/* One came and went since: its end is to be seen. */
		if (fgio_waits_matter())
			queue_delayed_work(system_long_wq, &later,
					   FGIO_FOREGROUND_LINGER);
	}
	fgio_presence_goes_on();
}

static void reconsider(struct work_struct *unused)
{
	mutex_lock(&hooks_lock);
	reconsider_locked();
	mutex_unlock(&hooks_lock);
}

/* Of many tasks that become foreground at a time, the first has all to do. */
static void follow_now(void)
{
	mutex_lock(&hooks_lock);
	if (!fgio_waits_matter())
		reconsider_locked();
	mutex_unlock(&hooks_lock);
}

void fgio_probe_tenants(bool comes)
{
	if (comes)
		atomic_inc(&tenants);
	else
		atomic_dec(&tenants);
	queue_work(system_long_wq, &at_once);
}

static const char *going_module;

static bool is_going(const struct fgio_hook *hook)
{
	size_t length = strlen(going_module);

	return !strncmp(hook->name, going_module, length) &&
	       hook->name[length] == ':';
}

static void let_module_go(const char *name)
{
	going_module = name;
	if (!fgio_hooks_any(is_going))
		return;
	detach_and_forget(is_going);
	fgio_hooks_note_gone(is_going);
}

static int on_module(struct notifier_block *block, unsigned long state,
		     void *data)
{
	struct module *module = data;

	if (state == MODULE_STATE_LIVE && fgio_waits_matter())
		queue_work(system_long_wq, &at_once);
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

int fgio_probe_list(struct fgio_hook_state *states, unsigned int capacity)
{
	int count;

	mutex_lock(&hooks_lock);
	count = fgio_hooks_list(states, capacity);
	mutex_unlock(&hooks_lock);
	return count;
}

static int add_hooks(void)
{
	const struct fgio_layer *layer;
	unsigned int i;
	int error = 0;

	for (i = 0; !error && (layer = fgio_layer_at(i)); i++)
		if (layer->hooks)
			error = fgio_hooks_add(layer->hooks);
	return error;
}

int fgio_probe_init(void)
{
	int error;

	fgio_hooks_init();
	error = add_hooks();
	if (error)
		return error;
	error = register_module_notifier(&module_notifier);
	if (error)
		return error;
	mutex_lock(&hooks_lock);
	fgio_hooks_link_pairs();
	fgio_hooks_find_calls();
	fgio_hooks_attach(is_probe);
	fgio_hooks_warn();
	fgio_hooks_detach(always);
	mutex_unlock(&hooks_lock);
	WRITE_ONCE(initialised, true);
	fgio_mechanism_init(reconsider_soon);
	fgio_presence_init(&at_once, &later, follow_now);
	return 0;
}

void fgio_probe_exit(void)
{
	fgio_presence_exit();
	unregister_module_notifier(&module_notifier);
	/* Under the lock, so that no switch queues the work later. */
	mutex_lock(&hooks_lock);
	WRITE_ONCE(initialised, false);
	mutex_unlock(&hooks_lock);
	/* The first may queue the other. */
	cancel_work_sync(&at_once);
	cancel_delayed_work_sync(&later);
	mutex_lock(&hooks_lock);
	if (fgio_waits_matter())
		ignore_waits();
	/* Those for tenants: no disk is under the elevator any more. */
	detach_and_forget(always);
	mutex_unlock(&hooks_lock);
	fgio_hooks_exit();
}
