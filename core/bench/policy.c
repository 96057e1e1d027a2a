// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <string.h>

#include "policy.h"

const struct bench_policy *const bench_policies[] = {
	&bench_none,
	&bench_deadline,
	&bench_one_queue,
	&bench_many_queues,
	NULL,
};

const struct bench_policy *bench_policy_by_name(const char *name)
{
	for (u32 i = 0; bench_policies[i]; i++)
		if (!strcmp(bench_policies[i]->name, name))
			return bench_policies[i];
	return NULL;
}
