/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A binary heap of nodes embedded in their owners, the least key first.
 *
 * The nodes form a complete binary tree by pointers, so nothing is allocated,
 * and adding, removing and changing a key each take at most two steps per level
 * of the tree: 2 * log2(nodes), in the worst case as well.
 *
 * Keys are virtual times that wrap around: of two, that is less which is less
 * than half of the range behind the other. Nodes of equal keys come in any
 * order.
 *
 * Locking: the caller serialises all calls for one heap.
 */
#ifndef FGIO_CORE_SHARES_HEAP_H
#define FGIO_CORE_SHARES_HEAP_H

#include "types.h"

/**
 * struct fgio_heap_node - only the functions below touch the members but @key,
 *	which may be read
 * @key: its place in the order
 * @parent: NULL at the root
 * @child: left and right
 * @in_heap: whether it is in a heap
 */
struct fgio_heap_node {
	u64 key;
	struct fgio_heap_node *parent;
	struct fgio_heap_node *child[2];
	bool in_heap;
};

/* All zero: empty. */
struct fgio_heap {
	struct fgio_heap_node *root;
	u32 count;
};

/* Whether virtual time @one is before @other. */
static inline bool fgio_before(u64 one, u64 other)
{
	return (s64)(one - other) < 0;
}

/* The node with the least key, or NULL. O(1). */
static inline struct fgio_heap_node *
fgio_heap_first(const struct fgio_heap *heap)
{
	return heap->root;
}

/* The same two where there are, or will be, others. */
void fgio_heap_add_beside(struct fgio_heap *heap, struct fgio_heap_node *node,
			  u64 key);
void fgio_heap_remove_beside(struct fgio_heap *heap,
			     struct fgio_heap_node *node);

/* @node is in no heap. Most heaps have none or one: inline. */
static inline void fgio_heap_add(struct fgio_heap *heap,
				 struct fgio_heap_node *node, u64 key)
{
	if (heap->count) {
		fgio_heap_add_beside(heap, node, key);
		return;
	}
	node->key = key;
	node->parent = NULL;
	node->child[0] = NULL;
	node->child[1] = NULL;
	node->in_heap = true;
	heap->root = node;
	heap->count = 1;
}

/* @node is in @heap. */
static inline void fgio_heap_remove(struct fgio_heap *heap,
				    struct fgio_heap_node *node)
{
	if (heap->count > 1) {
		fgio_heap_remove_beside(heap, node);
		return;
	}
	node->in_heap = false;
	heap->root = NULL;
	heap->count = 0;
}

/* @with, in no heap, takes the place of @node with its own key. */
void fgio_heap_replace(struct fgio_heap *heap, struct fgio_heap_node *node,
		       struct fgio_heap_node *with);

/* The key of @node, which is in @heap, changed: it finds its place. */
void fgio_heap_settle(struct fgio_heap *heap, struct fgio_heap_node *node);

/* @node is in @heap, and most often alone there. */
static inline void fgio_heap_change(struct fgio_heap *heap,
				    struct fgio_heap_node *node, u64 key)
{
	node->key = key;
	if (heap->count > 1)
		fgio_heap_settle(heap, node);
}

#endif /* FGIO_CORE_SHARES_HEAP_H */
