/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A scenario, and the functions that main.c gives it.
 *
 * A scenario has a foreground task that does one thing, and background tasks
 * that got in its way just before. In a round, before() runs, the background
 * tasks begin one after the other, each when the one before it sleeps in the
 * kernel, and then the foreground begins. Its time is the result of the round.
 * The foreground waits for nothing but the thing that the scenario is about:
 * tasks are started by polling.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BACKGROUND_TASKS 3
#define BLOCK 4096

/* Background I/O that has nothing to do with the scenario. */
enum flood {
	FLOOD_DEEP,   /* more than there are slots: they are waited for */
	FLOOD_QUEUED, /* fewer than there are slots, but a long queue */
	FLOOD_NONE,
};

/**
 * struct scenario - one wait of a foreground task
 * @name: in --only and the results
 * @group: scenarios of a group share a boot
 * @title: for people
 * @off: switches of the module that are off in the control, with commas
 * @flood: background I/O at the device
 * @rounds: number of rounds, with the first, whose result does not count: in it
 *	fgio learns the wakers
 * @processes: background tasks are processes, not threads of the foreground's
 * @journal: after this number of background tasks the journal's thread has to
 *	sleep, too, before the round goes on; 0: the thread does not matter
 * @settle_ms: time of load before the first round
 * @prepare: called once, while the device is idle
 * @load: further background load, in a process of its own; does not return
 * @loads: number of such processes
 * @before: called at the begin of each round, in a task of its own
 * @background: the background tasks' part of a round
 * @foreground: the foreground's part of a round
 */
struct scenario {
	const char *name;
	const char *group;
	const char *title;
	const char *off;
	enum flood flood;
	unsigned int rounds;
	bool processes;
	unsigned int journal;
	unsigned int settle_ms;
	void (*prepare)(void);
	void (*load)(unsigned int number);
	unsigned int loads;
	void (*before)(unsigned int round);
	void (*background[BACKGROUND_TASKS])(unsigned int round);
	void (*foreground)(unsigned int round);
};

/* Each file's scenarios end with one without a name. */
extern const struct scenario user_scenarios[];
extern const struct scenario kernel_scenarios[];
extern const struct scenario file_scenarios[];
extern const struct scenario journal_scenarios[];
extern const struct scenario cache_scenarios[];
extern const struct scenario xfs_scenarios[];
extern const struct scenario btrfs_scenarios[];
extern const struct scenario file_lock_scenarios[];
extern const struct scenario name_scenarios[];
extern const struct scenario fuse_scenarios[];
extern const struct scenario event_scenarios[];
extern const struct scenario message_scenarios[];

/* Ends the program with a message when the condition is false. */
#define NEED(condition) need(condition, #condition, __FILE__, __LINE__)
void need(bool condition, const char *what, const char *file, int line);

/* Memory that the tasks share, zeroed, whether threads or processes. */
void *shared(size_t bytes);

/* A buffer for direct I/O, of this thread. */
void *buffer(size_t bytes);

/* The disk itself, for direct I/O beyond the end of the file system. */
int disk(void);

/* The place on the disk where a scenario may read and write a block. */
off_t own_place(unsigned int number);

/* Reads a block of the disk beyond the file system: one I/O. */
void read_disk(unsigned int round);
void write_disk(unsigned int round);

/* A file in the scenario's own folder. */
int open_file(const char *name, int flags);

/* A file with @blocks written blocks, none of them dirty. */
int written_file(const char *name, unsigned int blocks);

/* A set of epoll(7) that watches a file, a socket or a ring for input. */
int watch_for_input(int fd);

/* Drops clean pages of a file from the cache. */
void forget_pages(int file);

/* Changes an inode: any change will do that is a different one each time. */
void change(int file, unsigned int round);
void change_and_sync(int file, unsigned int round);

/* Neither names nor inodes of ext4 nor their blocks stay in memory. */
void forget_names(void);

/*
 * Mounts the file system of a type anew, so that no inode is in memory. The names
 * of the scenario's folder are, so that they are looked up without I/O.
 */
void forget_inodes(const char *type);

void write_block(int file, unsigned int block, size_t bytes);
void pause_us(unsigned int us);

/*
 * A background task is about to sleep for something else than I/O: when it
 * does, the next one begins.
 */
void about_to_wait(void);

/* Makes the calling thread a foreground task. Forked processes are none. */
void become_foreground(void);

/* Number of rounds of the scenario that runs. */
unsigned int rounds(void);

/* The foreground waits for the background task @number: FGIO_IOC_WAIT_FOR. */
void hint_begin(unsigned int number);
void hint_end(void);

#endif
