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

static struct fgio_heap_node *lesser_child(const struct fgio_heap_node *node)
{
	struct fgio_heap_node *left = node->child[0], *right = node->child[1];

	return right && fgio_before(right->key, left->key) ? right : left;
}

static void settle(struct fgio_heap *heap, struct fgio_heap_node *node)
{
	struct fgio_heap_node *child;

	while (node->parent && fgio_before(node->key, node->parent->key))
		rise_once(heap, node);
	while ((child = lesser_child(node)) &&
	       fgio_before(child->key, node->key))
		rise_once(heap, child);
}

void fgio_heap_add(struct fgio_heap *heap, struct fgio_heap_node *node,
		   u64 key)
{
	struct fgio_heap_node *parent;
	struct fgio_heap_node **place = place_of(heap, ++heap->count, &parent);

	*node = (struct fgio_heap_node){
		.key = key,
		.parent = parent,
		.in_heap = true,
	};
	*place = node;
	settle(heap, node);
}

void fgio_heap_remove(struct fgio_heap *heap, struct fgio_heap_node *node)
{
	struct fgio_heap_node *parent, *last;
	struct fgio_heap_node **place = place_of(heap, heap->count--, &parent);

	last = *place;
	*place = NULL;
	node->in_heap = false;
	if (last == node)
		return;
	/* The last one takes its place. */
	*pointer_to(heap, node) = last;
	last->parent = node->parent;
	last->child[0] = node->child[0];
	last->child[1] = node->child[1];
	adopt(last);
	settle(heap, last);
}

void fgio_heap_change(struct fgio_heap *heap, struct fgio_heap_node *node,
		      u64 key)
{
	node->key = key;
	settle(heap, node);
}
