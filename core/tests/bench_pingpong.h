/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Accesses for bench/lines.c to count. Their file is compiled with
 * -fsanitize=thread, as the policies are for queues-lines.
 */
#ifndef FGIO_CORE_TESTS_BENCH_PINGPONG_H
#define FGIO_CORE_TESTS_BENCH_PINGPONG_H

#include "../types.h"

u64 pingpong_load(const u64 *word);
void pingpong_store(u64 *word, u64 value);
void pingpong_increment(u64 *word);
void pingpong_add_atomically(u64 *word);
bool pingpong_replace(u64 *word, u64 expected, u64 value);

struct pingpong_pair {
	u64 words[2];
};

void pingpong_copy(struct pingpong_pair *to, const struct pingpong_pair *from);

#endif
