// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "../atomic.h"
#include "bench_pingpong.h"

u64 pingpong_load(const u64 *word)
{
	return *word;
}

void pingpong_store(u64 *word, u64 value)
{
	*word = value;
}

void pingpong_increment(u64 *word)
{
	(*word)++;
}

void pingpong_add_atomically(u64 *word)
{
	fgio_add(word, 1);
}

bool pingpong_replace(u64 *word, u64 expected, u64 value)
{
	return fgio_replace(word, &expected, value);
}

void pingpong_copy(struct pingpong_pair *to, const struct pingpong_pair *from)
{
	*to = *from;
}
