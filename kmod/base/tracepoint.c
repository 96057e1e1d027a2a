// SPDX-License-Identifier: GPL-2.0
/* Tracepoints that the kernel does not export, found by name. */
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "base/tracepoint.h"

struct search {
	const char *name;
	struct tracepoint *found;
};

static void compare(struct tracepoint *tp, void *data)
{
	struct search *search = data;

	if (!strcmp(tp->name, search->name))
		search->found = tp;
}

struct tracepoint *fgio_find_tracepoint(const char *name)
{
	struct search search = { .name = name };

	for_each_kernel_tracepoint(compare, &search);
	return search.found;
}
