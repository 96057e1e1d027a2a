// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "tree.h"

static bool is_red(const struct bench_node *node)
{
	return node && node->red;
}

/* The place of @old goes to @new, which may be NULL. */
static void replace(struct bench_tree *tree, const struct bench_node *old,
		    struct bench_node *new)
{
	struct bench_node *parent = old->parent;

	if (!parent)
		tree->top = new;
	else
		parent->child[parent->child[1] == old] = new;
	if (new)
		new->parent = parent;
}

/* @node goes down to @side, and its child of the other side takes its place. */
static void rotate(struct bench_tree *tree, struct bench_node *node, bool side)
{
	struct bench_node *up = node->child[!side];
	struct bench_node *between = up->child[side];

	node->child[!side] = between;
	if (between)
		between->parent = node;
	replace(tree, node, up);
	up->child[side] = node;
	node->parent = up;
}

/* @node is red, and its parent may be so, too. */
static void mend_red(struct bench_tree *tree, struct bench_node *node)
{
	struct bench_node *parent;

	while ((parent = node->parent) && parent->red) {
		struct bench_node *grand = parent->parent;
		bool side = grand->child[1] == parent;
		struct bench_node *uncle = grand->child[!side];

		if (is_red(uncle)) {
			parent->red = false;
			uncle->red = false;
			grand->red = true;
			node = grand;
			continue;
		}
		if (node == parent->child[!side]) {
			rotate(tree, parent, side);
			parent = node;
		}
		parent->red = false;
		grand->red = true;
		rotate(tree, grand, !side);
		break;
	}
	if (tree->top->red)
		tree->top->red = false;
}

void bench_tree_add(struct bench_tree *tree, struct bench_node *node)
{
	struct bench_node **link = &tree->top;
	struct bench_node *parent = NULL;

	while (*link) {
		parent = *link;
		link = &parent->child[node->key >= parent->key];
	}
	node->parent = parent;
	node->child[0] = NULL;
	node->child[1] = NULL;
	node->red = true;
	*link = node;
	mend_red(tree, node);
}

/* Paths through @node, a child of @parent, or NULL, lack a black node. */
static void mend_black(struct bench_tree *tree, struct bench_node *node,
		       struct bench_node *parent)
{
	while (parent && !is_red(node)) {
		bool side = parent->child[1] == node;
		struct bench_node *other = parent->child[!side];

		if (other->red) {
			other->red = false;
			parent->red = true;
			rotate(tree, parent, side);
			other = parent->child[!side];
		}
		if (!is_red(other->child[0]) && !is_red(other->child[1])) {
			other->red = true;
			node = parent;
			parent = node->parent;
			continue;
		}
		if (!is_red(other->child[!side])) {
			other->child[side]->red = false;
			other->red = true;
			rotate(tree, other, !side);
			other = parent->child[!side];
		}
		other->red = parent->red;
		parent->red = false;
		other->child[!side]->red = false;
		rotate(tree, parent, side);
		return;
	}
	if (is_red(node))
		node->red = false;
}

/* The next node takes the place of @node, which has two children. */
static void put_next_in_place(struct bench_tree *tree, struct bench_node *node)
{
	struct bench_node *next = node->child[1];
	struct bench_node *child, *parent;
	bool was_red;

	while (next->child[0])
		next = next->child[0];
	was_red = next->red;
	child = next->child[1];
	parent = next;
	if (next->parent != node) {
		parent = next->parent;
		replace(tree, next, child);
		next->child[1] = node->child[1];
		next->child[1]->parent = next;
	}
	replace(tree, node, next);
	next->child[0] = node->child[0];
	next->child[0]->parent = next;
	next->red = node->red;
	if (!was_red)
		mend_black(tree, child, parent);
}

void bench_tree_remove(struct bench_tree *tree, struct bench_node *node)
{
	struct bench_node *child = node->child[0] ?: node->child[1];

	if (node->child[0] && node->child[1]) {
		put_next_in_place(tree, node);
		return;
	}
	replace(tree, node, child);
	if (!node->red)
		mend_black(tree, child, node->parent);
}

struct bench_node *bench_tree_at_or_after(const struct bench_tree *tree,
					  u64 key)
{
	struct bench_node *node = tree->top;
	struct bench_node *found = NULL;

	while (node) {
		if (node->key >= key)
			found = node;
		node = node->child[node->key < key];
	}
	return found;
}
