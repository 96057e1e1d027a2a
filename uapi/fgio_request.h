/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Request ids: what libfgio makes, and what orders I/O by them.
 *
 * A request id is the time at which a user's request arrived, by a hybrid
 * logical clock: bits 63:24 are milliseconds since 1970 modulo 2^40, bits 23:12
 * a counter that carries into them, and bits 11:0 the origin, a number of the
 * clock that made the id. 0 is no id.
 *
 * Ids wrap after 34.8 years: of two, that is earlier which is less than half of
 * the range behind the other.
 *
 * An id is a claim. What orders I/O by it takes an id that is further behind
 * its own clock than FGIO_REQUEST_BEHIND_MS for one that is as far behind, and
 * the same ahead; a number further off than FGIO_REQUEST_FOREIGN_MS was not
 * made by such a clock, and is no id.
 */
#ifndef _UAPI_FGIO_REQUEST_H
#define _UAPI_FGIO_REQUEST_H

#define FGIO_REQUEST_MS_SHIFT 24
#define FGIO_REQUEST_COUNTER_SHIFT 12
#define FGIO_REQUEST_ORIGINS 4096
#define FGIO_REQUEST_BEHIND_MS 1000
#define FGIO_REQUEST_AHEAD_MS 1000
#define FGIO_REQUEST_FOREIGN_MS 600000

#endif /* _UAPI_FGIO_REQUEST_H */
