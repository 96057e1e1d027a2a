/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Ids of users' requests (uapi/fgio_request.h): which one is earlier, and how far one is
 * believed. Constant time, any context, no lock.
 */
#ifndef FGIO_CORE_REQUEST_ID_H
#define FGIO_CORE_REQUEST_ID_H

#include "../uapi/fgio_request.h"
#include "types.h"

/* Whether @id is earlier than @other. */
static inline bool fgio_request_id_before(u64 id, u64 other)
{
	return (s64)(id - other) < 0;
}

/* @ms as a difference of ids. */
static inline u64 fgio_request_id_ms(u64 ms)
{
	return ms << FGIO_REQUEST_MS_SHIFT;
}

/* The time @real_ns, since 1970, as an id: finer than any counter. */
static inline u64 fgio_request_id_at(u64 real_ns)
{
	u64 rest_ns = real_ns % 1000000;

	return fgio_request_id_ms(real_ns / 1000000) +
	       (rest_ns << FGIO_REQUEST_MS_SHIFT) / 1000000;
}

/*
 * Whether @id is believed at @real_ns, for certain: it is within the window, by
 * milliseconds. Most are, and it takes less than to know it of the others.
 */
static inline bool fgio_request_id_is_near(u64 id, u64 real_ns)
{
	u64 earliest = fgio_request_id_ms(real_ns / 1000000 -
					  (FGIO_REQUEST_BEHIND_MS - 1));

	return id - earliest <= fgio_request_id_ms(FGIO_REQUEST_BEHIND_MS - 1 +
						   FGIO_REQUEST_AHEAD_MS);
}

/**
 * fgio_request_id_believed() - an id from outside
 * @id: what it is
 * @now: the time, by fgio_request_id_at()
 *
 * Return: the id, or the bound that it is beyond; 0: it is none, since it is 0
 * or further off than FGIO_REQUEST_FOREIGN_MS.
 */
static inline u64 fgio_request_id_believed(u64 id, u64 now)
{
	s64 ahead = (s64)(id - now);
	s64 foreign = (s64)fgio_request_id_ms(FGIO_REQUEST_FOREIGN_MS);

	if (!id || ahead > foreign || ahead < -foreign)
		return 0;
	if (ahead < -(s64)fgio_request_id_ms(FGIO_REQUEST_BEHIND_MS))
		return now - fgio_request_id_ms(FGIO_REQUEST_BEHIND_MS);
	if (ahead > (s64)fgio_request_id_ms(FGIO_REQUEST_AHEAD_MS))
		return now + fgio_request_id_ms(FGIO_REQUEST_AHEAD_MS);
	return id;
}

#endif /* FGIO_CORE_REQUEST_ID_H */
