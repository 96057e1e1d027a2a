// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "number.h"
#include "share.h"

/* One I/O counts as so many times what it takes alone, at most. */
#define TIMES_MOST 16ULL

/* The mean of those alone is over so many. */
#define ALONE_SPAN 64

/* What was seen decays over so many intervals. */
#define SPAN 16

/* In percent of what it takes alone, critical I/O bears so much, and no more than that. */
#define BEARABLE 116
#define TOO_MUCH 119

/* It grows by so much of it and of the whole, and shrinks by so much of it. */
#define RISE 16
#define RISE_LEAST 4
#define FALL 8
#define SHARE_MOST (FGIO_SHARE_ALL / 2)

/* No more than so much is owed. */
#define OWED_MOST_NS 100000000ULL

static void learn_alone(struct fgio_share *share, u8 kind, u64 took_ns)
{
	u64 mean_ns = share->mean_ns[kind];
	u32 count = (u32)smaller(share->count[kind] + 1U, ALONE_SPAN);

	share->count[kind] = (u8)count;
	share->mean_ns[kind] = (u32)((mean_ns * (count - 1) + took_ns) / count);
}

void fgio_share_note(struct fgio_share *share, u8 kind, u64 took_ns, bool alone)
{
	u64 mean_ns = share->mean_ns[kind];

	if (mean_ns)
		took_ns = smaller(took_ns, TIMES_MOST * mean_ns);
	share->now_took_ns += mean_ns ? took_ns : 0;
	share->now_alone_ns += mean_ns;
	if (alone)
		learn_alone(share, kind, took_ns);
}

void fgio_share_spend(struct fgio_share *share, u64 work_ns, u64 done_ns,
		      u64 now_ns)
{
	u64 begin_ns = larger(share->until_ns, now_ns);

	share->beside_until_ns = done_ns;
	if (share->share)
		share->until_ns = smaller(begin_ns + work_ns * FGIO_SHARE_ALL /
							     share->share,
					  now_ns + OWED_MOST_NS);
}

static void learn(struct fgio_share *share)
{
	share->took_ns -= share->took_ns / SPAN;
	share->alone_ns -= share->alone_ns / SPAN;
	share->took_ns += share->now_took_ns;
	share->alone_ns += share->now_alone_ns;
	share->now_took_ns = 0;
	share->now_alone_ns = 0;
}

static void grow(struct fgio_share *share)
{
	share->share = (u32)smaller(share->share + share->share / RISE + RISE_LEAST,
				    SHARE_MOST);
}

void fgio_share_turn(struct fgio_share *share, bool wanted, bool pressed)
{
	bool seen = share->now_alone_ns;

	learn(share);
	if (!wanted)
		share->share = 0;
	else if (seen && 100 * share->took_ns > TOO_MUCH * share->alone_ns)
		share->share -= share->share / FALL;
	else if (seen && pressed &&
		 100 * share->took_ns < BEARABLE * share->alone_ns)
		grow(share);
}
