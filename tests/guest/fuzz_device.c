// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Random calls of an unprivileged user: fuzz_device SEED ITERATIONS DISK, started
 * as root, which it gives up.
 *
 * Threads of an unprivileged user make ITERATIONS calls each: every call of
 * /dev/fgio and numbers that are no call, with arguments that are right, wrong,
 * or no addresses; maps; forks; writes to every file of the module in sysfs and
 * debugfs. Meanwhile a foreground task of another user reads from DISK. A hole
 * ends the program with exit status 1: a privileged call that succeeds, a file
 * that can be written, a tag on a thread of another user.
 *
 * The same seed gives each thread the same calls, in another interleaving.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "device_calls.h"

#define SECOND_USER 1234
#define PAGE 4096
#define THREADS 4
#define FILES 4
#define TARGETS_MAX 4096
#define ARENA (16 * PAGE)
#define GUARD (4 << 20)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const unsigned long commands[] = {
	FGIO_IOC_INFO,	  FGIO_IOC_SET_TAG, FGIO_IOC_GET_TAG, FGIO_IOC_LIST_TAGS,
	FGIO_IOC_PROMOTE, FGIO_IOC_WAIT_FOR, FGIO_IOC_HOOKS,  FGIO_IOC_STATE,
	FGIO_IOC_REARM,	  FGIO_IOC_BLAME,   FGIO_IOC_SET_WORD, FGIO_IOC_TIE_WORD,
	FGIO_IOC_REARM_DISK, FGIO_IOC_SHARES, FGIO_IOC_REASONS, FGIO_IOC_SCALE_SHARE,
};

/* Files that root alone may write. */
static char *targets[TARGETS_MAX];
static size_t target_count;

static pid_t victim;
static int disk;
static unsigned long iterations;

/* Shared with children. */
static struct {
	unsigned long reads;
	unsigned long calls;
	unsigned long calls_done;
	unsigned long maps;
	unsigned long children;
	bool may_end;
} *shared;

struct fuzzer {
	uint64_t random;
	int file[FILES];
	void *map[FILES];
	size_t bytes[FILES];
	char *arena;
	bool is_child;
};

/* splitmix64 */
static uint64_t next_random(struct fuzzer *self)
{
	uint64_t value = (self->random += 0x9e3779b97f4a7c15ULL);

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
	return value ^ (value >> 31);
}

static uint64_t below(struct fuzzer *self, uint64_t bound)
{
	return next_random(self) % bound;
}

static void count_one(unsigned long *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* --- the targets --- */

static int note_target(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)at;
	if (kind == FTW_F && target_count < TARGETS_MAX)
		targets[target_count++] = strdup(path);
	return 0;
}

static void find_targets(const char *disk_path)
{
	static const char *const folders[] = { "/sys/module/fgio", "/sys/kernel/debug/fgio" };
	const char *name = strrchr(disk_path, '/') + 1;
	char queue[256];
	size_t i;

	snprintf(queue, sizeof(queue), "/sys/block/%s/queue", name);
	CHECK(queue, !nftw(queue, note_target, 16, FTW_PHYS));
	for (i = 0; i < COUNT(folders); i++)
		CHECK(folders[i], !nftw(folders[i], note_target, 16, FTW_PHYS));
	CHECK("files to attack", target_count > 40 && target_count < TARGETS_MAX);
	printf("%zu files\n", target_count);
}

static void *read_for_ever(void *buffer)
{
	off_t at = 0;

	while (!__atomic_load_n(&shared->may_end, __ATOMIC_RELAXED)) {
		CHECK("the victim is served", pread(disk, buffer, PAGE, at) == PAGE);
		CHECK("the victim is foreground", get_tag(0) == FGIO_TAG_FOREGROUND);
		count_one(&shared->reads);
		at = (at + PAGE) % (8 << 20);
	}
	return NULL;
}

static pid_t start_victim(void)
{
	pid_t parent = getpid(), child;

	fflush(stdout);
	child = fork();
	if (child)
		return child;
	become(SECOND_USER);
	end_with(parent);
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	CHECK("tag", !set_tag(0, FGIO_TAG_FOREGROUND));
	read_for_ever(aligned_alloc(PAGE, PAGE));
	_exit(0);
}

static void wait_for_reads(unsigned long more)
{
	unsigned long begin = __atomic_load_n(&shared->reads, __ATOMIC_RELAXED);

	while (__atomic_load_n(&shared->reads, __ATOMIC_RELAXED) < begin + more) {
		CHECK("the victim lives", !kill(victim, 0));
		usleep(1000);
	}
}

/* --- arguments --- */

static char *make_arena(void)
{
	char *reserved = mmap(NULL, ARENA + 2 * GUARD, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK("memory", reserved != MAP_FAILED);
	CHECK("memory", !mprotect(reserved + GUARD, ARENA / 2, PROT_READ | PROT_WRITE));
	CHECK("memory", !mprotect(reserved + GUARD + ARENA / 2, PAGE, PROT_READ));
	return reserved + GUARD;
}

/* Good, unaligned, at the end of good memory, and the kernel's. */
static void *some_address(struct fuzzer *self)
{
	switch (below(self, 10)) {
	case 0:
		return NULL;
	case 1:
		return (void *)(uintptr_t)(0xffff800000000000ULL | next_random(self));
	case 2:
		return (void *)(uintptr_t)(1ULL << 47 | next_random(self));
	case 3:
		return self->arena + ARENA / 2 + PAGE - below(self, 300);
	case 4:
		return self->arena + ARENA / 2 - below(self, 300);
	case 5:
		return self->arena + below(self, 600);
	default:
		return self->arena + below(self, 8) * 512;
	}
}

static int32_t some_tid(struct fuzzer *self)
{
	switch (below(self, 6)) {
	case 0:
		return victim;
	case 1:
		return gettid();
	case 2:
		return getppid();
	case 3:
		return (int32_t)below(self, 400);
	case 4:
		return (int32_t)next_random(self);
	default:
		return 0;
	}
}

/* Some of it may be a valid argument. */
static void fill_arena(struct fuzzer *self)
{
	uint64_t *at = (uint64_t *)(void *)self->arena;
	int i;

	for (i = 0; i < 1024; i++)
		at[i] = below(self, 3) ? below(self, 8) : next_random(self);
	if (below(self, 2))
		at[0] = (uint64_t)(uintptr_t)some_address(self);
	if (below(self, 2))
		*(int32_t *)(void *)at = some_tid(self);
}

static unsigned long some_command(struct fuzzer *self)
{
	unsigned int number = (unsigned int)below(self, 16);

	switch (below(self, 8)) {
	case 0:
		return _IOC(below(self, 4), FGIO_IOC_MAGIC, number, below(self, 1 << 14));
	case 1:
		return next_random(self);
	case 2:
		return commands[below(self, COUNT(commands))] ^ 1UL << below(self, 32);
	default:
		return commands[below(self, COUNT(commands))];
	}
}

/* --- calls --- */

static int some_file(struct fuzzer *self)
{
	return self->file[below(self, FILES)];
}

static bool takes_a_privilege(unsigned long command)
{
	return command == FGIO_IOC_PROMOTE || command == FGIO_IOC_REARM ||
	       command == FGIO_IOC_REARM_DISK || command == FGIO_IOC_BLAME ||
	       command == FGIO_IOC_SHARES || command == FGIO_IOC_SCALE_SHARE;
}

/*
 * Commands of the tty, files and sockets have other letters. Those that act on
 * any file, such as FIOCLEX, do no harm.
 */
static void call(struct fuzzer *self)
{
	unsigned long command = some_command(self);
	void *argument = some_address(self);
	bool done;

	fill_arena(self);
	done = !ioctl(some_file(self), command, argument);
	CHECK("a call that takes a privilege", !done || !takes_a_privilege((uint32_t)command));
	count_one(&shared->calls);
	shared->calls_done += done;
}

static void tag_others(struct fuzzer *self)
{
	struct fgio_wait_for wait = { .tid = victim };

	errno = 0;
	CHECK("tag the victim", set_tag(victim, (uint32_t)below(self, 3)) == -1 && errno == EPERM);
	CHECK("tag init", set_tag(1, (uint32_t)below(self, 3)) == -1 && errno == EPERM);
	CHECK("wait for the victim", ioctl(device, FGIO_IOC_WAIT_FOR, &wait) == -1);
	CHECK("wait for the victim", errno == EPERM);
}

static void tag_self(struct fuzzer *self)
{
	if (set_tag(0, (uint32_t)below(self, 3)))
		CHECK("a documented error", errno == EDQUOT || errno == EACCES);
}

static void set_word(struct fuzzer *self)
{
	struct fgio_word_slot slot = {
		.index = (uint32_t)below(self, 1 << below(self, 16)),
		.flags = (uint32_t)(below(self, 8) == 0),
	};

	ioctl(some_file(self), FGIO_IOC_SET_WORD, &slot);
}

static void map_file(struct fuzzer *self)
{
	unsigned int which = (unsigned int)below(self, FILES);
	size_t bytes = (size_t)PAGE << below(self, 10);
	int protection = below(self, 8) ? PROT_READ | PROT_WRITE : (int)below(self, 8);
	int flags = below(self, 8) ? MAP_SHARED : (int)below(self, 64) & ~(MAP_FIXED | MAP_ANONYMOUS);
	off_t at = below(self, 8) ? 0 : (off_t)below(self, 64) * PAGE;

	if (self->map[which])
		munmap(self->map[which], self->bytes[which]);
	self->bytes[which] = bytes;
	self->map[which] = mmap(NULL, bytes, protection, flags, some_file(self), at);
	if (self->map[which] == MAP_FAILED)
		self->map[which] = NULL;
	else
		count_one(&shared->maps);
	if (protection != (PROT_READ | PROT_WRITE) && self->map[which]) {
		munmap(self->map[which], bytes);
		self->map[which] = NULL;
	}
}

/* Into the flags of other threads; a map keeps its bytes until it goes as a whole. */
static void scribble(struct fuzzer *self)
{
	unsigned int which = (unsigned int)below(self, FILES);
	uint32_t *words = self->map[which];

	if (words)
		words[below(self, self->bytes[which] / sizeof(*words))] =
			(uint32_t)(below(self, 4) ? below(self, 4) : next_random(self));
}

static void reopen(struct fuzzer *self)
{
	int *file = &self->file[below(self, FILES)];

	close(*file);
	*file = open(FGIO_DEVICE_PATH, below(self, 4) ? O_RDWR : (int)below(self, 2));
	CHECK("open", *file >= 0);
}

static void misuse_file(struct fuzzer *self)
{
	struct pollfd entry = { .fd = some_file(self), .events = POLLIN | POLLOUT };
	void *address = some_address(self);
	size_t bytes = below(self, 2 * PAGE);

	switch (below(self, 6)) {
	case 0:
		CHECK("nothing to read", read(entry.fd, address, bytes) == -1);
		break;
	case 1:
		CHECK("nothing to write", write(entry.fd, address, bytes) == -1);
		break;
	case 2:
		poll(&entry, 1, 0);
		break;
	case 3:
		lseek(entry.fd, (off_t)next_random(self), SEEK_SET);
		break;
	case 4:
		ftruncate(entry.fd, (off_t)bytes);
		break;
	default:
		fsync(entry.fd);
	}
}

static void attack_sysfs(struct fuzzer *self)
{
	static const int flags[] = { O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC, O_WRONLY | O_APPEND };
	const char *path = targets[below(self, target_count)];
	char text[64];
	int file = open(path, flags[below(self, COUNT(flags))]);

	/* The switch of the disk's scheduler, and what went meanwhile, are no exceptions. */
	CHECK(path, file == -1);
	CHECK(path, chmod(path, 0666) == -1);
	CHECK(path, unlink(path) == -1);
	file = open(path, O_RDONLY);
	if (file < 0)
		return;
	memset(text, '0' + (int)below(self, 10), sizeof(text));
	CHECK(path, write(file, text, sizeof(text)) == -1);
	pread(file, text, sizeof(text), (off_t)below(self, 16));
	close(file);
}

static void read_disk(struct fuzzer *self)
{
	/* Perhaps foreground, perhaps not: the data must come in any case. */
	CHECK("the unprivileged user is served, too",
	      pread(disk, self->arena, PAGE, (off_t)below(self, 2048) * PAGE) == PAGE);
}

static void step(struct fuzzer *self);

/* A child with all files and none of the maps, which ends in one of several ways. */
static void fork_child(struct fuzzer *self)
{
	bool kills = below(self, 2);
	struct fuzzer copy = *self;
	pid_t parent = getpid(), child;
	int i;

	if (self->is_child)
		return;
	child = fork();
	CHECK("fork", child >= 0);
	if (!child) {
		end_with(parent);
		copy.is_child = true;
		memset(copy.map, 0, sizeof(copy.map));
		for (i = 0; i < 30; i++)
			step(&copy);
		if (kills)
			pause();
		_exit(0);
	}
	count_one(&shared->children);
	if (kills) {
		usleep((useconds_t)below(self, 3000));
		kill(child, SIGKILL);
	}
	CHECK("wait", waitpid(child, &i, 0) == child);
	CHECK("a child found no hole", WIFSIGNALED(i) ? WTERMSIG(i) == SIGKILL : !WEXITSTATUS(i));
	next_random(self);
}

static const struct {
	void (*function)(struct fuzzer *self);
	unsigned int weight;
} steps[] = {
	{ call, 50 },	  { tag_self, 8 },     { set_word, 8 },	    { map_file, 6 },
	{ scribble, 10 }, { reopen, 3 },       { misuse_file, 4 },  { attack_sysfs, 4 },
	{ read_disk, 4 }, { tag_others, 2 },   { fork_child, 1 },
};

static void step(struct fuzzer *self)
{
	unsigned int at = (unsigned int)below(self, 100);
	size_t i;

	for (i = 0; i < COUNT(steps); i++) {
		if (at < steps[i].weight) {
			steps[i].function(self);
			return;
		}
		at -= steps[i].weight;
	}
}

static void *fuzz(void *seed)
{
	struct fuzzer self = { .random = (uintptr_t)seed };
	unsigned long i;

	self.arena = make_arena();
	for (i = 0; i < FILES; i++)
		self.file[i] = open(FGIO_DEVICE_PATH, O_RDWR);
	for (i = 0; i < iterations; i++)
		step(&self);
	return NULL;
}

static void attack(uint64_t seed, pid_t parent)
{
	pthread_t threads[THREADS];
	uint64_t i;

	become(FIRST_USER);
	end_with(parent);
	close(device);
	device = open(FGIO_DEVICE_PATH, O_RDWR);
	for (i = 0; i < THREADS; i++)
		CHECK("thread", !pthread_create(&threads[i], NULL, fuzz,
						(void *)(uintptr_t)(seed * THREADS + i)));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t seed;
	pid_t self = getpid(), attacker;
	int status;

	if (argc != 4)
		return 2;
	seed = strtoull(argv[1], NULL, 0);
	iterations = strtoul(argv[2], NULL, 0);
	printf("seed %llu, %lu iterations of %d threads\n", (unsigned long long)seed, iterations,
	       THREADS);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK("memory", shared != MAP_FAILED);
	disk = open(argv[3], O_RDONLY | O_DIRECT);
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	CHECK("files", disk >= 0 && device >= 0);
	find_targets(argv[3]);
	victim = start_victim();
	wait_for_reads(10);
	fflush(stdout);
	attacker = fork();
	if (!attacker)
		attack(seed, self);
	CHECK("wait", waitpid(attacker, &status, 0) == attacker);
	CHECK("no hole was found", WIFEXITED(status) && !WEXITSTATUS(status));
	wait_for_reads(100);
	CHECK("the victim is foreground", get_tag(victim) == FGIO_TAG_FOREGROUND);
	CHECK("no other thread is", info().tags == 1);
	shared->may_end = true;
	CHECK("wait", waitpid(victim, &status, 0) == victim && !status);
	printf("%lu calls, %lu of them done, %lu maps, %lu children; %lu reads of the victim\n",
	       shared->calls, shared->calls_done, shared->maps, shared->children, shared->reads);
	CHECK("something was done", shared->calls_done && shared->maps && shared->children);
	wait_for_tags(0);
	return 0;
}
