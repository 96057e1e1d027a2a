/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layers of the I/O path: what each kind of wait is for, and what is in its
 * way. A layer has hooks that record its waits, and a function that the walk
 * asks about one. main.c lists all layers; their files are in layers/, but for
 * hooks that the block layer needs itself.
 */
#ifndef FGIO_LAYER_H
#define FGIO_LAYER_H

#include <linux/bits.h>
#include <linux/types.h>

#include "base/mechanism.h"
#include "core/inherit.h"
#include "uapi/fgio.h"

struct fgio_hook;

/* Tasks that one walk can follow, and I/O that it can look for. */
#define FGIO_LINKS_MAX 4096U
#define FGIO_WANTED_MAX 1024U

/**
 * struct fgio_walk_step - a wait that the walk came to
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
	FGIO_WANTED_PRIVATE, /* a bio by its bi_private: object is that */
	FGIO_WANTED_XFS_LOG, /* any write of an XFS log */
};

/**
 * struct fgio_wanted - I/O that is waited for; its I/O target is @object
 * @kind: how to recognise it
 * @link: index of the waiting task in the walk
 * @object: see enum fgio_wanted_kind
 * @first: index of the first page, for FGIO_WANTED_PAGES
 * @last: index of the last page
 * @wait: the wait
 * @found: out: how many requests were found queued
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
 * struct fgio_layer - waits that are told apart and followed in one way
 * @name: for messages
 * @mechanism: the switch that its waits are followed by; each hook has its own
 * @kinds: a bit for each FGIO_WAIT_* that it answers for
 * @hooks: ends with an entry without a name; NULL: none
 * @blockers: what is in the way of a wait: calls fgio_walk_found() for each
 *	task, and fgio_wanted_add() for I/O. Context: the walk's thread; may
 *	sleep. NULL: nothing is
 * @not_found: I/O that one of its waits is for is neither queued nor in the
 *	device: calls fgio_walk_found_from() for the tasks that are to submit
 *	it, or are late in accounting for it. Context: the walk's thread
 * @unrecorded: what a task waits for that no hook recorded a wait of. Return:
 *	whether it does. Context: the walk's thread
 * @release: tasks of a walk are critical now: those that the layer holds back
 *	go on. Context: the walk's thread; may not sleep
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
};

/* A run of kinds, both included, for @kinds. */
#define FGIO_WAIT_RANGE(first, last) GENMASK_ULL(last, first)

/* The layer of a kind of wait; NULL: none, such waits are only blamed. */
const struct fgio_layer *fgio_layer_of(u8 kind);

/* The layers in their order; NULL beyond the last. */
const struct fgio_layer *fgio_layer_at(unsigned int index);

/* Calls each layer's @release. */
void fgio_layers_release(const struct fgio_walk *walk);

/* Return: 0, or -EINVAL when two layers answer for one kind. */
int fgio_layers_init(const struct fgio_layer *const *layers,
		     unsigned int count);

#endif /* FGIO_LAYER_H */
