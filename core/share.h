/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What non-critical I/O has of a drive that critical I/O wants all of.
 *
 * Where critical I/O alone keeps a drive busy, there is nothing left that it would not
 * notice. Non-critical I/O has a share of the drive's time there all the same, as large
 * as critical I/O bears: its mean time, against that in a quiet drive, is kept between
 * two bounds. No more is promised to anybody by it, since a share may be nothing.
 *
 * Locking: the caller serialises. Nothing here sleeps, allocates or loops.
 */
#ifndef FGIO_CORE_SHARE_H
#define FGIO_CORE_SHARE_H

#include "floor.h"
#include "types.h"

/* The whole of a drive. */
#define FGIO_SHARE_ALL 1024

/**
 * struct fgio_share - of one drive; all zero: nothing was seen
 * @until_ns: when the work that went in it is done, at that share
 * @beside_until_ns: when all that is not critical is done
 * @took_ns: what critical I/Os took, over some intervals...
 * @alone_ns: ...and would have taken without others
 * @now_took_ns: of the former, in this interval...
 * @now_alone_ns: ...and of the latter
 * @mean_ns: what one of each kind takes without others; 0: not known
 * @count: how many told that, up to some
 * @share: of the drive's time
 */
struct fgio_share {
	u64 until_ns;
	u64 beside_until_ns;
	u64 took_ns;
	u64 alone_ns;
	u64 now_took_ns;
	u64 now_alone_ns;
	u32 mean_ns[FGIO_KINDS];
	u8 count[FGIO_KINDS];
	u32 share;
};

/* A critical I/O took so long, with or without others beside it. */
void fgio_share_note(struct fgio_share *share, u8 kind, u64 took_ns, bool alone);

/* Whether what is not critical, or work of it, is in the drive. */
static inline bool fgio_share_is_alone(const struct fgio_share *share, u32 others,
				       u64 now_ns)
{
	return !others && share->beside_until_ns <= now_ns;
}

/* Whether one that is not critical may go at @now_ns. */
static inline bool fgio_share_allows(const struct fgio_share *share, u64 now_ns)
{
	return share->share && share->until_ns <= now_ns;
}

/* When to ask again, where it may not; @otherwise_ns where it has no share. */
static inline u64 fgio_share_retry_ns(const struct fgio_share *share,
				      u64 otherwise_ns)
{
	return share->share && share->until_ns < otherwise_ns ?
		       share->until_ns : otherwise_ns;
}

/* It went, keeps the drive busy for @work_ns, and is done at @done_ns. */
void fgio_share_spend(struct fgio_share *share, u64 work_ns, u64 done_ns,
		      u64 now_ns);

/**
 * fgio_share_turn() - an interval ends
 * @share: of the drive
 * @wanted: critical I/O wanted most of the drive in it
 * @pressed: and something else waited
 */
void fgio_share_turn(struct fgio_share *share, bool wanted, bool pressed);

#endif /* FGIO_CORE_SHARE_H */
