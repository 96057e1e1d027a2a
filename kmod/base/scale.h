/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sizes of all tables, by one scale: the threads that wait at once. No
 * table grows. For each: what it holds, how much memory it takes (x86-64), and
 * what happens when it is full.
 *
 * Allocated when the module is loaded: 5.3 MiB, of which 3.4 are waits. Of the
 * module's own data they are 335 KiB. While there are foreground tasks, some 25
 * hooks take 320 KiB each. These and the waits are smaller on machines with less
 * than 4 GiB (fgio_scale_of_machine()).
 *
 * Elsewhere: places within one bucket, which are searched one by one
 * (core/inherit.h, core/history.h); what the bits of a word allow
 * (FGIO_CHARGED_MAX, FGIO_TRUST_CGROUPS_MAX, the cleaners of pagecache.c); and
 * the number of hooks, which follows from the source (base/hook.c).
 */
#ifndef FGIO_SCALE_H
#define FGIO_SCALE_H

#include <linux/build_bug.h>

#include "uapi/fgio_settings.h"

/* log2 of the threads that wait, or are boosted, at once. */
#define FGIO_SCALE_BITS 14

/* A table of one entry for 2^@shift waiting threads: its length, its log2. */
#define FGIO_SCALE_SHARE_BITS(shift) (FGIO_SCALE_BITS - (shift))
#define FGIO_SCALE_SHARE(shift) (1U << FGIO_SCALE_SHARE_BITS(shift))

/*
 * Return: the threads that wait at once on this machine, 2^FGIO_SCALE_BITS at
 * most: one for each 256 KiB of its memory, since a thread that serves a
 * request has more than that. Context: any.
 */
unsigned int fgio_scale_of_machine(void);

/* --- waits -------------------------------------------------------------- */

/*
 * graph/wait.c: tasks that wait or are boosted, in buckets of
 * FGIO_BUCKET_NODES: waits_max, or the scale of the machine. 216 bytes each, 3.4
 * MiB at most by default. Full bucket: the node worth least gives way
 * (fgio_wait_begin()), and is counted as lost.
 */

/*
 * base/hook.c: tasks inside one hooked function: hook_sleepers_max, or one for
 * FGIO_WAITS_PER_HOOK of the machine's scale. 80 bytes each, 320 KiB at most by
 * default for each hook that also sees the function's end, while it is attached.
 * Full: the wait is not recorded; counted as missed.
 */
#define FGIO_WAITS_PER_HOOK 4

/*
 * base/waker.c: sets of FGIO_SET_OBJECTS conditions and locks with the tasks
 * that acted on them. 896 bytes each, 448 KiB. Full set: the payer with the
 * most places loses its oldest (core/history.h).
 */
#define FGIO_WAKER_SET_BITS FGIO_SCALE_SHARE_BITS(5)

/* --- one walk ------------------------------------------------------------ */

/*
 * graph/walk.c: tasks that one walk reaches; foreground tasks take half of them
 * at most. 69 bytes each, 276 KiB; 64 KiB more in block/promote.c. Full: tasks
 * beyond are not boosted by this walk; the next one begins with other
 * foreground tasks.
 */
#define FGIO_LINKS_MAX FGIO_SCALE_SHARE(2)

/* The hash of these tasks, half of it used at most. 4 bytes each, 32 KiB. */
#define FGIO_VISITED_BITS FGIO_SCALE_SHARE_BITS(1)

/*
 * graph/walk.c: names of tasks, for blame. 32 bytes each, 128 KiB. Shared
 * place: the earlier task is blamed without its name.
 */
#define FGIO_NAME_BITS FGIO_SCALE_SHARE_BITS(2)

/*
 * graph/walk.c: I/O that one walk looks for. 72 bytes each, 72 KiB; 32 KiB more
 * in block/promote.c. Full: the rest is left for a later walk with more room.
 */
#define FGIO_WANTED_MAX FGIO_SCALE_SHARE(4)

/*
 * block/promote.c: queued requests that were found, to be sorted. 24 bytes
 * each, 96 KiB. Full: the rest is found again by the next walk.
 */
#define FGIO_MATCHES_MAX FGIO_SCALE_SHARE(2)

/*
 * layers/handles.c: tasks with open handles in one transaction. 16 bytes each,
 * 1 KiB. Full: those beyond are boosted when later scans have room for them.
 */
#define FGIO_HOLDERS_MAX FGIO_SCALE_SHARE(8)

/*
 * layers/handles.c: transactions whose holders are known at a time, however many
 * threads wait for them. Beyond: they take turns.
 */
#define FGIO_HOLDER_SCANS 4

/*
 * layers/uring_read.c: reads that were issued through io_uring last, in sets by
 * ring. 264 bytes for each set, 66 KiB. Full set: the oldest read is forgotten;
 * the page that it waits for is not promoted.
 */
#define FGIO_URING_SET_BITS FGIO_SCALE_SHARE_BITS(6)
#define FGIO_URING_READS 32

/*
 * layers/uring.c: workers of one process that execute requests, 24 bytes each;
 * and processes of which they are known at a time, 1.5 KiB each. Full: those
 * workers beyond are boosted when others have become idle; processes take turns.
 */
#define FGIO_URING_WORKERS FGIO_SCALE_SHARE(8)
#define FGIO_URING_SEARCHES 4

/*
 * layers/lock_readers.c: readers of one lock that are asleep, 8 bytes each; and
 * locks for which they are known at once. Full: readers beyond have their turn
 * when others have left; locks take turns.
 */
#define FGIO_LOCK_READERS FGIO_SCALE_SHARE(10)
#define FGIO_LOCK_SCANS 4

/*
 * layers/name.c: tasks that bring names and inodes into memory. Sets of 4 places,
 * 80 bytes each, 40 KiB. In a full set, the user with the most places loses one.
 */
#define FGIO_LOOKUP_BITS FGIO_SCALE_SHARE_BITS(5)

/*
 * layers/server.c: threads of FUSE daemons and of programs that handle events,
 * and the requests that they work on. Sets of 4 places, of which a file system
 * or a program has 4; 144 bytes each, 36 KiB. In a full set, a thread without a
 * request gives way, else the user with the most places loses one: its request
 * counts as one that any thread of the program has.
 */
#define FGIO_SERVER_BITS FGIO_SCALE_SHARE_BITS(6)

/*
 * layers/loop.c: workers that have requests of loop devices. 8 bytes each, 512
 * bytes. Shared place: the one that began last is known.
 */
#define FGIO_LOOP_BITS 6

/*
 * layers/reply.c: tasks in the middle of a chain that are to be woken, and
 * foreground tasks whose waits were forgotten. 24 bytes each, 24 KiB. Shared place:
 * the waker of the earlier one is learnt next time.
 */
#define FGIO_EXPECTED_BITS FGIO_SCALE_SHARE_BITS(4)

/*
 * layers/question.c: sockets over which a foreground task asked another one. 24
 * bytes each, 24 KiB. Shared place: the earlier question is forgotten, and its
 * answer followed if it is not the first.
 */
#define FGIO_QUESTION_BITS FGIO_SCALE_SHARE_BITS(4)

/*
 * layers/question.c: foreground tasks and whom they asked last. 320 bytes each, 80
 * KiB. Shared place: the questions of the earlier one are forgotten, as above.
 */
#define FGIO_ASKER_BITS FGIO_SCALE_SHARE_BITS(6)

/*
 * layers/child.c: children of one process that waits for any of them, 4 bytes
 * each. Full: those beyond are found when others have ended.
 */
#define FGIO_CHILDREN FGIO_SCALE_SHARE(10)

/*
 * layers/child.c: processes that wait for any child, whose children are known
 * at a time. Beyond: they take turns.
 */
#define FGIO_CHILD_SEARCHES 4

/*
 * layers/file_lock.c: locks of one file that a walk looks at. Beyond: they are
 * looked at when others have been released.
 */
#define FGIO_FILE_LOCKS FGIO_SCALE_SHARE(8)

/*
 * layers/file_lock.c: threads that may hold the locks of an owner whose taker has
 * ended or is idle, 8 bytes each; and owners for which they are known at a time.
 * Full: the rest is left out; owners take turns.
 */
#define FGIO_FILE_LOCK_SHARERS 8
#define FGIO_FILE_LOCK_SEARCHES 4

/*
 * layers/file_lock.c: sets of four foreground tasks that were refused a lock.
 * 368 bytes each, 23 KiB. Full: the user with most in the set gives way
 * (core/places.h), and that task's wait is not followed.
 */
#define FGIO_REFUSAL_BITS FGIO_SCALE_SHARE_BITS(8)

/* --- blame --------------------------------------------------------------- */

/*
 * graph/blame.c: waits that are kept, the default of blame_entries. 256 bytes
 * each, 512 KiB. Full: the oldest is overwritten, and counted as lost.
 */
#define FGIO_BLAME_DEFAULT FGIO_SCALE_SHARE(3)

/*
 * graph/blame.c: sets of FGIO_SEEN_PLACES waits that last, with their chains.
 * 2,664 bytes each, 333 KiB. Full: a wait that finds no place is blamed without
 * its chain, as one for which a table was full.
 */
#define FGIO_SEEN_BITS FGIO_SCALE_SHARE_BITS(7)

/* --- foreground tasks ---------------------------------------------------- */

/*
 * who/tag.c: threads in the table, waiting or not; the default of tags_max. 88
 * bytes each, allocated with the tag: 6 MiB at most. Full: the call fails. A
 * user has half of it.
 */
#define FGIO_TAGS_DEFAULT (4 * FGIO_SCALE_SHARE(0))

/* Its buckets: lists, 8 bytes each, 32 KiB. Many entries: longer lists. */
#define FGIO_TAG_BITS FGIO_SCALE_SHARE_BITS(2)

/*
 * who/trust.c: foreground threads of one user; the default of
 * user_foreground_max. No memory. Reached: the call fails.
 */
#define FGIO_USER_FOREGROUND_DEFAULT FGIO_SCALE_SHARE(2)

/* who/trust.c: buckets of users, as those of tags. 8 bytes each, 2 KiB. */
#define FGIO_ACCOUNT_BITS FGIO_SCALE_SHARE_BITS(6)

/* --- I/O ------------------------------------------------------------------ */

/*
 * block/admission.c: two lists of tasks that sleep for a slot, by task and by
 * I/O, in each set of tags. 16 bytes each, 1 KiB. Many: longer lists.
 */
#define FGIO_SLEEPER_BITS FGIO_SCALE_SHARE_BITS(8)

/*
 * block/flush.c: flushes that foreground tasks wait for. 40 bytes each, 2.5
 * KiB. Shared place: the earlier flush ends, for the queue, after the usual
 * duration of one.
 */
#define FGIO_FLUSH_BITS FGIO_SCALE_SHARE_BITS(8)

/*
 * layers/pagecache.c: lists of writers that are parked. 16 bytes each, 1 KiB.
 * Many: longer lists.
 */
#define FGIO_WRITER_BITS FGIO_SCALE_SHARE_BITS(8)

/*
 * The defaults of parameters are those of the list of settings, and stated in
 * fgio(4).
 */
static_assert(FGIO_LINKS_MAX / 2 == 2048);
static_assert(FGIO_BLAME_DEFAULT == FGIO_DEFAULT_blame_entries);
static_assert(FGIO_TAGS_DEFAULT == FGIO_DEFAULT_tags_max);
static_assert(FGIO_USER_FOREGROUND_DEFAULT ==
	      FGIO_DEFAULT_user_foreground_max);

#endif /* FGIO_SCALE_H */
