/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The settings of the fgio module, /sys/module/fgio/parameters: their names,
 * defaults, bounds and purposes. The module and the tools read this list when
 * they are built. It is no part of the ABI: a module may lack settings, or have
 * others.
 *
 *   SWITCH(name, purpose, what is missing while it is off): on by default
 *   NUMBER(name, default, lowest, highest, purpose)
 *   UNBOUNDED(name, default, purpose): a number without stated bounds
 *   AS_SYSTEM(name, purpose): a number whose default follows the system
 *   LIST(name, default, purpose): text
 *
 * The name of a number ends with its unit, if it has one.
 */
#ifndef _UAPI_FGIO_SETTINGS_H
#define _UAPI_FGIO_SETTINGS_H

#define FGIO_SETTING_LIST(SWITCH, NUMBER, UNBOUNDED, AS_SYSTEM, LIST)	\
	SWITCH(stamp,							\
		"decide the class of each I/O",				\
		"all I/O counts as non-critical")			\
	SWITCH(admission,						\
		"keep the slots of the two classes apart",		\
		"foreground I/O waits for a slot behind background "	\
		"I/O")							\
	SWITCH(queue,							\
		"let critical requests overtake others in the queue",	\
		"requests leave the queue in one order for all")	\
	SWITCH(hardware_queues,						\
		"queue requests for each hardware queue of a drive "	\
		"that has several and does not rotate, from the next "	\
		"time that it is put under fgio",			\
		"all CPUs share one lock and one queue for each disk")	\
	SWITCH(split,							\
		"split long background I/O where foreground I/O comes",	\
		"foreground I/O waits for long requests that the "	\
		"drive has begun")					\
	SWITCH(drive_priority,						\
		"give critical requests the drive's own priority "	\
		"where it is on",					\
		"a drive serves critical requests in its own order")	\
	SWITCH(locks,							\
		"find the holders of kernel locks that foreground "	\
		"tasks wait for",					\
		"foreground tasks wait unhelped for kernel locks")	\
	SWITCH(journal,							\
		"find the tasks that delay foreground tasks in a "	\
		"journal",						\
		"foreground tasks wait unhelped for journals (jbd2, "	\
		"XFS)")							\
	SWITCH(io,							\
		"promote outstanding I/O that foreground tasks wait "	\
		"for",							\
		"foreground tasks wait unhelped for I/O of others")	\
	SWITCH(user,							\
		"find the holders of user-space locks that "		\
		"foreground tasks wait for",				\
		"foreground tasks wait unhelped for locks and "		\
		"conditions of user space")				\
	SWITCH(commits,							\
		"boost tasks that sync or write a file that "		\
		"foreground tasks sync",				\
		"commits wait unhelped for others that sync the "	\
		"same log")						\
	SWITCH(uring,							\
		"let io_uring's threads act for the threads whose "	\
		"requests they execute",				\
		"foreground tasks wait unhelped for requests of "	\
		"io_uring that other threads execute")			\
	SWITCH(file_locks,						\
		"find the holders of locks and leases of files that "	\
		"foreground tasks wait for",				\
		"foreground tasks wait unhelped for locks of files")	\
	SWITCH(replies,							\
		"find the tasks that are to send what foreground "	\
		"tasks sleep for (pipe, socket, eventfd, epoll)",	\
		"foreground tasks wait unhelped for messages of "	\
		"others")						\
	SWITCH(transitive,						\
		"follow chains of waits beyond the first step",		\
		"only the first task of a chain of waits is boosted")	\
	SWITCH(pagecache,						\
		"limit the dirty pages of non-critical writers",	\
		"background writers may fill the page cache")		\
	SWITCH(boost,							\
		"boost and promote; off: diagnosis only",		\
		"nothing is boosted or promoted: diagnosis only")	\
	SWITCH(watchdog,						\
		"let everything through when I/O stops moving",		\
		"I/O that fgio keeps from moving is not noticed")	\
	SWITCH(foreground_ioprio,					\
		"let I/O priority best-effort 0 count while no "	\
		"cgroups are listed",					\
		"I/O priority best-effort 0 makes no I/O critical")	\
	NUMBER(shares, 0, 0, 2,						\
		"1: share each disk among the cgroups by io.weight "	\
		"while one that uses it has another than 100; 2: "	\
		"always; from 0, disks follow once they are put under "	\
		"fgio again")						\
	NUMBER(request_order, 0, 0, 5,					\
		"order of critical I/O by request ids: 0: none, 1: "	\
		"arrival, 2: arrival and batch, 3: limited "		\
		"multiplexing, 4: slack, 5: bottleneck; drives with "	\
		"hardware queues follow once they are put under fgio "	\
		"again")						\
	NUMBER(walk_interval_us, 2000, 50, 1000000,			\
		"time between walks over the waits")			\
	NUMBER(walk_delay_us, 100, 50, 1000000,				\
		"time from a wait's begin to its first walk")		\
	UNBOUNDED(blame_threshold_us, 10000,				\
		"shortest wait kept for `fgio blame`")			\
	NUMBER(helper_window_ms, 1000, 1, 60000,			\
		"time for which a task that signalled a condition "	\
		"counts as its waker")					\
	NUMBER(dirty_limit_percent, 1, 0, 100,				\
		"share of memory that non-critical writers may "	\
		"dirty")						\
	NUMBER(dirty_limit_ms, 100, 0, 60000,				\
		"dirty data at most as the device writes in this "	\
		"time; 0: no such limit")				\
	NUMBER(dirty_room_percent, 10, 0, 100,				\
		"share of memory that cgroups which share a disk may "	\
		"dirty, by weight; 0: no such limit")			\
	NUMBER(dirty_park_max_ms, 200, 0, 60000,			\
		"longest stay of a writer at the dirty limit")		\
	NUMBER(watchdog_ms, 30000, 1000, 3600000,			\
		"time without progress until all I/O is let "		\
		"through; 0: never")					\
	NUMBER(user_foreground_max, 4096, 0, 1048576,			\
		"foreground threads of one user, and threads that "	\
		"declare waits; CAP_SYS_NICE is exempt")		\
	LIST(foreground_cgroups, "any",					\
		"cgroups (PATH or PATH=MAX,...) whose threads users "	\
		"may make foreground")					\
	NUMBER(blame_entries, 2048, 16, 1048576,			\
		"waits kept for `fgio blame`")				\
	UNBOUNDED(hook_sleepers_max, 0,					\
		"tasks that can be inside a hooked function at once; "	\
		"0: by the machine's memory")				\
	UNBOUNDED(waits_max, 0,						\
		"tasks that can wait or be boosted at once; 0: by the "	\
		"machine's memory")					\
	UNBOUNDED(tags_max, 65536,					\
		"threads that can be tagged at once")			\
	AS_SYSTEM(max_slots,						\
		"requests scheduled per set of tags, the rest pass "	\
		"in order of arrival")

/*
 * FGIO_DEFAULT_name, and FGIO_LEAST_name and FGIO_MOST_name of a number with
 * bounds.
 */
#define FGIO_SWITCH_VALUES(name, purpose, off) FGIO_DEFAULT_##name = 1,
#define FGIO_NUMBER_VALUES(name, default_value, least, most, purpose)	\
	FGIO_DEFAULT_##name = default_value,				\
	FGIO_LEAST_##name = least,					\
	FGIO_MOST_##name = most,
#define FGIO_UNBOUNDED_VALUES(name, default_value, purpose)		\
	FGIO_DEFAULT_##name = default_value,
#define FGIO_NO_VALUES(...)

enum fgio_setting_value {
	FGIO_SETTING_LIST(FGIO_SWITCH_VALUES, FGIO_NUMBER_VALUES,
			  FGIO_UNBOUNDED_VALUES, FGIO_NO_VALUES,
			  FGIO_NO_VALUES)
};

#undef FGIO_SWITCH_VALUES
#undef FGIO_NUMBER_VALUES
#undef FGIO_UNBOUNDED_VALUES
#undef FGIO_NO_VALUES

#endif
