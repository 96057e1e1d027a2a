/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Weights of a hierarchy of groups, flattened to the weights of core/shares.h.
 *
 * A group's tasks have their part of its weight among the groups that *ask*: that
 * have I/O, or had some since the last look. What siblings that do no I/O would
 * have goes to those that do, as with io.cost and BFQ: a limit is not what a
 * weight says. Groups below the root have their weight, whichever others ask, so
 * one that begins to ask has its part at once. The root's own tasks count as one
 * more group below it, and the own tasks of a group as one more child of it.
 *
 * A look takes three passes over all groups, parents first: facts, counts,
 * weights. Each pass costs O(1) for a group, all counts together O(groups).
 *
 * Locking: the caller serialises the passes of one device. A group may be made
 * during a look: it takes part from the next one on, and has the weight of the
 * last one until then. Nothing here sleeps or allocates.
 */
#ifndef FGIO_CORE_SHARES_TREE_H
#define FGIO_CORE_SHARES_TREE_H

#include "types.h"

/* Parts of a drive are told in millionths. */
#define FGIO_SHARES_WHOLE 1000000U

/*
 * A weight can count for more or less than users set it (cache_hits.h), within
 * these bounds; in parts of FGIO_SHARES_SCALE_ONE.
 */
#define FGIO_SHARES_SCALE_ONE 1024U
#define FGIO_SHARES_SCALE_LEAST (FGIO_SHARES_SCALE_ONE / 4)
#define FGIO_SHARES_SCALE_MOST (FGIO_SHARES_SCALE_ONE * 4)

/**
 * struct fgio_share_node - a group's place in the hierarchy of one device
 * @parent: NULL: it is the root. Stays while this one takes part in a look
 * @weight: as users set it, 1 to 10,000
 * @scale: what @weight counts for among its siblings
 * @part: weight in core of its tasks and all groups below it
 * @own: weight in core of its tasks; if they do not ask, as if they did
 * @children: sum of the weights of its children that ask or have one below that
 *	does, and its own if its tasks ask; scaled, in parts of one
 * @present: it takes part in this look
 * @asks: its tasks ask
 * @counted: it is in its parent's @children
 */
struct fgio_share_node {
	struct fgio_share_node *parent;
	u32 weight;
	u32 scale;
	u32 part;
	u32 own;
	u64 children;
	bool present;
	bool asks;
	bool counted;
};

/**
 * struct fgio_share_tree - what a look found on one device
 * @groups: groups that took part
 * @own_weights: those below the root that have another weight than the default
 * @asking: groups that ask...
 * @asking_weight: ...and the sum of their @own
 */
struct fgio_share_tree {
	u32 groups;
	u32 own_weights;
	u32 asking;
	u64 asking_weight;
};

/*
 * A new group, under a parent that has been initialised. @weight: of users. It
 * takes part in no look yet, and has the weights that it would have if it alone
 * began to ask now.
 */
void fgio_share_node_init(struct fgio_share_node *node,
			  struct fgio_share_node *parent, u32 weight);

/* A look begins: then the passes, in the order below. */
static inline void fgio_share_tree_begin(struct fgio_share_tree *tree)
{
	*tree = (struct fgio_share_tree){ 0 };
}

/*
 * The first pass: the group's weight now, what it counts for, and whether its
 * tasks ask. A scale beyond its bounds is taken as the nearest. A group that is
 * going must be told by fgio_share_node_leave() instead: the others count
 * without it.
 */
void fgio_share_node_facts(struct fgio_share_tree *tree,
			   struct fgio_share_node *node, u32 weight, u32 scale,
			   bool asks);

static inline void fgio_share_node_leave(struct fgio_share_node *node)
{
	node->present = false;
	node->asks = false;
}

/* The second pass, after the first of all groups. */
void fgio_share_node_count(struct fgio_share_node *node);

/* The third pass, after the second of all groups: sets @node->part and ->own. */
void fgio_share_node_settle(struct fgio_share_tree *tree,
			    struct fgio_share_node *node);

/**
 * fgio_share_node_guarantee() - a group's part of the drive
 * @tree: after a look
 * @node: of it; as it stands after that look
 *
 * Return: of the drive's time while those ask that asked, in millionths; of a
 * group that did not ask, what it would be if it alone began to.
 */
u32 fgio_share_node_guarantee(const struct fgio_share_tree *tree,
			      const struct fgio_share_node *node);

#endif /* FGIO_CORE_SHARES_TREE_H */
