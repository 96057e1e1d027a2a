// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "shares_heap.h"

/*
 * The pointer to place @number of the tree, counted from 1 row by row. The bits
 * of the number below its highest are the way from the root. @parent: out.
 */
static struct fgio_heap_node **place_of(struct fgio_heap *heap, u32 number,
					struct fgio_heap_node **parent)
{
	struct fgio_heap_node **place = &heap->root;
	u32 bit = number ? 1U << (31 - __builtin_clz(number)) : 0;

	*parent = NULL;
	for (bit >>= 1; bit; bit >>= 1) {
		*parent = *place;
		place = &(*place)->child[!!(number & bit)];
	}
	return place;
}

/* The pointer to @node. */
static struct fgio_heap_node **pointer_to(struct fgio_heap *heap,
					  struct fgio_heap_node *node)
{
	struct fgio_heap_node *parent = node->parent;

	return parent ? &parent->child[parent->child[1] == node] : &heap->root;
}

static void adopt(struct fgio_heap_node *node)
{
	for (u32 side = 0; side < 2; side++)
		if (node->child[side])
			node->child[side]->parent = node;
}

/* @node changes places with its parent. */
static void rise_once(struct fgio_heap *heap, struct fgio_heap_node *node)
{
	struct fgio_heap_node *parent = node->parent;
	u32 side = parent->child[1] == node;
	struct fgio_heap_node *sibling = parent->child[!side];

	*pointer_to(heap, parent) = node;
	node->parent = parent->parent;
	parent->child[0] = node->child[0];
	parent->child[1] = node->child[1];
	node->child[side] = parent;
	node->child[!side] = sibling;
	adopt(parent);
	adopt(node);
}

/* @child: NULL: there is none. */
static bool is_before(const struct fgio_heap_node *child,
		      const struct fgio_heap_node *node)
{
	return child && fgio_before(child->key, node->key);
}

/*
 * Lesser children rise one by one into an empty place, and @node, which is not
 * before @parent, takes that of the last: a third of the stores of changing
 * places with each. @left, @right: children of the place; NULL: there is none.
 */
static FGIO_SELDOM void fill(struct fgio_heap_node **place,
			     struct fgio_heap_node *parent,
			     struct fgio_heap_node *left,
			     struct fgio_heap_node *right,
			     struct fgio_heap_node *node)
{
	while (left) {
		bool side = right && fgio_before(right->key, left->key);
		struct fgio_heap_node *child = side ? right : left;
		struct fgio_heap_node *sibling = side ? left : right;

		if (!fgio_before(child->key, node->key))
			break;
		left = child->child[0];
		right = child->child[1];
		*place = child;
		child->parent = parent;
		child->child[!side] = sibling;
		if (sibling)
			sibling->parent = child;
		place = &child->child[side];
		parent = child;
	}
	*place = node;
	node->parent = parent;
	node->child[0] = left;
	node->child[1] = right;
	adopt(node);
}

static void sink(struct fgio_heap *heap, struct fgio_heap_node *node)
{
	struct fgio_heap_node *left = node->child[0], *right = node->child[1];

	/* Most often, it stays where it is. */
	if (is_before(left, node) || is_before(right, node))
		fill(pointer_to(heap, node), node->parent, left, right, node);
}

/* The key of one of two changed. */
static void settle_one(struct fgio_heap *heap)
{
	struct fgio_heap_node *root = heap->root, *other = root->child[0];

	if (!fgio_before(other->key, root->key))
		return;
	root->child[0] = NULL;
	root->parent = other;
	other->child[0] = root;
	other->parent = NULL;
	heap->root = other;
}

static FGIO_SELDOM void settle(struct fgio_heap *heap,
			       struct fgio_heap_node *node)
{
	while (node->parent && fgio_before(node->key, node->parent->key))
		rise_once(heap, node);
	sink(heap, node);
}

void fgio_heap_settle(struct fgio_heap *heap, struct fgio_heap_node *node)
{
	if (heap->count == 2)
		settle_one(heap);
	else
		settle(heap, node);
}

/* Of two, the other one is in the heap. */
static void add_second(struct fgio_heap *heap, struct fgio_heap_node *node)
{
	struct fgio_heap_node *other = heap->root;

	if (!fgio_before(node->key, other->key)) {
		node->parent = other;
		other->child[0] = node;
		return;
	}
	node->child[0] = other;
	other->parent = node;
	heap->root = node;
}

static void add_last(struct fgio_heap *heap, struct fgio_heap_node *node)
{
	*place_of(heap, heap->count, &node->parent) = node;
	while (node->parent && fgio_before(node->key, node->parent->key))
		rise_once(heap, node);
}

void fgio_heap_add_beside(struct fgio_heap *heap, struct fgio_heap_node *node,
			  u64 key)
{
	node->key = key;
	node->parent = NULL;
	node->child[0] = NULL;
	node->child[1] = NULL;
	node->in_heap = true;
	if (++heap->count == 2)
		add_second(heap, node);
	else
		add_last(heap, node);
}

/* @with comes to the place of @node, which is in no heap then, or near it. */
static void take_place(struct fgio_heap *heap, struct fgio_heap_node *node,
		       struct fgio_heap_node *with)
{
	struct fgio_heap_node **place = pointer_to(heap, node);
	struct fgio_heap_node *parent = node->parent;

	if (!parent || !fgio_before(with->key, parent->key)) {
		fill(place, parent, node->child[0], node->child[1], with);
		return;
	}
	*place = with;
	with->parent = parent;
	with->child[0] = node->child[0];
	with->child[1] = node->child[1];
	adopt(with);
	fgio_heap_settle(heap, with);
}

/* @node was one of two. */
static void leave_one(struct fgio_heap *heap, struct fgio_heap_node *node)
{
	struct fgio_heap_node *other = node->parent ?: node->child[0];

	other->parent = NULL;
	other->child[0] = NULL;
	heap->root = other;
}

static FGIO_SELDOM void remove_one(struct fgio_heap *heap,
				   struct fgio_heap_node *node)
{
	struct fgio_heap_node *parent;
	struct fgio_heap_node **place =
		place_of(heap, heap->count + 1, &parent);
	struct fgio_heap_node *last = *place;

	*place = NULL;
	if (last != node)
		take_place(heap, node, last);
}

void fgio_heap_remove_beside(struct fgio_heap *heap,
			     struct fgio_heap_node *node)
{
	node->in_heap = false;
	if (--heap->count == 1)
		leave_one(heap, node);
	else
		remove_one(heap, node);
}

void fgio_heap_replace(struct fgio_heap *heap, struct fgio_heap_node *node,
		       struct fgio_heap_node *with)
{
	node->in_heap = false;
	with->in_heap = true;
	take_place(heap, node, with);
}
