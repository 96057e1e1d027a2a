/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * libfgio: a program marks the work that requests wait for.
 *
 * The disk I/O of a thread inside a *foreground section* is critical: it
 * overtakes the I/O that no request waits for. So does the I/O of tasks that the
 * thread waits for: a lock holder, a journal commit, another thread. See
 * libfgio(3).
 *
 *	fgio_foreground_begin();
 *	answer(request);
 *	fgio_foreground_end();
 *
 * Sections belong to the calling thread and nest; the innermost one counts. To
 * begin and to end one takes a few nanoseconds and no system call, but for the
 * first one of each thread. Without the fgio module all calls are harmless and
 * cost the same.
 *
 * After fork(2) the child has no section. All functions may be called by any
 * thread at any time; none but those that only begin or end a section after a
 * thread's first one are safe in signal handlers.
 */
#ifndef LIBFGIO_H
#define LIBFGIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The class of a thread's work. */
enum fgio_class {
	/* Not marked: the thread's tag, then its I/O priority decides. */
	FGIO_CLASS_NONE = 0,
	/* A request waits for it. */
	FGIO_CLASS_FOREGROUND = 1,
	/* No request waits for it. */
	FGIO_CLASS_BACKGROUND = 2,
};

/* Sections that are kept for a thread; in deeper ones the last of these counts. */
#define FGIO_SECTIONS_MAX 32

/**
 * fgio_init() - open the device
 *
 * Need not be called: the first section or the first declared wait does so. It
 * tells whether the module is there, and looks for it again when it was not.
 *
 * Return: 0; or a negative error number: -ENOENT (the module is not loaded),
 * -EACCES, -EPROTO (the module speaks another version of the contract), or another
 * error of open(2).
 */
int fgio_init(void);

/* Whether the module is there. Calls fgio_init() if need be. */
bool fgio_available(void);

/* Begins a section for which a request waits, and ends the innermost section. */
void fgio_foreground_begin(void);
void fgio_foreground_end(void);

/* Begins a section for which no request waits, and ends the innermost section. */
void fgio_background_begin(void);
void fgio_background_end(void);

/**
 * struct fgio_user_request - a request of a user, as its parts carry it
 * @id: of fgio_request_new(), 0: none
 * @deadline_ms: when its user wants the answer, in milliseconds after it
 *	arrived; 0: unknown
 * @parts: sub-requests that it has, on all servers together; 0: unknown
 */
struct fgio_user_request {
	uint64_t id;
	uint32_t deadline_ms;
	uint32_t parts;
};

/**
 * fgio_request_begin() - begin a foreground section that serves a request
 * @id: of the request, by fgio_request_new(), 0 for none. Where requests are
 *	ordered, I/O goes in the order of ids. A number of the program's own is
 *	for debugging, and orders nothing
 */
void fgio_request_begin(uint64_t id);
void fgio_request_end(void);

/* The same with all that is known of the request; it is copied. */
void fgio_request_begin_as(const struct fgio_user_request *request);

/**
 * fgio_request_new() - an id for a request that arrives now
 *
 * For the first program that a request meets, which hands it on. Ids are ordered
 * by arrival, also among processes and hosts, as exactly as their clocks agree.
 * Each is later than all that this process made or has seen, unless its clock
 * is set back by more than a second. No system call but for the first of a
 * process.
 *
 * Return: the id, never 0.
 */
uint64_t fgio_request_new(void);

/**
 * fgio_request_origin() - tell the ids of this process from those of others
 * @origin: a number below 4096, other for each process that makes ids. Without
 *	this it is random, and two processes may make the same id by chance: their
 *	two requests count as one.
 *
 * A child of fork(2) has a random one again.
 *
 * Return: 0; -EINVAL: @origin is too large.
 */
int fgio_request_origin(uint32_t origin);

/**
 * fgio_request_seen() - an id of another process arrived here
 * @id: what it is; one that is more than a second ahead of the clock is ignored
 *
 * Ids that are made here from now on are later. For processes that make ids and
 * also receive some.
 */
void fgio_request_seen(uint64_t id);

/* Whether a request arrived before another one. Ids wrap after 34.8 years. */
static inline bool fgio_request_is_before(uint64_t id, uint64_t other)
{
	return (id - other) >> 63;
}

/* Room for the text of a request, with the NUL at its end. */
#define FGIO_REQUEST_TEXT_BYTES 48

/**
 * fgio_request_format() - a request as text, for a comment or an argument
 * @request: its @id is not 0
 * @text: out: "fgio:ID", "fgio:ID-DEADLINE" or "fgio:ID-DEADLINE-PARTS", with
 *	16 hexadecimal digits and two decimal numbers; a NUL ends it
 * @bytes: room there; FGIO_REQUEST_TEXT_BYTES is enough for any
 *
 * Return: its length without the NUL; -EINVAL: no id; -ENOSPC: no room.
 */
int fgio_request_format(const struct fgio_user_request *request, char *text, size_t bytes);

/**
 * fgio_request_parse() - find a request in a text
 * @text: any, such as a query, a comment, or a tracestate header, in which the
 *	name is followed by "=" instead of ":"; either may be encoded as in a URL
 * @request: out: the first one in it; unchanged if there is none
 *
 * Return: 0; -ENOENT: there is none.
 */
int fgio_request_parse(const char *text, struct fgio_user_request *request);

/**
 * fgio_wait_for() - declare a wait: name the thread that the caller waits for
 * @tid: thread id (gettid(2)), not the calling thread's own
 *
 * For locks whose owner the kernel cannot see. Call it before the wait,
 * and fgio_wait_done() after it; a later call takes the place of an earlier
 * one. A system call each: only for waits that sleep anyway.
 *
 * Return: 0, also without the module; or -EINVAL, -ESRCH (no such thread),
 * -EPERM (another user's, without CAP_SYS_NICE), -EDQUOT (the user has as many
 * threads that declare waits as it may), -ENOSPC (the host has), -EOPNOTSUPP.
 */
int fgio_wait_for(pid_t tid);
void fgio_wait_done(void);

/**
 * struct fgio_status - the state of fgio, and of the calling thread
 * @available: whether the module is there, 0 or 1; where not, all but
 *	@class_ and @sections is zero
 * @class_: the class by the innermost section, enum fgio_class
 * @sections: sections that the calling thread is in
 * @without_calls: whether sections of the calling thread take no system call,
 *	0 or 1. Where the module has no thread flags, RLIMIT_MEMLOCK is used up,
 *	or the administrator's limits did not let the thread be a foreground task
 *	in its first section, they tag the thread instead, at a system call each.
 * @threads: threads in the system that are tagged or have begun a section
 * @threads_max: how many there can be
 * @queues: block device queues that fgio schedules
 * @foreground_waiting: foreground tasks in the system that wait now
 * @boosted: tasks in the system that are boosted now
 * @watchdog_tripped: disks whose I/O is all let through for safety
 * @version: the module's, ends with a NUL
 * @reserved: zero
 */
struct fgio_status {
	uint32_t available;
	uint32_t class_;
	uint32_t sections;
	uint32_t without_calls;
	uint32_t threads;
	uint32_t threads_max;
	uint32_t queues;
	uint32_t foreground_waiting;
	uint32_t boosted;
	uint32_t watchdog_tripped;
	char version[32];
	uint32_t reserved[22];
};

/* Return: 0, also without the module; or a negative error number. */
int fgio_status(struct fgio_status *status);

#ifdef __cplusplus
}
#endif

#endif /* LIBFGIO_H */
