/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A red-black tree of nodes embedded in their owners, by key: the structure
 * that schedulers sort requests with, so that it costs here what it costs
 * there. The caller serialises all calls for one tree.
 */
#ifndef FGIO_BENCH_TREE_H
#define FGIO_BENCH_TREE_H

#include "../types.h"

/* @child: with lower keys, with higher ones or the same */
struct bench_node {
	struct bench_node *parent;
	struct bench_node *child[2];
	u64 key;
	bool red;
};

struct bench_tree {
	struct bench_node *top;
};

/* @node: its key is set. */
void bench_tree_add(struct bench_tree *tree, struct bench_node *node);

/* @node: in the tree. */
void bench_tree_remove(struct bench_tree *tree, struct bench_node *node);

/* The node with the lowest key of at least @key, or NULL. */
struct bench_node *bench_tree_at_or_after(const struct bench_tree *tree,
					  u64 key);

#endif /* FGIO_BENCH_TREE_H */
