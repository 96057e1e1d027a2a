// SPDX-License-Identifier: GPL-2.0
/*
 * Names and inodes that another task brings into memory: a backup that scans a
 * folder makes all wait that open the same file.
 *
 *	d_alloc_parallel	begins the lookup of a name, or waits for the
 *				task that did (d_wait_lookup)
 *	iget_locked		begins to read an inode, or waits for the task
 *				that did (I_NEW)
 *
 * A task that asks for a name or inode which has not been noted is taken to
 * begin, and noted. A call for one that has been noted may wait, and is
 * recorded; what it returns tells whether it begins anew. Nothing else is done:
 * such calls are as frequent as names that are not in memory. For the same
 * reason most of them are not seen to return, and the notes are not in the table
 * of wakers (base/waker.h), where a new object takes ten times as long.
 *
 * Left out:
 *	iget5_locked, XFS' own cache of inodes (it sleeps for a tick and tries
 *		again).
 *	inodes that are being freed: they are written back first, for which
 *		io.c has hooks.
 */
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/hash.h>

#include "base/hook.h"
#include "base/identity.h"
#include "base/scale.h"
#include "core/places.h"
#include "graph/found.h"
#include "graph/probe.h"
#include "graph/wait.h"
#include "layers/io.h"
#include "layers/name.h"
#include "who/presence.h"

/**
 * struct call - kept from the entry of a function to its exit
 * @seq: the wait, or 0
 * @object: the name or inode
 */
struct call {
	u32 seq;
	u64 object;
};

static_assert(sizeof(struct call) <= FGIO_HOOK_DATA);

/**
 * struct notes - the tasks that began to bring names or inodes into memory last
 * @objects: names and inodes that have their notes here; 0 for a free place
 * @payers: the user that each task counts for
 * @tasks: identities of the tasks
 *
 * Without locks or atomic operations: at worst the task of another object is
 * taken for it, and boosted if it is held up.
 */
struct notes {
	u64 objects[FGIO_PLACES];
	u32 payers[FGIO_PLACES];
	u64 tasks[FGIO_PLACES];
};

static struct notes table[1 << FGIO_LOOKUP_BITS];

static struct notes *notes_of(u64 object)
{
	return &table[hash_64(object, FGIO_LOOKUP_BITS)];
}

static void note_current(struct notes *notes, unsigned int place, u64 object)
{
	u32 payer = fgio_payer_of(current);

	if (place == FGIO_PLACES)
		place = fgio_place_for(notes->objects, notes->payers, payer,
				       (u32)object);
	WRITE_ONCE(notes->tasks[place], fgio_identity_of(current));
	WRITE_ONCE(notes->payers[place], payer);
	WRITE_ONCE(notes->objects[place], object);
}

static struct call *call_of(struct kretprobe_instance *instance)
{
	return (struct call *)instance->data;
}

/* Different ones may have one number: a wrong task is then boosted. */
static u64 object_of(u64 within, u64 number)
{
	return within + (number + 1) * GOLDEN_RATIO_64;
}

/* Return: 1, so that the return is not seen, for what had not been noted. */
static int enter(struct kretprobe_instance *instance, u8 kind, u64 object)
{
	struct call *call = call_of(instance);
	struct notes *notes = notes_of(object);

	if (fgio_place_of(notes->objects, object) == FGIO_PLACES) {
		note_current(notes, FGIO_PLACES, object);
		return 1;
	}
	*call = (struct call){
		.seq = fgio_wait_enter(kind, object, 0),
		.object = object,
	};
	return 0;
}

static void leave(struct kretprobe_instance *instance, bool begins)
{
	const struct call *call = call_of(instance);
	struct notes *notes = notes_of(call->object);

	fgio_wait_leave(call->seq);
	if (begins)
		note_current(notes, fgio_place_of(notes->objects, call->object),
			     call->object);
}

static int on_look_up(struct kretprobe_instance *instance,
		      struct pt_regs *regs)
{
	const struct qstr *name;

	if (!fgio_waits_matter())
		return 1;
	name = (const struct qstr *)regs_get_kernel_argument(regs, 1);
	return enter(instance, FGIO_WAIT_NAME,
		     object_of(regs_get_kernel_argument(regs, 0), name->hash));
}

static int on_looked_up(struct kretprobe_instance *instance,
			struct pt_regs *regs)
{
	const struct dentry *dentry = (const void *)regs_return_value(regs);

	leave(instance, !IS_ERR(dentry) && d_in_lookup(dentry));
	return 0;
}

static int on_get_inode(struct kretprobe_instance *instance,
			struct pt_regs *regs)
{
	if (!fgio_waits_matter())
		return 1;
	return enter(instance, FGIO_WAIT_INODE,
		     object_of(regs_get_kernel_argument(regs, 0),
			       regs_get_kernel_argument(regs, 1)));
}

static int on_got_inode(struct kretprobe_instance *instance,
			struct pt_regs *regs)
{
	const struct inode *inode = (const void *)regs_return_value(regs);

	leave(instance, inode && READ_ONCE(inode->i_state) & I_NEW);
	return 0;
}

static struct fgio_hook hooks[] = {
	FGIO_HOOK("d_alloc_parallel", LOCKS, on_look_up, on_looked_up),
	FGIO_HOOK("iget_locked", LOCKS, on_get_inode, on_got_inode),
	{}
};

/* The task that began counts while it is held up; else it is through soon. */
static void blockers(const struct fgio_walk_step *step)
{
	const struct notes *notes = notes_of(step->wait->object);
	unsigned int place = fgio_place_of(notes->objects, step->wait->object);
	u64 task;

	if (place == FGIO_PLACES)
		return;
	task = fgio_name_identity(READ_ONCE(notes->tasks[place]));
	if (fgio_io_holds_up(task))
		fgio_walk_found(step->walk, task);
}

const struct fgio_layer fgio_name_layer = {
	.name = "name",
	.mechanism = FGIO_MECHANISM_LOCKS,
	.kinds = FGIO_WAIT_RANGE(FGIO_WAIT_NAME, FGIO_WAIT_INODE),
	.hooks = hooks,
	.blockers = blockers,
};
