/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files that follow waits share:
 *
 *	wait.c       who waits for what, who is boosted (around core/inherit.c)
 *	walk.c       the thread that walks the graph
 *	helper.c     who acted on what lately (around core/history.c)
 *	probe.c      attaches hooks while foreground tasks exist
 *	commit.c     who writes files that commits go to
 *	blame.c      what foreground tasks waited for
 *	foreign.c    objects that may be gone
 *
 * and, a file for each layer: lock.c, journal.c, xfs.c, io.c, futex.c and
 * sleep.c, sysvsem.c, hint.c, pagecache.c. A layer has hooks that record waits, and a
 * function that says who is in the way of one. gate.c follows nobody.
 *
 * Hooks run in the context of the task that waits, with preemption off and
 * perhaps with interrupts off and locks of the kernel held: they record, and
 * neither sleep nor wake nor allocate. The walk runs in a thread and may sleep
 * where it holds no wait.
 */
#ifndef FGIO_INHERIT_H
#define FGIO_INHERIT_H

#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/types.h>

#include "core/history.h"
#include "core/inherit.h"
#include "uapi/fgio.h"

struct address_space;
struct bdi_writeback;
struct file;
struct mutex;
struct task_struct;
struct tracepoint;

/* Tasks that one walk can follow, and I/O that it can look for. */
#define FGIO_LINKS_MAX 4096U
#define FGIO_TARGETS_MAX 1024U

/* Switches of one mechanism each; also what a hook belongs to. */
enum fgio_mechanism {
	FGIO_MECHANISM_LOCKS,
	FGIO_MECHANISM_JOURNAL,
	FGIO_MECHANISM_IO,
	FGIO_MECHANISM_USER,
	FGIO_MECHANISM_PAGECACHE,
	FGIO_MECHANISM_BLAME,
	FGIO_MECHANISM_GATE,
	FGIO_MECHANISM_COMMITS,
	FGIO_MECHANISMS,
};

bool fgio_mechanism_on(enum fgio_mechanism mechanism);
void fgio_mechanism_switch(enum fgio_mechanism mechanism, bool on);

/* Kinds of waits are FGIO_WAIT_* of uapi/fgio.h, since blame reports them. */

/* --- wait.c ----------------------------------------------------------- */

extern bool fgio_waits_matter_now;

/*
 * Whether waits are recorded at all: while foreground tasks exist. One load:
 * every hook asks this first.
 */
static inline bool fgio_waits_matter(void)
{
	return READ_ONCE(fgio_waits_matter_now);
}

/**
 * fgio_wait_enter() - the current task begins to wait
 * @kind: FGIO_WAIT_*
 * @object: what for, usually its address
 * @detail: whatever fgio_blockers_of_*() of that kind wants to know
 *
 * Return: to be passed to fgio_wait_leave(); 0 when the wait was not recorded.
 * Context: any but NMI.
 */
u32 fgio_wait_enter(u8 kind, u64 object, u64 detail);

/* The wait is over. Zero is ignored. Context: any but NMI. */
void fgio_wait_leave(u32 seq);

/* The current task's innermost wait for an object is over, if it has one. */
void fgio_wait_leave_object(u64 object);

/*
 * The current task's outermost wait of a kind is over, if it has one. Context:
 * as fgio_wait_leave().
 */
void fgio_wait_leave_kind(u8 kind);

/* Whether the current task waits for an object; for anything. */
bool fgio_wait_has(u64 object);
bool fgio_wait_has_any(void);

/* The kind of the current task's wait for an object; 0 when it has none. */
u8 fgio_wait_kind(u64 object);

/*
 * Whether requests wait for the current task itself: by its tag or priority, or
 * by what its system call is at.
 */
bool fgio_current_is_foreground(void);

/* Whether they do by its tag or priority. */
bool fgio_current_serves_requests(void);

/* Whether I/O of the current task is critical: foreground, or boosted. */
bool fgio_current_is_critical(void);

/* Whether a task has a valid boost. Context: any but NMI. */
bool fgio_task_is_boosted(u64 task);

/*
 * The current task may have got out of the way of others: it is boosted again
 * soon if it has not. With a kind, of those alone who wait for such a thing.
 * Context: any but NMI.
 */
void fgio_boost_give_back(u8 kind);

/**
 * fgio_wait_hold() - keep a wait from ending
 * @task: who waits
 * @seq: which wait
 * @flags: for fgio_wait_release()
 *
 * While it is held, what the task waits for exists (a lock, a journal), and so
 * does the task: both outlive the wait.
 *
 * Return: false, with nothing held, when the wait is over.
 * Context: interrupts are off until fgio_wait_release(); no spinlock_t may be
 * taken in between.
 */
bool fgio_wait_hold(u64 task, u32 seq, unsigned long *flags);
void fgio_wait_release(u64 task, unsigned long flags);

/*
 * Whether a wait goes on; also one that fgio_sleep_of() found. Context: any but
 * NMI.
 */
bool fgio_wait_is_on(u64 task, u32 seq);

/* A wait that is recorded turned out to be of another kind. */
void fgio_wait_is_of_kind(u64 task, u32 seq, u8 kind);

/*
 * The current task, a foreground task, begins to sleep in futex(2) or semop(2),
 * until the scheduler runs it again and says so. Context: the scheduler's, with
 * the run queue locked.
 */
void fgio_sleep_enter(u8 kind, u64 object, u64 detail);
void fgio_sleep_leave(const struct task_struct *task);

/* --- sleep.c ---------------------------------------------------------- */

bool fgio_sleep_of(u64 task, struct fgio_wait *wait);
bool fgio_sleep_goes_on(u64 task, u32 seq);

struct fgio_walk_step;

/* The waiter's memory is current's; what is not resident cannot be read. */
typedef void (*fgio_look_fn)(struct task_struct *waiter,
			     const struct fgio_wait *wait, void *finding);

bool fgio_sleeper_look(const struct fgio_walk_step *step, fgio_look_fn look,
		       void *finding);

/* --- walk.c ----------------------------------------------------------- */

/**
 * struct fgio_walk_step - a wait that the walk came to
 * @walk: the walk, for fgio_walk_found() in core/inherit.h
 * @link: index of the waiting task in it
 * @task: who waits
 * @wait: its wait, a copy
 */
struct fgio_walk_step {
	struct fgio_walk *walk;
	u32 link;
	u64 task;
	const struct fgio_wait *wait;
};

/*
 * Says who is in the way of a wait: calls fgio_walk_found() for each task, and
 * fgio_target_add() for I/O. Context: the walk's thread; may sleep.
 */
typedef void (*fgio_blockers_fn)(const struct fgio_walk_step *step);

/* Whether things may be boosted and promoted, or only be blamed. */
bool fgio_may_boost(void);

/*
 * Names a task that was found, for blame. It may be gone, or may never have been
 * one: it is read as fgio_task_at() does.
 *
 * Return: its key; 0 when no task lives there. Context: the walk's thread; any
 * lock may be held.
 */
u64 fgio_walk_name(const struct task_struct *task);

/* What was done about the wait that led to a link: FGIO_BLAME_*. */
void fgio_walk_note_action(u32 link, u32 action);

/* A wait for a lock, as it seemed, is one for a condition: it has no owner. */
void fgio_walk_is_condition(const struct fgio_walk_step *step);

void fgio_walk_state(struct fgio_state *state);

void fgio_lock_blockers(const struct fgio_walk_step *step);
void fgio_journal_blockers(const struct fgio_walk_step *step);
void fgio_xfs_blockers(const struct fgio_walk_step *step);
void fgio_xfs_buffer_io(const struct fgio_walk_step *step);
void fgio_io_blockers(const struct fgio_walk_step *step);
void fgio_futex_blockers(const struct fgio_walk_step *step);
void fgio_sysvsem_blockers(const struct fgio_walk_step *step);
void fgio_hint_blockers(const struct fgio_walk_step *step);

/* --- foreign.c -------------------------------------------------------- */

/*
 * The task whose task_struct is at an address; NULL when no living thread has
 * its there, whatever the memory holds. Context: RCU, which keeps the task; any
 * lock may be held.
 */
struct task_struct *fgio_task_at(u64 address);

/*
 * A word of memory that may be anything, or be no memory at all. Return: 0 when
 * it cannot be read. Context: any.
 */
u64 fgio_peek_word(const void *address);

/* --- lock.c ----------------------------------------------------------- */

/*
 * The holder of a mutex, named for blame. The mutex may be gone. Return: 0 when
 * it has no holder. Context: the walk's thread; any lock may be held.
 */
u64 fgio_mutex_holder(const struct mutex *mutex);

/* --- promote.c -------------------------------------------------------- */

enum fgio_target_kind {
	FGIO_TARGET_PAGES,   /* pages of a file: object is its mapping */
	FGIO_TARGET_PRIVATE, /* a bio by its bi_private: object is that */
	FGIO_TARGET_XFS_LOG, /* any write of an XFS log */
};

/**
 * struct fgio_target - I/O that somebody waits for
 * @kind: how to recognise it
 * @link: index of the waiting task in the walk
 * @object: see enum fgio_target_kind
 * @first: index of the first page, for FGIO_TARGET_PAGES
 * @last: index of the last page
 * @wait: the wait
 * @found: out: how many requests were found queued
 */
struct fgio_target {
	enum fgio_target_kind kind;
	u32 link;
	u64 object;
	u64 first;
	u64 last;
	struct fgio_wait wait;
	u32 found;
};

/* Remembers I/O to be looked for when the walk is done. Context: the walk's. */
void fgio_target_add(const struct fgio_walk_step *step,
		     enum fgio_target_kind kind, u64 object, u64 first,
		     u64 last);

/**
 * fgio_promote_all() - promote what the walk found
 * @targets: I/O that is waited for; @found is set
 * @count: how many
 * @walk: tasks that were boosted
 *
 * One pass over each queue: queued requests that carry a target, and queued
 * synchronous requests whose submitter is boosted, become critical; boosted
 * tasks that sleep in admission are admitted as critical.
 *
 * Context: the walk's thread; sleeps.
 */
void fgio_promote_all(struct fgio_target *targets, unsigned int count,
		      struct fgio_walk *walk);

/*
 * io.c: I/O that is neither queued nor in the device waits for who is to submit
 * it: calls fgio_walk_found_from(). Context: the walk's thread.
 */
void fgio_io_not_found(struct fgio_walk *walk,
		       const struct fgio_target *target);

/* journal.c: the journal that the current task waits for at BH_Shadow, or 0. */
u64 fgio_journal_of_shadow(int bit);

/* The totals of promotion in FGIO_IOC_STATE. */
void fgio_promote_state(struct fgio_state *state);
int fgio_promote_init(void);
void fgio_promote_exit(void);

/* --- helper.c --------------------------------------------------------- */

/*
 * The current task, or the one that the walk asks about, waits for an object:
 * what acts on it is noted from now on, and no traffic on other objects takes
 * its place. Context: any but NMI.
 */
void fgio_helper_watch(u64 object);

/*
 * The current task acts on an object. Does nothing, cheaply, when the object is
 * not in the table, unless @always. Context: any but NMI.
 */
void fgio_helper_note(u64 object, bool always);

/*
 * Another task acts on an object, by what the current task does. Context: it
 * exists; as fgio_helper_note().
 */
void fgio_helper_note_for(struct task_struct *task, u64 object);

/*
 * The same for a condition, where anybody may act: a foreground task is not
 * noted. It needs no boost, what it waits for is followed anyway, and it would
 * take the place of who does.
 */
void fgio_helper_signal(u64 object);

/*
 * Calls fgio_walk_found() for who acted on an object within helper_window_ms;
 * with @counts only for those of whom it is true.
 */
void fgio_helper_found(const struct fgio_walk_step *step, u64 object,
		       bool (*counts)(u64 task));

/* Watches that gave way to others, in total. */
u32 fgio_helper_unwatched(void);

/* The same for a condition: those who woke it are only likely to do so again. */
void fgio_helper_guessed(const struct fgio_walk_step *step, u64 object);

int fgio_helper_init(void);
void fgio_helper_exit(void);

/* --- commit.c --------------------------------------------------------- */

/*
 * The current task, which serves requests, waits for pages of a file to be
 * written: noted when that is what its system call is for. Context: a hook's.
 */
void fgio_commit_note(const struct address_space *mapping);

/*
 * Whether the current task's system call writes to or syncs a file that tasks
 * that serve requests synced within helper_window_ms. Context: a task's; may be
 * a hook's.
 */
bool fgio_current_commits(void);

/* --- hint.c ----------------------------------------------------------- */

/* FGIO_IOC_WAIT_FOR; its errors are in uapi/fgio.h. Context: ioctl. */
int fgio_hint_set(pid_t tid);

/* --- blame.c ---------------------------------------------------------- */

int fgio_blame_read(struct fgio_blame *request);
u64 fgio_blame_lost(void);

/* --- pagecache.c ------------------------------------------------------ */

/* A parked writer became critical: it goes on. Context: may not sleep. */
void fgio_pagecache_promote(u64 task);

void fgio_pagecache_totals(u64 *parked_ns, u64 *promoted);

/*
 * Whether the current task may be held up at the boundary of its system call.
 * @flags: BDP_* of its write, or 0
 */
bool fgio_may_be_parked(unsigned int flags);

/*
 * Where the pages of a file are: of overlayfs, in the file below. Context: may
 * sleep; the caller holds the file.
 */
struct address_space *fgio_mapping_of_file(const struct file *file);

/* Whether a device is under fgio. */
bool fgio_wb_is_ours(struct bdi_writeback *wb);

/* Starts writing pages of a file back. Return: how many. Context: may sleep. */
u64 fgio_write_mapping(struct address_space *mapping, u64 pages);

int fgio_pagecache_init(void);
void fgio_pagecache_exit(void);

/* --- flush.c ---------------------------------------------------------- */

void fgio_flush_submitted(struct bio *bio);

/* --- gate.c ----------------------------------------------------------- */

void fgio_gate_exit(void);

/* --- watchdog.c ------------------------------------------------------- */

void fgio_watchdog_state(struct fgio_state *state);
void fgio_watchdog_rearm(void);
int fgio_watchdog_rearm_disk(dev_t disk, u32 *tripped);
int fgio_watchdog_init(void);
void fgio_watchdog_exit(void);

/* --- probe.c ---------------------------------------------------------- */

/**
 * struct fgio_hook - a place in the kernel where fgio looks on
 * @name: of a function (with "module:" before it where it is in a module) or
 *	of a tracepoint
 * @mechanism: what it is for
 * @entry: called before a function; arguments by regs_get_kernel_argument();
 *	its result other than 0 means that @exit need not be called
 * @exit: called after it, or NULL; a @seq left in hook_data() comes along
 * @tracepoint: called instead at a tracepoint, with NULL as first argument
 * @look: called instead before a function, by ftrace itself: for functions that
 *	threads which are not foreground call all the time
 * @detour: called instead before a function; a result other than 0 means that
 *	it had the task go on elsewhere, in a function of the same prototype
 * @ended_by: name of the hook that ends what this one begins. It is attached
 *	earlier and detached later; where either fails, both stay away. A hook
 *	may end what several others begin
 * @optional: the kernel may well not have it; no warning
 * @fallback: attached only where the entry before it cannot be
 * @may_be_clone: a static function, which the compiler may have renamed
 *	NAME.isra.0 or the like; its arguments are then not those of the source,
 *	and @entry must not read them
 * @kretprobe: kept by probe.c, as are the members below
 * @found: the tracepoint
 * @operations: of @look
 * @is_aimed: they know their function, which takes a search of all functions
 * @end: the hook that @ended_by names
 * @is_end: it is such a hook
 * @error: why it cannot be attached, or 0
 * @attached: whether it is
 */
struct fgio_hook {
	const char *name;
	enum fgio_mechanism mechanism;
	int (*entry)(struct kretprobe_instance *instance, struct pt_regs *regs);
	int (*exit)(struct kretprobe_instance *instance, struct pt_regs *regs);
	void *tracepoint;
	ftrace_func_t look;
	int (*detour)(struct kprobe *probe, struct pt_regs *regs);
	const char *ended_by;
	bool optional;
	bool fallback;
	bool may_be_clone;

	struct kretprobe kretprobe;
	struct ftrace_ops operations;
	bool is_aimed;
	struct tracepoint *found;
	struct fgio_hook *end;
	bool is_end;
	int error;
	bool attached;
};

/* Bytes that entry may leave for exit in instance->data. */
#define FGIO_HOOK_DATA 32

/* What most hooks leave there: what fgio_wait_enter() returned. */
static inline u32 *fgio_hook_seq(struct kretprobe_instance *instance)
{
	return (u32 *)instance->data;
}

/*
 * What most entries end with: the current task begins to wait, until
 * fgio_hook_leave(). Return: what entry returns.
 */
int fgio_hook_enter(struct kretprobe_instance *instance, u8 kind, u64 object,
		    u64 detail);

/* The exit that most hooks want: the wait that entry left is over. */
int fgio_hook_leave(struct kretprobe_instance *instance, struct pt_regs *regs);

/*
 * Tasks by I/O priority count as foreground tasks, too, but nobody says when
 * they are there: one was seen to submit critical I/O. Context: any.
 */
void fgio_saw_foreground_ioprio(void);

/* tag.c: a task became a foreground task (may sleep), or is one no more. */
void fgio_foreground_appeared(void);
void fgio_foreground_vanished(void);

int fgio_probe_init(void);
void fgio_probe_exit(void);
int fgio_probe_list(struct fgio_hook_state *states, unsigned int capacity);
int fgio_hook_objection(const char *name);

/* A hook of a function, for FGIO_MECHANISM_@which; more members may follow. */
#define FGIO_HOOK(function, which, on_entry, on_exit, ...) \
	{                                                  \
		.name = function,                          \
		.mechanism = FGIO_MECHANISM_##which,       \
		.entry = on_entry,                         \
		.exit = on_exit,                           \
		##__VA_ARGS__                              \
	}

/* A hook of a function that is called with its arguments before it. */
#define FGIO_LOOK(function, which, called, ...)            \
	{                                                  \
		.name = function,                          \
		.mechanism = FGIO_MECHANISM_##which,       \
		.look = called,                            \
		##__VA_ARGS__                              \
	}

/* Arrays that end with an entry without a name. */
extern struct fgio_hook fgio_lock_hooks[];
extern struct fgio_hook fgio_journal_hooks[];
extern struct fgio_hook fgio_xfs_hooks[];
extern struct fgio_hook fgio_io_hooks[];
extern struct fgio_hook fgio_flush_hooks[];
extern struct fgio_hook fgio_futex_hooks[];
extern struct fgio_hook fgio_sleep_hooks[];
extern struct fgio_hook fgio_sysvsem_hooks[];
extern struct fgio_hook fgio_pagecache_hooks[];
extern struct fgio_hook fgio_gate_hooks[];

#endif /* FGIO_INHERIT_H */
