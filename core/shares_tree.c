// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "shares.h"
#include "shares_tree.h"

/* @weight's part of @whole, of which all have @sum: at least 1. */
static u32 part_of(u32 whole, u64 weight, u64 sum)
{
	return (u32)larger(1, whole * weight / larger(sum, 1));
}

/* Among its siblings. */
static u64 weight_of(const struct fgio_share_node *node)
{
	return (u64)node->weight * node->scale;
}

/* Of its own tasks, among its children: what they hit counts in all of it. */
static u64 own_weight_of(const struct fgio_share_node *node)
{
	return (u64)node->weight * FGIO_SHARES_SCALE_ONE;
}

static bool is_root(const struct fgio_share_node *node)
{
	return !node->parent;
}

static bool is_below_root(const struct fgio_share_node *node)
{
	return node->parent && is_root(node->parent);
}

/* A group that is not counted has the part that it would have if it were. */
static void set_weights(struct fgio_share_node *node)
{
	const struct fgio_share_node *parent = node->parent;
	u64 children = node->children +
		       (node->asks ? 0 : own_weight_of(node));

	if (is_root(node) || is_below_root(node))
		node->part = part_of(fgio_shares_weight(node->weight),
				     node->scale, FGIO_SHARES_SCALE_ONE);
	else
		node->part = part_of(parent->part, weight_of(node),
				     parent->children +
				     (node->counted ? 0 : weight_of(node)));
	node->own = is_root(node) ? node->part :
				    part_of(node->part, own_weight_of(node),
					    children);
}

void fgio_share_node_init(struct fgio_share_node *node,
			  struct fgio_share_node *parent, u32 weight)
{
	*node = (struct fgio_share_node){
		.parent = parent,
		.weight = weight,
		.scale = FGIO_SHARES_SCALE_ONE,
	};
	set_weights(node);
}

void fgio_share_node_facts(struct fgio_share_tree *tree,
			   struct fgio_share_node *node, u32 weight, u32 scale,
			   bool asks)
{
	node->present = true;
	node->weight = weight;
	node->scale = (u32)smaller(larger(scale, FGIO_SHARES_SCALE_LEAST),
				   FGIO_SHARES_SCALE_MOST);
	node->asks = asks;
	node->counted = false;
	node->children = asks ? own_weight_of(node) : 0;
	tree->groups++;
	if (!is_root(node) && weight != FGIO_SHARES_WEIGHT_DEFAULT)
		tree->own_weights++;
}

/* Each group is counted once, with all above it. */
void fgio_share_node_count(struct fgio_share_node *node)
{
	if (!node->present || !node->asks)
		return;
	while (!is_root(node) && !node->counted) {
		node->counted = true;
		node->parent->children += weight_of(node);
		node = node->parent;
	}
}

void fgio_share_node_settle(struct fgio_share_tree *tree,
			    struct fgio_share_node *node)
{
	if (!node->present)
		return;
	set_weights(node);
	if (!node->asks)
		return;
	tree->asking++;
	tree->asking_weight += node->own;
}

/* Whether some tasks ask of the group below the root that @node is part of. */
static bool is_branch_asking(const struct fgio_share_node *node)
{
	if (is_root(node))
		return node->asks;
	while (!is_below_root(node))
		node = node->parent;
	return node->counted;
}

u32 fgio_share_node_guarantee(const struct fgio_share_tree *tree,
			      const struct fgio_share_node *node)
{
	u64 sum = tree->asking_weight;

	if (!is_branch_asking(node))
		sum += node->own;
	return (u32)smaller((u64)node->own * FGIO_SHARES_WHOLE /
				    larger(sum, 1),
			    FGIO_SHARES_WHOLE);
}
