// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Thread flags of /dev/fgio, case by case: words CASE [ARGUMENT...]
 * Exit status 0 when all is as uapi/fgio.h says; else the first difference is
 * printed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "device_calls.h"

#define PAGE 4096
#define WORDS_OF_A_PAGE (PAGE / sizeof(struct fgio_word))
#define NO_CLASS 4711

static struct fgio_word *map_with(int file, size_t bytes, int protection, int flags, off_t at)
{
	return mmap(NULL, bytes, protection, flags, file, at);
}

static struct fgio_word *map(int file, size_t bytes)
{
	return map_with(file, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
}

static int set_word(int file, __u32 index, __u32 flags)
{
	struct fgio_word_slot slot = { .index = index, .flags = flags };

	return ioctl(file, FGIO_IOC_SET_WORD, &slot);
}

static int tie_word(int file, const struct fgio_word *word)
{
	struct fgio_word_at at = { .address = (uintptr_t)word };

	return ioctl(file, FGIO_IOC_TIE_WORD, &at);
}

static int open_device(void)
{
	int file = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	CHECK("open", file >= 0);
	return file;
}

/* Maps a page and ties the calling thread to its first flag. */
static struct fgio_word *tied_word(void)
{
	struct fgio_word *words = map(device, PAGE);

	CHECK("map", words != MAP_FAILED);
	CHECK("tie", !set_word(device, 0, 0));
	return words;
}

/* --- the calls themselves --- */

static void case_wrong_maps(char **arguments)
{
	int read_only = open(FGIO_DEVICE_PATH, O_RDONLY);
	int both = PROT_READ | PROT_WRITE;

	(void)arguments;
#define REFUSES(error, ...)                                               \
	do {                                                              \
		errno = 0;                                                \
		CHECK("must be refused", map_with(__VA_ARGS__) == MAP_FAILED); \
		CHECK("must be refused with " #error, errno == (error));  \
	} while (0)
	REFUSES(EINVAL, device, PAGE, both, MAP_PRIVATE, 0);
	REFUSES(EINVAL, device, PAGE, both, MAP_SHARED, PAGE);
	REFUSES(EINVAL, device, FGIO_WORDS_BYTES_MAX + PAGE, both, MAP_SHARED, 0);
	REFUSES(EPERM, device, PAGE, both | PROT_EXEC, MAP_SHARED, 0);
	REFUSES(EINVAL, read_only, PAGE, PROT_READ, MAP_SHARED, 0);
	CHECK("nothing was made yet", set_word(device, 0, 0) && errno == EINVAL);
	CHECK("one page", map(device, 100) != MAP_FAILED);
	REFUSES(EINVAL, device, 2 * PAGE, both, MAP_SHARED, 0);
	CHECK("again", map(device, PAGE) != MAP_FAILED);
	CHECK("largest", map(open_device(), FGIO_WORDS_BYTES_MAX) != MAP_FAILED);
}

static void case_protection(char **arguments)
{
	struct fgio_word *words = map(device, 2 * PAGE);
	struct fgio_word *seen = map_with(device, PAGE, PROT_READ, MAP_SHARED, 0);

	(void)arguments;
	CHECK("map", words != MAP_FAILED && seen != MAP_FAILED);
	FAILS_WITH(EACCES, mprotect(words, PAGE, PROT_READ | PROT_EXEC));
	CHECK("no growing", mremap(words, PAGE, 3 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK("moving", (words = mremap(words, 2 * PAGE, 2 * PAGE,
					MREMAP_MAYMOVE | MREMAP_FIXED,
					(char *)words - (1 << 24))) != MAP_FAILED);
	words[1].class = NO_CLASS;
	CHECK("the same memory", seen[1].class == NO_CLASS);
	CHECK("zero but for that", !seen[0].class && !seen[2].class);
	CHECK("in parts", !munmap(words, PAGE));
	CHECK("in parts", !munmap((char *)words + PAGE, PAGE));
}

static void case_wrong_slots(char **arguments)
{
	struct fgio_word *words;

	(void)arguments;
	FAILS_WITH(EINVAL, set_word(device, 0, 0));
	CHECK("nothing to clear", !set_word(device, 0, FGIO_WORD_CLEAR));
	words = map(device, PAGE);
	FAILS_WITH(EINVAL, set_word(device, WORDS_OF_A_PAGE, 0));
	FAILS_WITH(EINVAL, set_word(device, UINT32_MAX, 0));
	FAILS_WITH(EINVAL, set_word(device, 0, 2));
	FAILS_WITH(EINVAL, set_word(device, 0, FGIO_WORD_CLEAR | 1U << 31));
	FAILS_WITH(EFAULT, ioctl(device, FGIO_IOC_SET_WORD, NULL));
	CHECK("last", !set_word(device, WORDS_OF_A_PAGE - 1, 0));
	CHECK("counted", info().tags == 1);
	CHECK("unmap", !munmap(words, PAGE));
	CHECK("unmapping unties", info().tags == 0);
	FAILS_WITH(EINVAL, set_word(device, 0, 0));
}

/* A child has no map: the address is invalid there. */
static struct fgio_word *parents;

static void tie_to_parents(void)
{
	FAILS_WITH(EINVAL, tie_word(device, parents));
}

static void case_word_by_address(char **arguments)
{
	int other = open_device();
	struct fgio_word *words = map(other, 2 * PAGE), local = { 0 };

	(void)arguments;
	CHECK("map", words != MAP_FAILED);
	FAILS_WITH(EFAULT, ioctl(device, FGIO_IOC_TIE_WORD, NULL));
	FAILS_WITH(EINVAL, tie_word(device, NULL));
	FAILS_WITH(EINVAL, tie_word(device, &local));
	FAILS_WITH(EINVAL, tie_word(device, (void *)((char *)words + 8)));
	FAILS_WITH(EINVAL, tie_word(device, words + 2 * WORDS_OF_A_PAGE));
	FAILS_WITH(EINVAL, tie_word(device, (void *)~(uintptr_t)63));
	parents = words;
	in_child(tie_to_parents, 0);
	CHECK("no trace", info().tags == 0);

	words[WORDS_OF_A_PAGE + 1].class = FGIO_TAG_BACKGROUND;
	words[0].class = FGIO_TAG_FOREGROUND;
	CHECK("close its file", !close(other));
	CHECK("by any file", !tie_word(device, words) && get_tag(0) == FGIO_TAG_FOREGROUND);
	CHECK("unmap a part", !munmap(words, PAGE) && get_tag(0) == FGIO_TAG_FOREGROUND);
	CHECK("of the rest", !tie_word(device, words + WORDS_OF_A_PAGE + 1));
	CHECK("the right one", get_tag(0) == FGIO_TAG_BACKGROUND && info().tags == 1);
	FAILS_WITH(EINVAL, tie_word(device, words));
	CHECK("unmap", !munmap(words + WORDS_OF_A_PAGE, PAGE) && info().tags == 0);
	FAILS_WITH(EINVAL, tie_word(device, words + WORDS_OF_A_PAGE + 1));
}

/* --- precedence --- */

static void case_word_before_tag(char **arguments)
{
	struct fgio_word *words = tied_word();
	struct fgio_tag tags[4];
	struct fgio_tag_list list = { .tags = (uintptr_t)tags, .capacity = 4 };

	(void)arguments;
	CHECK("it says nothing", get_tag(0) == FGIO_TAG_NONE);
	CHECK("and is not listed", !ioctl(device, FGIO_IOC_LIST_TAGS, &list) && !list.count);
	words->class = FGIO_TAG_FOREGROUND;
	CHECK("at once", get_tag(0) == FGIO_TAG_FOREGROUND);
	list.capacity = 4;
	CHECK("listed", !ioctl(device, FGIO_IOC_LIST_TAGS, &list) && list.count == 1);
	CHECK("listed", tags[0].class == FGIO_TAG_FOREGROUND && tags[0].tid == gettid());
	words->class = FGIO_TAG_BACKGROUND;
	CHECK("at once", get_tag(0) == FGIO_TAG_BACKGROUND);
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	CHECK("the word wins", get_tag(0) == FGIO_TAG_BACKGROUND);
	words->class = FGIO_TAG_NONE;
	CHECK("the tag counts", get_tag(0) == FGIO_TAG_FOREGROUND);
	words->class = NO_CLASS;
	CHECK("no class says nothing", get_tag(0) == FGIO_TAG_FOREGROUND);
	CHECK("clear the tag", !set_tag(0, FGIO_TAG_NONE));
	CHECK("no class says nothing", get_tag(0) == FGIO_TAG_NONE);
	words->class = FGIO_TAG_FOREGROUND;
	CHECK("the word stays", get_tag(0) == FGIO_TAG_FOREGROUND);
	words[1].class = FGIO_TAG_BACKGROUND;
	CHECK("another", !set_word(device, 1, 0) && get_tag(0) == FGIO_TAG_BACKGROUND);
	CHECK("one thread", info().tags == 1);
	CHECK("clear", !set_word(device, 0, FGIO_WORD_CLEAR));
	CHECK("cleared", get_tag(0) == FGIO_TAG_NONE && info().tags == 0);
}

static void case_word_of_another_file(char **arguments)
{
	int other = open_device();
	struct fgio_word *words = tied_word(), *others = map(other, PAGE);

	(void)arguments;
	words->class = FGIO_TAG_FOREGROUND;
	others[3].class = FGIO_TAG_BACKGROUND;
	CHECK("tie", !set_word(other, 3, 0) && get_tag(0) == FGIO_TAG_BACKGROUND);
	CHECK("unmap the old", !munmap(words, PAGE) && get_tag(0) == FGIO_TAG_BACKGROUND);
	CHECK("close", !close(other) && get_tag(0) == FGIO_TAG_BACKGROUND);
	CHECK("unmap", !munmap(others, PAGE) && get_tag(0) == FGIO_TAG_NONE);
}

/* CLASS DEVICE: reads from it, with CLASS in the thread's flag. */
static void case_read(char **arguments)
{
	int file = open(arguments[1], O_RDONLY | O_DIRECT), i;
	struct fgio_word *words = tied_word();
	char *buffer = aligned_alloc(PAGE, PAGE);

	CHECK(arguments[1], file >= 0);
	words->class = (__u32)atoi(arguments[0]);
	for (i = 0; i < 32; i++)
		CHECK("read", pread(file, buffer, PAGE, (off_t)i * 8 * PAGE) == PAGE);
}

/* --- the life of a flag --- */

static struct fgio_word *parents;

static void has_no_word(void)
{
	unsigned char there;

	CHECK("untied", get_tag(0) == FGIO_TAG_NONE);
	CHECK("unmapped", mincore(parents, PAGE, &there) && errno == ENOMEM);
}

static void case_fork_leaves_it_behind(char **arguments)
{
	(void)arguments;
	parents = tied_word();
	parents->class = FGIO_TAG_FOREGROUND;
	in_child(has_no_word, 0);
	CHECK("the parent keeps it", get_tag(0) == FGIO_TAG_FOREGROUND);
}

static void exec_with_word(void)
{
	device = open_device();
	tied_word()->class = FGIO_TAG_FOREGROUND;
	CHECK("counted", info().tags == 1);
	execl("/proc/self/exe", "words", "has_none", NULL);
	CHECK("execl", 0);
}

static void case_has_none(char **arguments)
{
	(void)arguments;
	CHECK("untied", get_tag(0) == FGIO_TAG_NONE && info().tags == 0);
}

static void case_execve_unties(char **arguments)
{
	(void)arguments;
	in_child(exec_with_word, 0);
}

static void *thread_with_word(void *index)
{
	CHECK("tie", !set_word(device, (__u32)(uintptr_t)index, 0));
	return NULL;
}

static void case_exit_frees(char **arguments)
{
	struct fgio_word *words = map(device, PAGE);
	int left = atoi(arguments[0]), i;
	pthread_t threads[50];

	for (i = 0; i < (int)WORDS_OF_A_PAGE; i++)
		words[i].class = FGIO_TAG_FOREGROUND;
	for (; left > 0; left -= 50) {
		for (i = 0; i < 50; i++)
			CHECK("thread", !pthread_create(&threads[i], NULL, thread_with_word,
							(void *)(uintptr_t)i));
		for (i = 0; i < 50; i++)
			pthread_join(threads[i], NULL);
	}
	wait_for_tags(0);
}

static void case_kill_frees(char **arguments)
{
	pid_t child = fork();

	(void)arguments;
	if (!child) {
		tied_word()->class = FGIO_TAG_FOREGROUND;
		for (;;)
			pause();
	}
	wait_for_tags(1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	wait_for_tags(0);
}

/* MAX: the module's tags_max. */
static void case_table_full(char **arguments)
{
	unsigned int max = (unsigned int)atoi(arguments[0]), i;
	pid_t self = getpid(), children[16];

	CHECK("tags_max", info().tags_max == max && max < 16);
	for (i = 0; i < max; i++) {
		children[i] = fork();
		if (!children[i]) {
			end_with(self);
			pause();
			_exit(0);
		}
		CHECK("tag", !set_tag(children[i], FGIO_TAG_BACKGROUND));
	}
	CHECK("map", map(device, PAGE) != MAP_FAILED);
	FAILS_WITH(ENOSPC, set_word(device, 0, 0));
	CHECK("room", !set_tag(children[0], FGIO_TAG_NONE));
	CHECK("room", !set_word(device, 0, 0));
	FAILS_WITH(ENOSPC, set_tag(children[0], FGIO_TAG_FOREGROUND));
	for (i = 0; i < max; i++)
		kill(children[i], SIGKILL);
}

/* --- an unprivileged user --- */

static void limit_locked_memory(rlim_t bytes)
{
	struct rlimit limit = { .rlim_cur = bytes, .rlim_max = bytes };

	CHECK("limit", !setrlimit(RLIMIT_MEMLOCK, &limit));
}

static void case_any_user(char **arguments)
{
	struct fgio_word *words;
	int i, file;

	(void)arguments;
	limit_locked_memory(2 * PAGE);
	become(FIRST_USER);
	device = open_device();
	tied_word()->class = FGIO_TAG_FOREGROUND;
	CHECK("foreground", get_tag(0) == FGIO_TAG_FOREGROUND);
	for (i = 0; i < 1000; i++) {
		file = open_device();
		CHECK("beyond the limit", map(file, 2 * PAGE) == MAP_FAILED && errno == ENOMEM);
		words = map(file, PAGE);
		CHECK("within it", words != MAP_FAILED);
		CHECK("given back", !close(file) && !munmap(words, PAGE));
	}
}

/* --- all at once --- */

static volatile int may_end;

/* Writes random values into the flags of a file, which others map and tie. */
static void *scribbler(void *words)
{
	unsigned int seed = 1, i;
	__u32 *raw = words;

	while (!may_end) {
		for (i = 0; i < PAGE / sizeof(*raw); i++)
			raw[i] = (__u32)rand_r(&seed) % 4 ? (__u32)rand_r(&seed) % 4 :
							     (__u32)rand_r(&seed);
	}
	return NULL;
}

static void *mapper(void *unused)
{
	unsigned int seed = (unsigned int)gettid();
	void *mine;
	int file;

	(void)unused;
	while (!may_end) {
		file = rand_r(&seed) % 2 ? device : open_device();
		mine = map(file, PAGE);
		CHECK("map", mine != MAP_FAILED);
		CHECK("tie", !set_word(file, (__u32)rand_r(&seed) % WORDS_OF_A_PAGE, 0));
		CHECK("tag", !set_tag(0, (__u32)rand_r(&seed) % 3));
		if (file != device)
			close(file);
		sched_yield();
		get_tag(0);
		munmap(mine, PAGE);
	}
	return NULL;
}

static void *reader(void *path)
{
	int file = open(path, O_RDONLY | O_DIRECT);
	char *buffer = aligned_alloc(PAGE, PAGE);
	struct fgio_tag tags[64];
	struct fgio_tag_list list;

	CHECK("open", file >= 0 && !set_word(device, 7, 0));
	while (!may_end) {
		CHECK("read", pread(file, buffer, PAGE, 0) == PAGE);
		list = (struct fgio_tag_list){ .tags = (uintptr_t)tags, .capacity = 64 };
		CHECK("list", !ioctl(device, FGIO_IOC_LIST_TAGS, &list));
	}
	free(buffer);
	return NULL;
}

/* DEVICE SECONDS */
static void case_all_at_once(char **arguments)
{
	struct fgio_word *words = map(device, PAGE);
	struct timespec time = { .tv_sec = atoi(arguments[1]) };
	pthread_t threads[6];
	unsigned int i;

	CHECK("thread", !pthread_create(&threads[0], NULL, scribbler, words));
	CHECK("thread", !pthread_create(&threads[1], NULL, reader, arguments[0]));
	for (i = 2; i < 6; i++)
		CHECK("thread", !pthread_create(&threads[i], NULL, mapper, NULL));
	nanosleep(&time, NULL);
	may_end = 1;
	for (i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	wait_for_tags(0);
}

/* Waits with a map and without the file that it came from. */
static void case_hold(char **arguments)
{
	(void)arguments;
	tied_word();
	close(device);
	for (;;)
		pause();
}

static const struct device_case cases[] = {
	{ "wrong_maps", case_wrong_maps, 0 },
	{ "protection", case_protection, 0 },
	{ "wrong_slots", case_wrong_slots, 0 },
	{ "word_before_tag", case_word_before_tag, 0 },
	{ "word_by_address", case_word_by_address, 0 },
	{ "word_of_another_file", case_word_of_another_file, 0 },
	{ "read", case_read, 2 },
	{ "fork_leaves_it_behind", case_fork_leaves_it_behind, 0 },
	{ "has_none", case_has_none, 0 },
	{ "execve_unties", case_execve_unties, 0 },
	{ "exit_frees", case_exit_frees, 1 },
	{ "kill_frees", case_kill_frees, 0 },
	{ "table_full", case_table_full, 1 },
	{ "any_user", case_any_user, 0 },
	{ "all_at_once", case_all_at_once, 2 },
	{ "hold", case_hold, 0 },
};

int main(int argc, char **argv)
{
	device = open_device();
	return RUN_CASE(cases, argc, argv);
}
