/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Common to the files of libfgio:
 *
 *	section.c    begin and end: the hot path
 *	thread.c     a thread's state, and its flag in memory shared with the module
 *	request.c    request ids: the clock that makes them, and their text
 *	device.c     /dev/fgio itself: status, declared waits, tags
 */
#ifndef LIBFGIO_INTERNAL_H
#define LIBFGIO_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "include/fgio.h"
#include "uapi/fgio.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define PUBLIC __attribute__((visibility("default")))

/**
 * struct thread - the state of a thread
 * @word: its thread flag: shared with the module, or @own; NULL when the
 *	process is a copy of the one that set it up
 * @depth: sections that it is in
 * @tags: tag the thread by a system call, since it has no shared flag
 * @hinted: it declared a wait that holds
 * @tag: class of the thread when it is in no section; only with @tags
 * @area: the area it is in
 * @next: in a list of free states
 * @section: class and request of each section
 * @own: stands in for a shared flag
 *
 * States are in memory that fork() leaves as zeros in the child, since the
 * shared flags are not there: a section begun in a child, however that was made,
 * finds no flag and sets up anew.
 */
struct thread {
	struct fgio_word *word;
	uint32_t depth;
	bool tags;
	bool hinted;
	uint32_t tag;
	struct area *area;
	struct thread *next;
	struct {
		uint32_t class_;
		struct fgio_user_request request;
	} section[FGIO_SECTIONS_MAX];
	struct fgio_word own;
};

/* The calling thread's; NULL before its first section. Read by one load. */
extern _Thread_local struct thread *fgio_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* --- thread.c --- */

/* Return: the calling thread's state, or NULL when there is no memory. */
struct thread *fgio_thread_set_up(void);

static inline struct thread *fgio_thread(void)
{
	struct thread *self = fgio_self;

	if (LIKELY(self && self->word))
		return self;
	return fgio_thread_set_up();
}

/* --- request.c --- */

/* Milliseconds since 1970. Tests put a clock of their own here. */
extern uint64_t (*fgio_now_ms)(void);

/* --- device.c --- */

/**
 * struct fgio_calls - the system calls that libfgio makes on the device
 * @open: as open(2)
 * @ioctl: as ioctl(2)
 * @map: maps memory of the device, as mmap(2) does
 *
 * Tests put a device of their own here.
 */
struct fgio_calls {
	int (*open)(const char *path, int flags);
	int (*ioctl)(int file, unsigned long command, void *argument);
	void *(*map)(int file, size_t bytes);
};

extern struct fgio_calls fgio_calls;

/* Return: an open file of the device, or a negative error number. */
int fgio_device_open(void);

/* Return: 0 or a negative error number. */
int fgio_device_call(int file, unsigned long command, void *argument);

/* The process's file for calls; opened if need be, negative error if not. */
int fgio_device(void);
void fgio_device_forget(void);

/* Says the class of a thread by its tag. */
void fgio_device_tag(uint32_t class_);
uint32_t fgio_device_tag_now(void);

#endif /* LIBFGIO_INTERNAL_H */
