// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What an I/O of a group takes of a drive that the group has alone: of one at a
 * time, those show it that had the drive alone; of several, probes do.
 */
#include "atomic.h"
#include "number.h"
#include "shares.h"
#include "shares_internal.h"

/* Kind and size of an I/O. */
static u32 shape_of(const struct fgio_request *request)
{
	return request->sectors << 2 | request->share.kind;
}

/*
 * Of reads: a cache takes writes at once. A mean of few in a row, unlike the
 * median, follows a volume that has spent its credits at once.
 */
static void note_lone(struct fgio_share_group *group, u32 shape, u64 took_ns)
{
	if (group->lone_shape != shape) {
		fgio_store(&group->lone_shape, shape);
		group->lone = 0;
		group->lone_ns = 0;
	}
	group->lone_ns += took_ns;
	if (++group->lone < FGIO_SHARES_LONE_IOS)
		return;
	fgio_store(&group->lone_mean_ns, group->lone_ns / FGIO_SHARES_LONE_IOS);
	group->lone = 0;
	group->lone_ns = 0;
}

bool fgio_share_group_is_of_lone(const struct fgio_share_group *group,
				 const struct fgio_request *request)
{
	return fgio_load(&group->lone_shape) == shape_of(request);
}

/* A median, by steps. @may_rise: what took longer counts as well. */
static void step(struct fgio_share_alone *alone, u64 took_ns, bool may_rise)
{
	u32 part = (u32)larger(fgio_load(&alone->step), FGIO_SHARES_ALONE_STEP);
	u64 known_ns = fgio_load(&alone->ns);
	u64 step_ns = known_ns / part + 1;

	fgio_store(&alone->step,
		   (u32)smaller(part + 1, FGIO_SHARES_ALONE_STEP_LAST));
	if (took_ns < known_ns)
		fgio_store(&alone->ns, beyond(known_ns, step_ns));
	else if (may_rise)
		fgio_store(&alone->ns, known_ns + step_ns);
}

/* Whether it is of far more or fewer than @ios at a time, or not known. */
static bool is_of_others(const struct fgio_share_alone *alone, u32 ios)
{
	u32 known = fgio_load(&alone->ios);

	return known > 2 * ios || ios > 2 * known;
}

static void begin(struct fgio_share_alone *alone, u64 took_ns, u32 ios)
{
	fgio_store(&alone->step, 0);
	fgio_store(&alone->ns, took_ns);
	fgio_store(&alone->ios, ios);
}

void fgio_share_group_note_alone(struct fgio_share_group *group,
				 const struct fgio_request *request, u64 now_ns)
{
	struct fgio_share_alone *alone = &group->alone[request->write];
	u64 took_ns = beyond(now_ns, request->share.sent_ns);

	if (!request->write)
		note_lone(group, shape_of(request), took_ns);
	if (is_of_others(alone, 1))
		begin(alone, took_ns, 1);
	else
		step(alone, took_ns,
		     !fgio_share_group_others_wrote(group, now_ns));
}

u64 fgio_share_group_alone_shown(struct fgio_share_group *group, bool write,
				 u64 took_ns, u32 ios)
{
	struct fgio_share_alone *alone = fgio_share_group_alone_of(group, write);
	u64 known_ns = fgio_load(&alone->ns);
	/* A disk does one at a time, whatever it has. */
	bool anew = group->shares->rotates ? !known_ns :
					     is_of_others(alone, ios);

	if (anew) {
		begin(alone, took_ns, ios);
		return took_ns;
	}
	known_ns += took_ns / FGIO_SHARES_PROBE_SPAN -
		    known_ns / FGIO_SHARES_PROBE_SPAN;
	fgio_store(&alone->ns, known_ns);
	fgio_store(&alone->ios, ios);
	return known_ns;
}
