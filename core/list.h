/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A circular doubly linked list of nodes embedded in their owners.
 *
 * The kernel's list.h cannot be included natively, and its struct list_head
 * cannot be named without it: core carries the few operations it needs. All
 * are O(1), allocate nothing and take no lock.
 */
#ifndef FGIO_CORE_LIST_H
#define FGIO_CORE_LIST_H

#include "types.h"

struct fgio_list {
	struct fgio_list *next;
	struct fgio_list *prev;
};

#define fgio_container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))

static inline void fgio_list_init(struct fgio_list *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool fgio_list_empty(const struct fgio_list *list)
{
	return list->next == list;
}

static inline void fgio_list_insert_between(struct fgio_list *node,
					    struct fgio_list *prev,
					    struct fgio_list *next)
{
	node->prev = prev;
	node->next = next;
	prev->next = node;
	next->prev = node;
}

static inline void fgio_list_add_head(struct fgio_list *list,
				      struct fgio_list *node)
{
	fgio_list_insert_between(node, list, list->next);
}

static inline void fgio_list_add_tail(struct fgio_list *list,
				      struct fgio_list *node)
{
	fgio_list_insert_between(node, list->prev, list);
}

/* Leaves @node a list of its own: removing it twice does no harm. */
static inline void fgio_list_remove(struct fgio_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	fgio_list_init(node);
}

#endif /* FGIO_CORE_LIST_H */
