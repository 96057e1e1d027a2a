/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Why the cause of a wait was not found: the values of fgio_blame_entry.reason,
 * X(NAME, value, name for programs, name for people).
 *
 * Of a chain of tasks the last one counts: why nothing is known beyond it. The
 * tools read this list when they are built. A value, once released, keeps its
 * meaning; new ones are added at the end.
 *
 *	NONE	I/O was found, in a queue of fgio or in the device, or the task
 *		waited for fgio itself (a slot, the dirty limit)
 *	SHORT	the wait was over before a walk saw it
 *	RUNNING	the task ran, or was ready to
 *	ASLEEP	it slept, interruptibly, in no wait that is recorded: for a
 *		timer, a client, work
 *	UNSEEN	it slept uninterruptibly, not for I/O, in a function of the
 *		kernel that has no hook
 *	OFF	the switch of this kind of wait is off
 *	HOOK	a hook that tells holders of this kind could not be attached
 *	OWNER	the kind is followed, but the holder or waker is not known
 *	IO	it waited for I/O that is in no queue of fgio
 *	FULL	a table had no room for the task or the I/O
 *	DEPTH	the chain goes on, but longer ones are not followed
 *	SHARE	I/O was found, as for NONE, but queued: with fair shares, other
 *		cgroups had their turn
 */
#ifndef _UAPI_FGIO_REASON_H
#define _UAPI_FGIO_REASON_H

#define FGIO_REASON_LIST(X)						\
	X(NONE, 0, "none", "found")					\
	X(SHORT, 1, "short", "over before fgio looked")			\
	X(RUNNING, 2, "running", "the task was running")		\
	X(ASLEEP, 3, "asleep", "asleep for something else")		\
	X(UNSEEN, 4, "unseen", "kernel wait without a hook")		\
	X(OFF, 5, "off", "its switch is off")				\
	X(HOOK, 6, "hook", "its hook is not attached")			\
	X(OWNER, 7, "owner", "holder or waker unknown")			\
	X(IO, 8, "io", "I/O in no queue of fgio")			\
	X(FULL, 9, "full", "a table was full")				\
	X(DEPTH, 10, "depth", "chain longer than followed")		\
	X(SHARE, 11, "share", "another tenant's share")

#define FGIO_REASON_VALUE(name, value, id, label) FGIO_REASON_##name = value,

enum fgio_reason {
	FGIO_REASON_LIST(FGIO_REASON_VALUE)
	FGIO_REASONS,
};

#undef FGIO_REASON_VALUE

#endif /* _UAPI_FGIO_REASON_H */
