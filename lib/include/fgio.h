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
 * fgio_request_begin() - begin a foreground section that serves a request
 * @id: number of the request, 0 for none; for debugging
 */
void fgio_request_begin(uint64_t id);
void fgio_request_end(void);

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
