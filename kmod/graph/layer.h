/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layers of the I/O path. A layer has hooks that record its kinds of waits, and
 * a function that tells the walk which tasks and I/O are in the way of one.
 * main.c lists all layers; their files are in layers/, except for hooks that
 * block/ needs itself.
 */
#ifndef FGIO_LAYER_H
#define FGIO_LAYER_H

#include <linux/bits.h>
#include <linux/types.h>

#include "base/mechanism.h"
#include "core/inherit.h"
#include "uapi/fgio.h"

struct fgio_hook;

/**
 * struct fgio_walk_step - a wait that the walk reached
 * @walk: the walk, for fgio_walk_found() in core/inherit.h
 * @link: index of the waiting task in it
 * @task: the waiting task
 * @wait: its wait, a copy
 */
struct fgio_walk_step {
	struct fgio_walk *walk;
	u32 link;
	u64 task;
	const struct fgio_wait *wait;
};

enum fgio_wanted_kind {
	FGIO_WANTED_PAGES,   /* pages of a file: object is its mapping */
	FGIO_WANTED_PRIVATE, /* a bio: object is its bi_private */
	FGIO_WANTED_XFS_LOG, /* any write of an XFS log */
	FGIO_WANTED_DIRECT,  /* direct I/O on a file: object is its mapping */
	FGIO_WANTED_ANY_DATA, /* file data: object is the block device */
	/* Direct I/O: object is the context to which it completes. */
	FGIO_WANTED_CONTEXT,
	FGIO_WANTED_OWN, /* any I/O that a task submitted: object is the task */
	FGIO_WANTED_UPKEEP, /* all upkeep of stacked devices (block/upkeep.h) */
};

/**
 * struct fgio_wanted - I/O that is waited for
 * @kind: the meaning of @object
 * @link: index of the waiting task in the walk
 * @object: the I/O target, see enum fgio_wanted_kind
 * @first: index of the first page, for FGIO_WANTED_PAGES
 * @last: index of the last page
 * @wait: the wait
 * @found: out: number of requests and of sleepers in admission that carry it
 */
struct fgio_wanted {
	enum fgio_wanted_kind kind;
	u32 link;
	u64 object;
	u64 first;
	u64 last;
	struct fgio_wait wait;
	u32 found;
};

/**
 * struct fgio_layer - kinds of waits that are recorded and followed in one way
 * @name: for messages
 * @mechanism: the switch of following its waits; each hook has its own
 * @kinds: a bit for each FGIO_WAIT_* that the layer is responsible for
 * @hooks: ends with an entry without a name; NULL: none
 * @blockers: finds the blockers of a wait: calls fgio_walk_found() for each
 *	task, and fgio_wanted_add() for I/O. Context: the walk's thread; may
 *	sleep. NULL: its waits have none
 * @not_found: called when the I/O of one of its waits is neither queued nor in
 *	the device: calls fgio_walk_found_from() for the tasks that are to
 *	submit it, or are late in accounting for it. Context: the walk's thread
 * @unrecorded: finds the wait of a task for which no hook recorded one. Return:
 *	whether the task waits. Context: the walk's thread
 * @release: tasks of a walk are critical now: lets those that the layer holds
 *	back go on. Context: the walk's thread; may not sleep
 * @forget: hooks were detached: forgets what they noted and may have changed
 *	unseen. Context: no walk looks at waits; hooks of other mechanisms run
 * @look_further: looks for blockers in ways that take too long for a walk, once
 *	a walk has promoted what it found. Return: whether there are any, for a
 *	walk that begins at once. Context: the walk's thread
 */
struct fgio_layer {
	const char *name;
	enum fgio_mechanism mechanism;
	u64 kinds;
	struct fgio_hook *hooks;
	void (*blockers)(const struct fgio_walk_step *step);
	void (*not_found)(struct fgio_walk *walk,
			  const struct fgio_wanted *wanted);
	bool (*unrecorded)(u64 task, struct fgio_wait *wait);
	void (*release)(const struct fgio_walk *walk);
	void (*forget)(void);
	bool (*look_further)(void);
};

/* A range of kinds, both ends included, for @kinds. */
#define FGIO_WAIT_RANGE(first, last) GENMASK_ULL(last, first)

/* The layer of a kind of wait; NULL: none, such waits are only blamed. */
const struct fgio_layer *fgio_layer_of(u8 kind);

/* The layers in their order; NULL beyond the last. */
const struct fgio_layer *fgio_layer_at(unsigned int index);

/* Calls each layer's @release. */
void fgio_layers_release(const struct fgio_walk *walk);

/* Calls each layer's @forget. */
void fgio_layers_forget(void);

/* Calls each layer's @look_further. Return: whether one found anything. */
bool fgio_layers_look_further(void);

/* Return: 0, or -EINVAL when two layers answer for one kind. */
int fgio_layers_init(const struct fgio_layer *const *layers,
		     unsigned int count);

#endif /* FGIO_LAYER_H */
