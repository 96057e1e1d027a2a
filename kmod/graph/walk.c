// SPDX-License-Identifier: GPL-2.0
/*
 * The thread that walks the wait graph (core/inherit.c) while foreground tasks
 * wait: it finds the tasks in the way, boosts them, and has their I/O promoted.
 *
 * Most waits are short. A wait is walked once it has lasted walk_delay_us, then
 * again and again (alarm.h): so a change of owner, a missed event and a growing
 * chain need no handling of their own.
 */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/hash.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/vmalloc.h>

#include "base/foreign.h"
#include "base/hook.h"
#include "base/mechanism.h"
#include "base/scale.h"
#include "base/setting.h"
#include "base/trace.h"
#include "base/waker.h"
#include "core/reason.h"
#include "graph/alarm.h"
#include "graph/blame.h"
#include "graph/layer.h"
#include "graph/wait.h"
#include "graph/walk.h"
#include "who/tag.h"

/* Rounds of one walk: it goes on from tasks found by block/'s answers. */
#define ROUNDS_MAX 3

static bool transitive = FGIO_DEFAULT_transitive;
module_param(transitive, bool, 0644);

static unsigned int walk_roots_max = FGIO_LINKS_MAX / 2;
module_param(walk_roots_max, uint, 0444);
MODULE_PARM_DESC(walk_roots_max, "for tests: foreground tasks from which one walk starts; others have their turn in the next walks (2048)");

static unsigned int walk_links_max = FGIO_LINKS_MAX;
module_param(walk_links_max, uint, 0644);
MODULE_PARM_DESC(walk_links_max, "for tests: tasks that one walk has room for; the rest is left out (4096)");

struct name {
	u64 task;
	u32 walk;
	s32 tid;
	char comm[TASK_COMM_LEN];
};

/* The state of the current walk; for the walk's thread alone. */
static struct {
	struct fgio_walk walk;
	struct fgio_wanted *wanted;
	unsigned int wanted_count;
	struct name *names;
	/*
	 * By link: the kind of the task's own wait, FGIO_BLAME_* done, and
	 * FGIO_FACT_* about it.
	 */
	u8 *kinds;
	u32 *actions;
	u32 *facts;
	u32 *root_seqs;
	u64 *root_since_ns;
	/* Leases that were renewed before this walk end with it. */
	u32 since;
	/* Something became critical that was not, since the last pause. */
	bool helped;
} now;

/* Held while a walk looks at waiting tasks. */
static DEFINE_MUTEX(walking);
/* Under walking: no walk looks at tasks any more. */
static bool is_stopped;

static struct task_struct *thread;
/* Makes the I/O that the walk looks for critical. */
static fgio_promote_fn *promote;
/* What the last walk says of the next one: as fgio_alarm_again() has it. */
static struct {
	u64 age_ns;
	enum fgio_in_the_way found;
} next;
static u64 last_walk_ns;

/*
 * Numbers of the walks in which this turn and the last one began. A turn takes
 * more than one walk when more foreground tasks wait than one walk has room
 * for.
 */
static u32 turn_began, last_turn_began;

static struct {
	u64 walks;
	u64 walk_ns;
	u64 boosted_ns;
	u64 in_vain_ns;
} totals;

static bool walk_is_needed(void)
{
	return fgio_wait_roots_exist() || fgio_wait_leases_exist();
}

/* Context: hard interrupt. */
static void ring(void)
{
	if (walk_is_needed())
		wake_up_process(thread);
}

static struct name *name_of(u64 task)
{
	return &now.names[hash_64(task, FGIO_NAME_BITS)];
}

static void note_name(u64 key, const struct task_struct *task)
{
	struct name *name = name_of(key);

	name->task = key;
	name->walk = now.walk.number;
	name->tid = task->pid;
	strscpy(name->comm, task->comm, sizeof(name->comm));
}

u64 fgio_walk_name(const struct task_struct *supposed)
{
	u64 key = (u64)supposed;
	struct task_struct *task;

	rcu_read_lock();
	task = fgio_task_at(key);
	if (task)
		note_name(key, task);
	rcu_read_unlock();
	return task ? key : 0;
}

static u32 root_link(u32 link)
{
	while (now.walk.links[link].parent != link)
		link = now.walk.links[link].parent;
	return link;
}

void fgio_walk_note_action(u32 link, u32 action)
{
	now.actions[root_link(link)] |= action;
	now.helped |= action != FGIO_BLAME_BOOSTED;
}

void fgio_walk_note_fact(u32 link, u32 fact)
{
	now.facts[link] |= fact;
}

void fgio_walk_is_condition(const struct fgio_walk_step *step)
{
	now.kinds[step->link] = FGIO_WAIT_CONDITION;
	now.walk.from_kind = FGIO_WAIT_CONDITION;
	if (!(step->wait->seq & FGIO_SEQ_OUTSIDE))
		fgio_wait_is_of_kind(step->task, step->wait->seq,
				     FGIO_WAIT_CONDITION);
}

void fgio_wanted_add(const struct fgio_walk_step *step,
		     enum fgio_wanted_kind kind, u64 object, u64 first,
		     u64 last)
{
	if (now.wanted_count == FGIO_WANTED_MAX) {
		fgio_walk_note_fact(step->link, FGIO_FACT_FULL);
		return;
	}
	/* A guess justifies a page that is waited for, not the whole file. */
	if (now.walk.links[step->link].guess &&
	    step->wait->kind == FGIO_WAIT_FILE_WRITEBACK)
		return;
	now.wanted[now.wanted_count++] = (struct fgio_wanted){
		.kind = kind,
		.link = step->link,
		.object = object,
		.first = first,
		.last = last,
		.wait = *step->wait,
	};
}

/* Return: whether a task is in a wait that no hook recorded. */
static bool waits_unrecorded(u64 task, struct fgio_wait *wait)
{
	const struct fgio_layer *layer;
	unsigned int i;

	for (i = 0; (layer = fgio_layer_at(i)); i++)
		if (layer->unrecorded && fgio_mechanism_on(layer->mechanism) &&
		    layer->unrecorded(task, wait))
			return true;
	return false;
}

static unsigned int copy_waits(void *context, u64 task,
			       struct fgio_wait waits[FGIO_WAITS_NESTED])
{
	unsigned int count = fgio_wait_copy_of(task, waits, fgio_walk_name);

	/* A task with a declared wait may sleep for a lock, too. */
	if (!count || (count == 1 && waits[0].kind == FGIO_WAIT_THREAD))
		count += waits_unrecorded(task, &waits[count]);
	return count;
}

/* A wait for fgio itself: for a slot of the queue, or at the dirty limit. */
static bool is_for_fgio(const struct fgio_wait *wait)
{
	return wait->kind == FGIO_WAIT_ADMISSION ||
	       wait->kind == FGIO_WAIT_DIRTY;
}

/* Facts about a wait that are known before its layer is asked. */
static u32 facts_of(const struct fgio_wait *wait,
		    const struct fgio_layer *layer)
{
	u32 facts = FGIO_FACT_WAITS;

	if (is_for_fgio(wait))
		facts |= FGIO_FACT_IO;
	if (wait->kind == FGIO_WAIT_URING || wait->kind == FGIO_WAIT_AIO)
		facts |= FGIO_FACT_IO_SLEEP;
	/* A sleep for I/O that no hook of a kind recorded is such a wait, too. */
	if (!layer) {
		layer = fgio_layer_of(FGIO_WAIT_PAGE_LOCK);
		facts |= FGIO_FACT_IO_LOST;
	}
	if (!fgio_mechanism_on(layer->mechanism))
		facts |= FGIO_FACT_OFF;
	if (layer->hooks && fgio_hooks_lack_any(layer->hooks))
		facts |= FGIO_FACT_NO_HOOK;
	return facts;
}

static void ask_blockers(void *context, struct fgio_walk *walk, u32 link,
			 const struct fgio_wait *wait)
{
	const struct fgio_layer *layer = fgio_layer_of(wait->kind);
	struct fgio_walk_step step = {
		.walk = walk,
		.link = link,
		.task = walk->links[link].task,
		.wait = wait,
	};

	/* Thousands of tasks may wait. No lock is held here. */
	cond_resched();
	now.kinds[link] = wait->kind;
	now.facts[link] &= ~FGIO_FACTS_OF_WAIT;
	fgio_walk_note_fact(link, facts_of(wait, layer));
	/* The outermost wait that is not a declared one is blamed. */
	if (!now.root_seqs[link] && wait->kind != FGIO_WAIT_THREAD) {
		now.root_seqs[link] = wait->seq;
		now.root_since_ns[link] = wait->since_ns;
	}
	if (layer && layer->blockers && fgio_mechanism_on(layer->mechanism))
		layer->blockers(&step);
}

static void trace_boost(u64 task, const struct fgio_lease *lease)
{
	const struct name *name = name_of(task);
	bool is_known = name->task == task && name->walk == now.walk.number;

	trace_fgio_boost(is_known ? name->tid : 0, is_known ? name->comm : "?",
			 now.walk.from_kind, lease->root,
			 now.walk.links[now.walk.from].depth + 1);
}

/*
 * Whether a new boost makes I/O critical. That of a foreground task is anyway, and
 * that of a task in the way by a guess is where a walk finds it.
 */
static bool helps(u64 task, const struct fgio_lease *lease)
{
	return !lease->guess && fgio_tag_of((struct task_struct *)task) !=
					FGIO_THREAD_FOREGROUND;
}

static void boost_task(void *context, u64 task, const struct fgio_lease *lease)
{
	if (!fgio_may_boost())
		return;
	fgio_walk_note_action(now.walk.from, FGIO_BLAME_BOOSTED);
	if (!fgio_wait_boost(task, lease))
		return;
	now.helped |= helps(task, lease);
	trace_boost(task, lease);
}

static const struct fgio_walk_operations operations = {
	.waits = copy_waits,
	.blockers = ask_blockers,
	.boost = boost_task,
};

static void add_root(u64 task)
{
	fgio_walk_root(&now.walk, task);
}

/* I/O that was not found in the block layer has yet to be submitted. */
static void follow_lost(const struct fgio_wanted *wanted)
{
	const struct fgio_layer *layer = fgio_layer_of(wanted->wait.kind);

	if (layer && layer->not_found)
		layer->not_found(&now.walk, wanted);
}

/* May want more. */
static void account_wanted(unsigned int from, unsigned int end)
{
	unsigned int i;

	for (i = from; i < end; i++)
		if (now.wanted[i].found)
			fgio_walk_note_fact(now.wanted[i].link, FGIO_FACT_IO);
		else
			follow_lost(&now.wanted[i]);
}

/* I/O may be critical once it is submitted, because a walk looked for it. */
static bool awaits_io(void)
{
	unsigned int i;

	for (i = 0; i < now.wanted_count; i++)
		if (!now.wanted[i].found &&
		    now.wanted[i].kind != FGIO_WANTED_OWN &&
		    now.wanted[i].kind != FGIO_WANTED_CONTEXT)
			return true;
	return false;
}

static void follow(void)
{
	unsigned int done = 0;
	unsigned int round, end;
	u32 links;

	for (round = 0; round < ROUNDS_MAX; round++) {
		links = now.walk.count;
		fgio_walk_run(&now.walk);
		end = now.wanted_count;
		promote(now.wanted + done, end - done, &now.walk);
		account_wanted(done, end);
		done = end;
		if (round && now.walk.count == links &&
		    now.wanted_count == end)
			break;
	}
}

/* Clears the notes of the last walk. */
static void clear_link_notes(void)
{
	u32 count = now.walk.count;

	memset(now.kinds, 0, count * sizeof(*now.kinds));
	memset(now.actions, 0, count * sizeof(*now.actions));
	memset(now.facts, 0, count * sizeof(*now.facts));
	memset(now.root_seqs, 0, count * sizeof(*now.root_seqs));
	memset(now.root_since_ns, 0, count * sizeof(*now.root_since_ns));
}

static void blame_step(struct fgio_chain *chain, u32 link)
{
	struct fgio_blame_step *step = &chain->step[chain->steps++];
	u64 task = now.walk.links[link].task;
	const struct name *name = name_of(task);

	step->kind = now.kinds[link];
	if (name->task != task || name->walk != now.walk.number)
		return;
	step->tid = name->tid;
	memcpy(step->comm, name->comm, sizeof(step->comm));
}

/* What the scheduler says of a task; one that has ended is in no way. */
static u32 facts_of_state(u64 key)
{
	const struct task_struct *task;
	u32 facts = FGIO_FACT_RUNS;

	rcu_read_lock();
	task = fgio_task_at(key);
	if (task && !task_is_running(task)) {
		facts = READ_ONCE(task->__state) & TASK_INTERRUPTIBLE ?
				FGIO_FACT_INTERRUPTIBLE : 0;
		if (task->in_iowait)
			facts |= FGIO_FACT_IO_SLEEP;
	}
	rcu_read_unlock();
	return facts;
}

/* Why nothing is known beyond a link, the last one of a chain. */
static enum fgio_reason reason_of(u32 index)
{
	const struct fgio_link *link = &now.walk.links[index];
	u32 facts = now.facts[index] | facts_of_state(link->task);

	if (link->full)
		facts |= FGIO_FACT_FULL;
	if (link->depth >= now.walk.depth_max)
		facts |= FGIO_FACT_CUT;
	return fgio_reason_of(facts);
}

static bool is_in(const u32 *links, u32 count, u32 link)
{
	while (count--)
		if (links[count] == link)
			return true;
	return false;
}

/* Only the first blocker of each task is blamed. Chains may be circles. */
static void blame_root(u32 root)
{
	struct fgio_chain chain = {
		.task = now.walk.links[root].task,
		.seq = now.root_seqs[root],
		.inner_kind = now.kinds[root],
		.actions = now.actions[root],
	};
	struct fgio_look look = {
		.walk = now.walk.number,
		.since = now.since,
		.since_ns = now.root_since_ns[root],
	};
	u32 passed[FGIO_BLAME_STEPS];
	u32 link = root;

	while (now.walk.links[link].child != link &&
	       chain.steps < FGIO_BLAME_STEPS) {
		passed[chain.steps] = link;
		link = now.walk.links[link].child;
		if (is_in(passed, chain.steps + 1, link))
			break;
		blame_step(&chain, link);
		if (now.kinds[link])
			chain.inner_kind = now.kinds[link];
	}
	look.reason = reason_of(link);
	fgio_blame_chain(&chain, &look);
}

static void blame_roots(void)
{
	u32 link;

	for (link = 0; link < now.walk.count; link++)
		if (now.walk.links[link].parent == link &&
		    now.root_seqs[link])
			blame_root(link);
}

/*
 * The first walk whose leases still count: those for foreground tasks that this
 * walk had no room for last until the end of their next turn.
 */
static u32 since_walk(bool turn_is_over)
{
	return turn_is_over ? turn_began : last_turn_began;
}

static void begin_turn(void)
{
	last_turn_began = turn_began;
	turn_began = now.walk.number + 1;
}

/*
 * A renewed lease served a wait since the last walk. A lease that is still
 * valid but was not renewed served none, or not for all of that time. A lease
 * whose wait ended, or whose task closed the handle that it was boosted for, is
 * not counted: the boost ended then.
 */
static void account_lease(const struct fgio_lease *lease)
{
	u64 elapsed_ns = ktime_get_ns() - last_walk_ns;

	if ((s32)(lease->walk - now.since) >= 0) {
		totals.boosted_ns += elapsed_ns;
	} else if (!fgio_wait_is_for_handle(lease->kind) &&
		   fgio_lease_is_valid(lease)) {
		totals.boosted_ns += elapsed_ns;
		totals.in_vain_ns += elapsed_ns;
		trace_fgio_boost_in_vain(lease->kind, elapsed_ns);
	}
}

/*
 * Tasks sleep for contexts without I/O, as idle threads of a pool do, and their
 * own I/O needs no walk.
 */
static bool seeks_io(void)
{
	unsigned int i;

	for (i = 0; i < now.wanted_count; i++)
		if (now.wanted[i].kind != FGIO_WANTED_OWN &&
		    (now.wanted[i].kind != FGIO_WANTED_CONTEXT ||
		     now.wanted[i].found))
			return true;
	return false;
}

/* A task whose own I/O is found, and is critical, needs nothing more. */
static bool needs_further_looks(u32 root)
{
	return now.kinds[root] != FGIO_WAIT_IO ||
	       now.facts[root] & FGIO_FACT_IO_LOST;
}

/* Return: how long the youngest of the waits that may need more lasts, in ns. */
static u64 youngest_ns(u32 roots)
{
	u64 since_ns = 0;
	u32 root;

	for (root = 0; root < roots; root++)
		if (needs_further_looks(root))
			since_ns = max(since_ns, now.root_since_ns[root]);
	return ktime_get_mono_fast_ns() - since_ns;
}

static bool runs(u32 link)
{
	return !(now.facts[link] & FGIO_FACT_WAITS) &&
	       facts_of_state(now.walk.links[link].task) & FGIO_FACT_RUNS;
}

static enum fgio_in_the_way in_the_way(u32 roots)
{
	u32 link;

	if (now.walk.count == roots && !seeks_io())
		return FGIO_NO_TASK;
	for (link = roots; link < now.walk.count; link++)
		if (runs(link))
			return FGIO_RUNNING_TASK;
	return FGIO_SLEEPING_TASKS;
}

static void plan_next(u32 roots)
{
	next.age_ns = youngest_ns(roots);
	next.found = in_the_way(roots);
}

/* Half of the links are left for the tasks that are in their way. */
static unsigned int roots_max(void)
{
	return clamp(walk_roots_max, 2 * FGIO_BUCKET_NODES, FGIO_LINKS_MAX / 2);
}

/* How long the walk's thread had to wait for a processor until now. */
static u64 delayed_ns(void)
{
#ifdef CONFIG_SCHED_INFO
	return current->sched_info.run_delay;
#else
	return 0;
#endif
}

/* Return: how long it took, in ns, but for what others ran meanwhile. */
static u64 walk_once(void)
{
	u64 began_ns = ktime_get_ns(), before_ns = delayed_ns();
	bool turn_is_over;
	u64 duration_ns;
	u32 roots;

	if (!last_walk_ns)
		last_walk_ns = began_ns;
	clear_link_notes();
	now.wanted_count = 0;
	fgio_wait_walk_begins(++now.walk.number);
	now.walk.depth_max = READ_ONCE(transitive) ? FGIO_WALK_DEPTH : 1;
	now.walk.capacity = clamp(READ_ONCE(walk_links_max), 1,
				  FGIO_LINKS_MAX);
	fgio_walk_begin(&now.walk);
	turn_is_over = fgio_wait_visit_roots(roots_max(), add_root);
	now.since = since_walk(turn_is_over);
	roots = now.walk.count;
	follow();
	now.helped |= awaits_io();
	plan_next(roots);
	blame_roots();
	fgio_wait_settle_leases(now.since, account_lease);
	if (turn_is_over)
		begin_turn();
	last_walk_ns = fgio_wait_leases_exist() ? ktime_get_ns() : 0;
	totals.walks++;
	duration_ns = ktime_get_ns() - began_ns;
	totals.walk_ns += duration_ns;
	return duration_ns - min(duration_ns, delayed_ns() - before_ns);
}

/* What is found between two walks is not of the time that walks take. */
static void walk_thoroughly(void)
{
	u64 took_ns;

	fgio_alarm_walk_begins();
	now.helped = false;
	took_ns = walk_once();
	if (fgio_layers_look_further())
		took_ns += walk_once();
	fgio_alarm_walk_ended(took_ns, now.helped || !fgio_may_boost());
}

void fgio_walk_pause(void)
{
	mutex_lock(&walking);
}

void fgio_walk_resume(void)
{
	mutex_unlock(&walking);
}

void fgio_walk_stop(void)
{
	mutex_lock(&walking);
	is_stopped = true;
	mutex_unlock(&walking);
}

static int walk_thread(void *unused)
{
	for (;;) {
		/* Before the alarm: it may ring before this task is asleep. */
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		if (walk_is_needed())
			fgio_alarm_again(next.age_ns, next.found);
		schedule();
		__set_current_state(TASK_RUNNING);
		if (kthread_should_stop())
			break;
		mutex_lock(&walking);
		if (!is_stopped)
			walk_thoroughly();
		mutex_unlock(&walking);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

void fgio_walk_state(struct fgio_state *state)
{
	state->foreground_waiting = fgio_wait_foreground_waiting();
	state->boosted = fgio_wait_boosted();
	state->walks = totals.walks;
	state->walk_ns = totals.walk_ns;
	state->boosts = fgio_wait_boosts();
	state->boosted_ns = totals.boosted_ns;
	state->boosted_in_vain_ns = totals.in_vain_ns;
	state->waits_lost = fgio_wait_lost();
	state->walk_overflows = now.walk.overflowed;
	state->watches_lost = fgio_waker_unwatched();
}

static void free_walk(void)
{
	vfree(now.walk.links);
	vfree(now.walk.visited);
	vfree(now.wanted);
	vfree(now.names);
	vfree(now.kinds);
	vfree(now.actions);
	vfree(now.facts);
	vfree(now.root_seqs);
	vfree(now.root_since_ns);
}

static bool allocate_walk(void)
{
	turn_began = now.walk.number + 1;
	last_turn_began = turn_began;
	now.walk.operations = &operations;
	now.walk.visited_bits = FGIO_VISITED_BITS;
	now.walk.links = vcalloc(FGIO_LINKS_MAX, sizeof(*now.walk.links));
	now.walk.visited = vcalloc(1U << FGIO_VISITED_BITS,
				   sizeof(*now.walk.visited));
	now.wanted = vcalloc(FGIO_WANTED_MAX, sizeof(*now.wanted));
	now.names = vcalloc(1U << FGIO_NAME_BITS, sizeof(*now.names));
	now.kinds = vcalloc(FGIO_LINKS_MAX, sizeof(*now.kinds));
	now.actions = vcalloc(FGIO_LINKS_MAX, sizeof(*now.actions));
	now.facts = vcalloc(FGIO_LINKS_MAX, sizeof(*now.facts));
	now.root_seqs = vcalloc(FGIO_LINKS_MAX, sizeof(*now.root_seqs));
	now.root_since_ns = vcalloc(FGIO_LINKS_MAX,
				    sizeof(*now.root_since_ns));
	return now.walk.links && now.walk.visited && now.wanted &&
	       now.names && now.kinds && now.actions && now.facts &&
	       now.root_seqs && now.root_since_ns;
}

int fgio_walk_init(fgio_promote_fn *promote_wanted)
{
	promote = promote_wanted;
	if (!allocate_walk()) {
		free_walk();
		return -ENOMEM;
	}
	fgio_alarm_init(ring);
	thread = kthread_run(walk_thread, NULL, "fgio_walk");
	if (IS_ERR(thread)) {
		free_walk();
		return PTR_ERR(thread);
	}
	/* The timer may wake it until fgio_alarm_exit(). */
	get_task_struct(thread);
	/* Requests wait while it is late. */
	set_user_nice(thread, MIN_NICE);
	return 0;
}

/* No hook is attached any more. */
void fgio_walk_exit(void)
{
	kthread_stop(thread);
	fgio_alarm_exit();
	put_task_struct(thread);
	free_walk();
}
