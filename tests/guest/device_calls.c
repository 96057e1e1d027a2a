// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The calls of /dev/fgio, case by case: device_calls CASE [ARGUMENT...]
 * Exit status 0 when all is as uapi/fgio.h says; else the first difference is
 * printed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device_calls.h"

#define SECOND_USER 1234
#define THREADS_AT_ONCE 50

static pid_t dead_tid(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	CHECK("wait", waitpid(child, NULL, 0) == child);
	return child;
}

/* --- information and plain use --- */

static void case_info(char **arguments)
{
	struct fgio_info got = info();
	unsigned int i;

	CHECK("version of the contract", got.abi == FGIO_ABI_VERSION);
	CHECK("hooks", got.hooks_expected == (FGIO_HOOK_BLOCK_BIO_QUEUE |
					      FGIO_HOOK_SCHED_PROCESS_EXIT));
	CHECK("hooks", got.hooks_live == got.hooks_expected);
	CHECK("reserved", !got.reserved[0] && !got.reserved[1]);
	CHECK("version", memchr(got.version, 0, sizeof(got.version)));
	CHECK("version", !strcmp(got.version, arguments[0]));
	for (i = strlen(got.version); i < sizeof(got.version); i++)
		CHECK("no memory of the kernel is disclosed", !got.version[i]);
	CHECK("queues", got.queues == (unsigned int)atoi(arguments[1]));
	CHECK("tags_max", got.tags_max == (unsigned int)atoi(arguments[2]));
}

static atomic_int thread_tid;
static atomic_int thread_may_end;

static void *waiting_thread(void *unused)
{
	(void)unused;
	thread_tid = gettid();
	while (!thread_may_end)
		usleep(1000);
	return NULL;
}

static pthread_t start_thread(void)
{
	pthread_t thread;

	thread_tid = 0;
	thread_may_end = 0;
	CHECK("thread", !pthread_create(&thread, NULL, waiting_thread, NULL));
	while (!thread_tid)
		usleep(1000);
	return thread;
}

static void end_thread(pthread_t thread)
{
	thread_may_end = 1;
	pthread_join(thread, NULL);
}

static void case_set_get_clear(char **arguments)
{
	unsigned int before = info().tags;
	pthread_t thread = start_thread();

	(void)arguments;
	CHECK("untagged at first", get_tag(0) == FGIO_TAG_NONE);
	CHECK("tag self", !set_tag(0, FGIO_TAG_FOREGROUND));
	CHECK("by 0", get_tag(0) == FGIO_TAG_FOREGROUND);
	CHECK("by number", get_tag(gettid()) == FGIO_TAG_FOREGROUND);
	CHECK("its other thread has none", get_tag(thread_tid) == FGIO_TAG_NONE);
	CHECK("tag a thread", !set_tag(thread_tid, FGIO_TAG_BACKGROUND));
	CHECK("tag a thread", get_tag(thread_tid) == FGIO_TAG_BACKGROUND);
	CHECK("and not self", get_tag(0) == FGIO_TAG_FOREGROUND);
	CHECK("count", info().tags == before + 2);
	CHECK("tag anew", !set_tag(0, FGIO_TAG_BACKGROUND));
	CHECK("tag anew", get_tag(0) == FGIO_TAG_BACKGROUND);
	CHECK("count", info().tags == before + 2);
	CHECK("clear", !set_tag(0, FGIO_TAG_NONE));
	CHECK("clear", get_tag(0) == FGIO_TAG_NONE);
	CHECK("clear twice", !set_tag(0, FGIO_TAG_NONE));
	CHECK("count", info().tags == before + 1);
	end_thread(thread);
	wait_for_tags(before);
}

static void case_list(char **arguments)
{
	struct fgio_tag tags[4] = { [1] = { .tid = -7, .class = 99 } };
	struct fgio_tag_list list = { .tags = (uintptr_t)tags, .capacity = 4 };
	pthread_t thread = start_thread();
	unsigned int i, seen = 0;

	(void)arguments;
	CHECK("no tag yet", !info().tags);
	CHECK("empty list", !ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	CHECK("empty list", list.count == 0 && tags[1].tid == -7);
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	CHECK("tag", !set_tag(thread_tid, FGIO_TAG_BACKGROUND));

	CHECK("list", !ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	CHECK("list", list.count == 2 && list.capacity == 4);
	for (i = 0; i < 2; i++) {
		if (tags[i].tid == gettid())
			seen |= tags[i].class == FGIO_TAG_FOREGROUND ? 1 : 4;
		else if (tags[i].tid == thread_tid)
			seen |= tags[i].class == FGIO_TAG_BACKGROUND ? 2 : 4;
	}
	CHECK("each with its class", seen == 3);

	list.capacity = 1;
	tags[1] = (struct fgio_tag){ .tid = -7, .class = 99 };
	CHECK("short list", !ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	CHECK("all are counted", list.count == 2);
	CHECK("no more than fit", tags[1].tid == -7 && tags[1].class == 99);
	list.capacity = 0;
	list.tags = 0;
	CHECK("count alone", !ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	CHECK("count alone", list.count == 2);
	list.capacity = 1U << 20;
	list.tags = (uintptr_t)tags;
	CHECK("largest capacity", !ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	list.capacity = (1U << 20) + 1;
	FAILS_WITH(EINVAL, ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	list.capacity = UINT_MAX;
	FAILS_WITH(EINVAL, ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	list.capacity = 4;
	list.tags = 8;
	FAILS_WITH(EFAULT, ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	end_thread(thread);
}

/* --- errors --- */

static void case_wrong_arguments(char **arguments)
{
	(void)arguments;
	FAILS_WITH(EINVAL, set_tag(0, 3));
	FAILS_WITH(EINVAL, set_tag(0, UINT_MAX));
	FAILS_WITH(EINVAL, set_tag(-1, FGIO_TAG_FOREGROUND));
	FAILS_WITH(EINVAL, set_tag(INT_MIN, FGIO_TAG_FOREGROUND));
	FAILS_WITH(EINVAL, set_tag(-1, FGIO_TAG_NONE));
	FAILS_WITH(ESRCH, set_tag(dead_tid(), FGIO_TAG_FOREGROUND));
	FAILS_WITH(ESRCH, set_tag(INT_MAX, FGIO_TAG_FOREGROUND));
	FAILS_WITH(ESRCH, set_tag(dead_tid(), FGIO_TAG_NONE));
	FAILS_WITH(ESRCH, get_tag(dead_tid()));
	FAILS_WITH(ESRCH, get_tag(INT_MAX));
	CHECK("nothing was tagged", !info().tags);
}

static void case_wrong_addresses(char **arguments)
{
	static const unsigned long commands[] = {
		FGIO_IOC_INFO, FGIO_IOC_SET_TAG, FGIO_IOC_GET_TAG,
		FGIO_IOC_LIST_TAGS, FGIO_IOC_PROMOTE,
	};
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	(void)arguments;
	CHECK("memory", page != MAP_FAILED && !munmap(page + 4096, 4096));
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		FAILS_WITH(EFAULT, ioctl(device, commands[i], NULL));
		FAILS_WITH(EFAULT, ioctl(device, commands[i], -1L));
		/* All but the last bytes are there. */
		FAILS_WITH(EFAULT, ioctl(device, commands[i], page + 4096 - 4));
	}
	CHECK("read only", !mprotect(page, 4096, PROT_READ));
	FAILS_WITH(EFAULT, ioctl(device, FGIO_IOC_INFO, page));
	FAILS_WITH(EFAULT, ioctl(device, FGIO_IOC_GET_TAG, page));
	CHECK("SET_TAG only reads", !ioctl(device, FGIO_IOC_SET_TAG, page));
}

static void case_wrong_commands(char **arguments)
{
	char buffer[256] = {};

	(void)arguments;
	FAILS_WITH(ENOTTY, ioctl(device, _IO(FGIO_IOC_MAGIC, 5), buffer));
	FAILS_WITH(ENOTTY, ioctl(device, _IO(FGIO_IOC_MAGIC, 0), buffer));
	FAILS_WITH(ENOTTY, ioctl(device, _IOR(FGIO_IOC_MAGIC, 0, __u32), buffer));
	FAILS_WITH(ENOTTY,
		   ioctl(device, _IOR(FGIO_IOC_MAGIC, 1, struct fgio_tag), buffer));
	FAILS_WITH(ENOTTY,
		   ioctl(device, _IOW('F', 1, struct fgio_tag), buffer));
	FAILS_WITH(ENOTTY, ioctl(device, _IO('T', 1), buffer));
	CHECK("nothing was tagged", !info().tags);
}

static int promote(const char *path, __u64 sector, __u32 reserved, __u32 *promoted)
{
	struct fgio_promote request = { .sector = sector, .promoted = 4711,
					.reserved = reserved };
	struct stat status;
	int result;

	CHECK(path, !stat(path, &status));
	request.major = major(status.st_rdev);
	request.minor = minor(status.st_rdev);
	result = ioctl(device, FGIO_IOC_PROMOTE, &request);
	*promoted = request.promoted;
	return result;
}

/* DISK-UNDER-FGIO OTHER-DISK */
static void case_promote_errors(char **arguments)
{
	struct fgio_promote nowhere = { .major = 4000, .minor = 5 };
	__u32 promoted;

	CHECK("nothing is queued", !promote(arguments[0], 0, 0, &promoted));
	CHECK("nothing is queued", promoted == 0);
	CHECK("after the end", !promote(arguments[0], 1ULL << 60, 0, &promoted));
	CHECK("after the end", promoted == 0);
	FAILS_WITH(EINVAL, promote(arguments[0], 0, 1, &promoted));
	FAILS_WITH(ENODEV, promote(arguments[1], 0, 0, &promoted));
	FAILS_WITH(ENODEV, promote("/dev/null", 0, 0, &promoted));
	FAILS_WITH(ENODEV, ioctl(device, FGIO_IOC_PROMOTE, &nowhere));
	nowhere = (struct fgio_promote){ .major = UINT_MAX, .minor = UINT_MAX };
	FAILS_WITH(ENODEV, ioctl(device, FGIO_IOC_PROMOTE, &nowhere));
}

/*
 * DISK: its number in another spelling, major * 2^32 + 2^12 and so on, must not
 * name it. The kernel's own numbers have 12 and 20 bits.
 */
static void case_promote_takes_no_overlong_numbers(char **arguments)
{
	struct fgio_promote request = {};
	struct stat status;

	CHECK(arguments[0], !stat(arguments[0], &status));
	request.major = major(status.st_rdev) | 1U << 12;
	request.minor = minor(status.st_rdev);
	FAILS_WITH(ENODEV, ioctl(device, FGIO_IOC_PROMOTE, &request));
	request.major = major(status.st_rdev) - 1;
	request.minor = minor(status.st_rdev) | 1U << 20;
	FAILS_WITH(ENODEV, ioctl(device, FGIO_IOC_PROMOTE, &request));
}

/* Tags up to tags_max = ARGUMENT threads, and not one more. */
static void case_table_full(char **arguments)
{
	unsigned int max = (unsigned int)atoi(arguments[0]), i;
	pid_t self = getpid(), children[64];

	CHECK("tags_max", info().tags_max == max && max < 64);
	for (i = 0; i <= max; i++) {
		children[i] = fork();
		if (!children[i]) {
			end_with(self);
			pause();
			_exit(0);
		}
	}
	for (i = 0; i < max; i++)
		CHECK("room", !set_tag(children[i], FGIO_TAG_FOREGROUND));
	FAILS_WITH(ENOSPC, set_tag(children[max], FGIO_TAG_FOREGROUND));
	CHECK("it was not tagged", get_tag(children[max]) == FGIO_TAG_NONE);
	CHECK("another class needs no room", !set_tag(children[0], FGIO_TAG_BACKGROUND));
	CHECK("another class needs no room", get_tag(children[0]) == FGIO_TAG_BACKGROUND);
	CHECK("clear a tag that is not there", !set_tag(children[max], FGIO_TAG_NONE));
	CHECK("clear one", !set_tag(children[1], FGIO_TAG_NONE));
	CHECK("room again", !set_tag(children[max], FGIO_TAG_FOREGROUND));
	FAILS_WITH(ENOSPC, set_tag(children[1], FGIO_TAG_FOREGROUND));
	kill(children[0], SIGKILL);
	CHECK("wait", waitpid(children[0], NULL, 0) == children[0]);
	wait_for_tags(max - 1);
	CHECK("room of ended threads", !set_tag(children[1], FGIO_TAG_FOREGROUND));
	for (i = 1; i <= max; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	wait_for_tags(0);
}

/* --- permissions --- */

static pid_t roots_thread;

static void as_first_user(void)
{
	pthread_t thread;
	__u32 promoted;
	pid_t child;

	become(FIRST_USER);
	device = open(FGIO_DEVICE_PATH, O_RDWR);
	CHECK("any user may open it", device >= 0);
	CHECK("self", !set_tag(0, FGIO_TAG_FOREGROUND));
	CHECK("self by number", !set_tag(gettid(), FGIO_TAG_BACKGROUND));
	CHECK("self", get_tag(0) == FGIO_TAG_BACKGROUND);
	thread = start_thread();
	CHECK("own thread", !set_tag(thread_tid, FGIO_TAG_FOREGROUND));
	end_thread(thread);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	CHECK("own child", !set_tag(child, FGIO_TAG_FOREGROUND));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);

	FAILS_WITH(EPERM, set_tag(roots_thread, FGIO_TAG_FOREGROUND));
	FAILS_WITH(EPERM, set_tag(roots_thread, FGIO_TAG_NONE));
	CHECK("any user may ask", get_tag(roots_thread) == FGIO_TAG_FOREGROUND);
	FAILS_WITH(EPERM, promote("/dev/null", 0, 0, &promoted));
	CHECK("info", info().tags >= 1);
}

/* Another user with CAP_SYS_NICE alone: the control of as_first_user(). */
static void as_nice_user(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		[0] = { .effective = 1U << CAP_SYS_NICE,
			.permitted = 1U << CAP_SYS_NICE },
	};
	__u32 promoted;

	CHECK("keep", !prctl(PR_SET_KEEPCAPS, 1));
	become(SECOND_USER);
	CHECK("capabilities", !syscall(SYS_capset, &header, data));
	CHECK("another user's thread", !set_tag(roots_thread, FGIO_TAG_BACKGROUND));
	FAILS_WITH(EPERM, promote("/dev/null", 0, 0, &promoted));
}

static void case_permissions(char **arguments)
{
	(void)arguments;
	roots_thread = gettid();
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	in_child(as_first_user, 0);
	CHECK("unchanged", get_tag(0) == FGIO_TAG_FOREGROUND);
	in_child(as_nice_user, 0);
	CHECK("changed", get_tag(0) == FGIO_TAG_BACKGROUND);
}

/* --- pid namespaces --- */

static pid_t outside_tid;

static void inside(void)
{
	struct fgio_tag tags[4];
	struct fgio_tag_list list = { .tags = (uintptr_t)tags, .capacity = 4 };

	CHECK("first in the namespace", getpid() == 1);
	FAILS_WITH(ESRCH, get_tag(outside_tid));
	FAILS_WITH(ESRCH, set_tag(outside_tid, FGIO_TAG_BACKGROUND));
	CHECK("none is to be seen", !ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	CHECK("none is to be seen", list.count == 0);
	CHECK("by the number inside", !set_tag(1, FGIO_TAG_FOREGROUND));
	CHECK("it is self", get_tag(0) == FGIO_TAG_FOREGROUND);
	CHECK("list", !ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	CHECK("its own alone", list.count == 1 && tags[0].tid == 1);
	CHECK("all are counted", info().tags == 2);
}

static void case_pid_namespace(char **arguments)
{
	(void)arguments;
	CHECK("tag", !set_tag(0, FGIO_TAG_BACKGROUND));
	outside_tid = gettid();
	CHECK("unshare", !unshare(CLONE_NEWPID));
	in_child(inside, 0);
	CHECK("unchanged", get_tag(0) == FGIO_TAG_BACKGROUND);
	wait_for_tags(1);
}

/* --- the life of a tag --- */

static void is_untagged(void)
{
	CHECK("untagged", get_tag(0) == FGIO_TAG_NONE);
}

static void *is_untagged_thread(void *unused)
{
	(void)unused;
	is_untagged();
	return NULL;
}

static void case_children_are_untagged(char **arguments)
{
	pthread_t thread;
	pid_t child;
	int status;

	(void)arguments;
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	in_child(is_untagged, 0);
	CHECK("thread", !pthread_create(&thread, NULL, is_untagged_thread, NULL));
	pthread_join(thread, NULL);
	/* CLONE_IO shares the I/O context and its priority, not the tag. */
	child = (pid_t)syscall(SYS_clone, CLONE_IO | SIGCHLD, NULL, NULL, NULL, 0);
	if (!child) {
		is_untagged();
		_exit(0);
	}
	CHECK("clone", child > 0 && waitpid(child, &status, 0) == child);
	CHECK("clone", WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK("the parent keeps it", get_tag(0) == FGIO_TAG_FOREGROUND);
}

static void exec_self(const char *class)
{
	execl("/proc/self/exe", "device_calls", "has_class", class, NULL);
	CHECK("execl", 0);
}

static void *execing_thread(void *unused)
{
	(void)unused;
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	exec_self("1");
	return NULL;
}

static void case_has_class(char **arguments)
{
	CHECK("class after execve()", get_tag(0) == atoi(arguments[0]));
}

static void exec_as_leader(void)
{
	CHECK("tag", !set_tag(0, FGIO_TAG_BACKGROUND));
	exec_self("2");
}

/* The leader exits, and its thread lives on under the leader's id: with its own tag. */
static void exec_as_other_thread(void)
{
	pthread_t thread;

	CHECK("tag", !set_tag(0, FGIO_TAG_BACKGROUND));
	pthread_create(&thread, NULL, execing_thread, NULL);
	pause();
}

static void case_execve_keeps_it(char **arguments)
{
	unsigned int before = info().tags;

	(void)arguments;
	in_child(exec_as_leader, 0);
	in_child(exec_as_other_thread, 0);
	wait_for_tags(before);
}

static void *tagging_thread(void *unused)
{
	(void)unused;
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	return NULL;
}

/* ARGUMENT threads tag themselves and end. */
static void case_exit_frees(char **arguments)
{
	unsigned int before = info().tags;
	int left = atoi(arguments[0]), i;
	pthread_t threads[THREADS_AT_ONCE];

	for (; left > 0; left -= THREADS_AT_ONCE) {
		for (i = 0; i < THREADS_AT_ONCE; i++)
			CHECK("thread", !pthread_create(&threads[i], NULL,
							tagging_thread, NULL));
		for (i = 0; i < THREADS_AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
	wait_for_tags(before);
}

static void *short_thread(void *tid)
{
	*(atomic_int *)tid = gettid();
	sched_yield();
	return NULL;
}

static atomic_int victims[THREADS_AT_ONCE];
static atomic_int tagger_may_end;

static void *tagger(void *counts)
{
	long *count = counts;
	int i;

	while (!tagger_may_end) {
		for (i = 0; i < THREADS_AT_ONCE; i++) {
			if (!victims[i])
				continue;
			if (set_tag(victims[i], FGIO_TAG_FOREGROUND))
				CHECK("too late", errno == ESRCH);
			count[!!get_tag(victims[i])]++;
		}
	}
	return NULL;
}

/* Another thread tags them while they end: none may keep its tag. */
static void case_exit_races_with_tagging(char **arguments)
{
	unsigned int before = info().tags;
	int left = atoi(arguments[0]), i;
	pthread_t threads[THREADS_AT_ONCE], tagging;
	long counts[2] = {};

	CHECK("thread", !pthread_create(&tagging, NULL, tagger, counts));
	for (; left > 0; left -= THREADS_AT_ONCE) {
		for (i = 0; i < THREADS_AT_ONCE; i++)
			CHECK("thread", !pthread_create(&threads[i], NULL, short_thread,
							&victims[i]));
		for (i = 0; i < THREADS_AT_ONCE; i++)
			pthread_join(threads[i], NULL);
	}
	tagger_may_end = 1;
	pthread_join(tagging, NULL);
	printf("%ld found tagged or gone, %ld untagged\n", counts[1], counts[0]);
	wait_for_tags(before);
}

static void *pausing_tagged_thread(void *unused)
{
	(void)unused;
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	pause();
	return NULL;
}

static void case_kill_frees(char **arguments)
{
	unsigned int before = info().tags;
	pthread_t thread;
	pid_t child = fork();
	int i;

	(void)arguments;
	if (!child) {
		for (i = 0; i < 20; i++)
			pthread_create(&thread, NULL, pausing_tagged_thread, NULL);
		pause();
	}
	wait_for_tags(before + 20);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	wait_for_tags(before);
}

/* 32-bit callers: the same calls through int 0x80, with addresses below 4 GiB. */
static long ioctl32(int file, unsigned long command, void *argument)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(54L), "b"((long)file), "c"(command), "d"(argument)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static void case_callers_of_32_bits(char **arguments)
{
	union {
		struct fgio_info info;
		struct fgio_tag tag;
		struct fgio_tag_list list;
	} *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct fgio_tag *tags = (struct fgio_tag *)((char *)low + 2048);

	(void)arguments;
	CHECK("memory", low != MAP_FAILED);
	CHECK("info", !ioctl32(device, FGIO_IOC_INFO, low));
	CHECK("info", low->info.abi == FGIO_ABI_VERSION);
	low->tag = (struct fgio_tag){ .tid = 0, .class = FGIO_TAG_FOREGROUND };
	CHECK("set", !ioctl32(device, FGIO_IOC_SET_TAG, low));
	low->tag = (struct fgio_tag){};
	CHECK("get", !ioctl32(device, FGIO_IOC_GET_TAG, low));
	CHECK("get", low->tag.class == FGIO_TAG_FOREGROUND);
	low->list = (struct fgio_tag_list){ .tags = (uintptr_t)tags, .capacity = 8 };
	CHECK("list", !ioctl32(device, FGIO_IOC_LIST_TAGS, low));
	CHECK("list", low->list.count == 1 && tags[0].tid == gettid());
	low->tag = (struct fgio_tag){ .class = 3 };
	CHECK("error", ioctl32(device, FGIO_IOC_SET_TAG, low) == -EINVAL);
}

/* DISK SECTOR: prints the number of promoted requests. */
static void case_promote(char **arguments)
{
	__u32 promoted;

	CHECK("promote", !promote(arguments[0], strtoull(arguments[1], NULL, 0), 0,
				  &promoted));
	printf("%u\n", promoted);
}

static const struct device_case cases[] = {
	{ "info", case_info, 3 },
	{ "set_get_clear", case_set_get_clear, 0 },
	{ "list", case_list, 0 },
	{ "wrong_arguments", case_wrong_arguments, 0 },
	{ "wrong_addresses", case_wrong_addresses, 0 },
	{ "wrong_commands", case_wrong_commands, 0 },
	{ "promote_errors", case_promote_errors, 2 },
	{ "promote_takes_no_overlong_numbers", case_promote_takes_no_overlong_numbers, 1 },
	{ "table_full", case_table_full, 1 },
	{ "permissions", case_permissions, 0 },
	{ "pid_namespace", case_pid_namespace, 0 },
	{ "children_are_untagged", case_children_are_untagged, 0 },
	{ "execve_keeps_it", case_execve_keeps_it, 0 },
	{ "has_class", case_has_class, 1 },
	{ "exit_frees", case_exit_frees, 1 },
	{ "exit_races_with_tagging", case_exit_races_with_tagging, 1 },
	{ "kill_frees", case_kill_frees, 0 },
	{ "callers_of_32_bits", case_callers_of_32_bits, 0 },
	{ "promote", case_promote, 2 },
};

int main(int argc, char **argv)
{
	device = open(FGIO_DEVICE_PATH, O_RDWR);
	CHECK(FGIO_DEVICE_PATH, device >= 0);
	return RUN_CASE(cases, argc, argv);
}
