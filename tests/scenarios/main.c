// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Runs one scenario under one condition and prints how long its foreground
 * waited:
 *
 *	scenarios list                       name, group, switches off, title
 *	scenarios run NAME load|floor [N]    "us" and the time of each round
 *	scenarios service                    "us": one I/O at a time, the mean
 *	scenarios stay                       is an idle foreground task
 *	scenarios settle                     waits until all hooks are attached
 *
 * Files are in $FILES, a file system on $FILES_ON, which is the disk, $DISK, or
 * on top of it. With "floor", nothing but the scenario's own tasks uses the
 * disk. With $STOCK, fgio is not loaded; $FOREGROUND_PRIORITY and
 * $BACKGROUND_PRIORITY, each "CLASS,LEVEL" or empty, are I/O priorities for the
 * other schedulers.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"
#include "uapi/fgio.h"

#define MIB (1024 * 1024)
/* On the disk: the file system, then places of our own. */
#define FLOOD_BEGIN (512ULL * MIB)
#define FLOOD_BYTES (32ULL * MIB)
#define OWN_BEGIN (FLOOD_BEGIN + FLOOD_BYTES)
#define OWN_BYTES (32ULL * MIB)
#define LIMIT_S 20
#define ROUNDS 7
#define STACK_BYTES 65536
#define READER_INTERVAL_US 5000
#define SERVICE_IOS 300
#define HOOKS_MAX 128

static const struct scenario *const files[] = {
	user_scenarios,	   kernel_scenarios, file_scenarios,
	journal_scenarios, cache_scenarios,  xfs_scenarios, btrfs_scenarios,
	file_lock_scenarios, name_scenarios, fuse_scenarios, event_scenarios,
	message_scenarios,
};

enum turn { TURN_NONE, TURN_SOON, TURN_NOW, TURN_OVER };

struct background {
	sem_t begin;
	_Atomic unsigned int done;
	_Atomic bool waits;
	_Atomic pid_t tid;
};

struct control {
	struct background background[BACKGROUND_TASKS];
	_Atomic enum turn foreground;
	_Atomic unsigned int round;
	_Atomic uint64_t took_us;
};

static const struct scenario *chosen;
static struct control *control;
static unsigned int round_count = ROUNDS;
static int disk_file = -1;
static int device = -1;
static pid_t children[64];
static unsigned int child_count;
static __thread struct background *self;

/* ---- for scenarios ---- */

void need(bool condition, const char *what, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, strerror(errno));
	fflush(stderr);
	_exit(1);
}

void *shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	NEED(memory != MAP_FAILED);
	memset(memory, 0, bytes);
	return memory;
}

void *buffer(size_t bytes)
{
	static __thread void *memory;
	static __thread size_t size;

	if (size < bytes) {
		NEED(!posix_memalign(&memory, BLOCK, bytes));
		memset(memory, 0x5a, bytes);
		size = bytes;
	}
	return memory;
}

int disk(void)
{
	return disk_file;
}

/* Far apart, and never the same twice: nothing merges. */
off_t own_place(unsigned int number)
{
	return OWN_BEGIN + (number * 37ULL * BLOCK) % OWN_BYTES;
}

void read_disk(unsigned int round)
{
	NEED(pread(disk_file, buffer(BLOCK), BLOCK, own_place(round)) == BLOCK);
}

void write_disk(unsigned int round)
{
	NEED(pwrite(disk_file, buffer(BLOCK), BLOCK, own_place(round)) == BLOCK);
}

int open_file(const char *name, int flags)
{
	int file = open(name, flags | O_CREAT | O_CLOEXEC, 0600);

	NEED(file >= 0);
	return file;
}

int written_file(const char *name, unsigned int blocks)
{
	int file = open_file(name, O_RDWR | O_TRUNC);
	unsigned int block;

	for (block = 0; block < blocks; block++)
		write_block(file, block, BLOCK);
	NEED(!fsync(file));
	return file;
}

int watch_for_input(int fd)
{
	struct epoll_event wanted = { .events = EPOLLIN };
	int watch = epoll_create1(EPOLL_CLOEXEC);

	NEED(watch >= 0);
	NEED(!epoll_ctl(watch, EPOLL_CTL_ADD, fd, &wanted));
	return watch;
}

void forget_pages(int file)
{
	NEED(!posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
}

void change(int file, unsigned int round)
{
	NEED(!fchmod(file, round % 2 ? 0600 : 0640));
}

void change_and_sync(int file, unsigned int round)
{
	change(file, round);
	NEED(!fsync(file));
}

void forget_inodes(const char *type)
{
	const char *top = getenv("FILES");
	char folder[256];
	struct dirent *entry;
	DIR *names;

	NEED(getcwd(folder, sizeof(folder)));
	NEED(!chdir("/") && !umount(top));
	NEED(!mount(getenv("FILES_ON"), top, type, 0, NULL));
	NEED(!chdir(folder));
	names = opendir(".");
	NEED(names);
	do
		entry = readdir(names);
	while (entry);
	closedir(names);
}

void write_block(int file, unsigned int block, size_t bytes)
{
	off_t place = (off_t)block * BLOCK;

	NEED(pwrite(file, buffer(BLOCK), bytes, place) == (ssize_t)bytes);
}

void pause_us(unsigned int us)
{
	struct timespec time = { .tv_sec = us / 1000000,
				 .tv_nsec = us % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

void about_to_wait(void)
{
	self->waits = true;
}

unsigned int rounds(void)
{
	return round_count;
}

/* Without fgio there is no device to call. */
static bool is_stock(void)
{
	return device < 0;
}

static void hint(pid_t tid)
{
	struct fgio_wait_for wait = { .tid = tid };

	NEED(is_stock() || !ioctl(device, FGIO_IOC_WAIT_FOR, &wait));
}

void hint_begin(unsigned int number)
{
	hint(control->background[number].tid);
}

void hint_end(void)
{
	hint(0);
}

/* ---- load ---- */

/* Sets the calling thread's I/O priority from the environment: "CLASS,LEVEL", or empty. */
static void set_priority(const char *name)
{
	const char *text = getenv(name);
	int class, level;

	if (!text || !*text)
		return;
	NEED(sscanf(text, "%d,%d", &class, &level) == 2);
	NEED(!syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		      IOPRIO_PRIO_VALUE(class, level)));
}

void become_foreground(void)
{
	struct fgio_tag tag = { .tid = 0, .class = FGIO_TAG_FOREGROUND };

	if (is_stock())
		set_priority("FOREGROUND_PRIORITY");
	else
		NEED(!ioctl(device, FGIO_IOC_SET_TAG, &tag));
}

static void become_background(void)
{
	if (is_stock())
		set_priority("BACKGROUND_PRIORITY");
}

static pid_t child(void)
{
	pid_t pid = fork();

	NEED(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return 0;
	}
	NEED(child_count < sizeof(children) / sizeof(children[0]));
	children[child_count++] = pid;
	return pid;
}

static void end_children(void)
{
	unsigned int i;

	for (i = 0; i < child_count; i++)
		kill(children[i], SIGKILL);
	for (i = 0; i < child_count; i++)
		waitpid(children[i], NULL, 0);
}

static uint32_t random_number(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void *flood_thread(void *argument)
{
	uint32_t state = 0x9e3779b9u * ((uint32_t)(uintptr_t)argument + 1) | 1;

	become_background();
	for (;;) {
		off_t place = random_number(&state) % (FLOOD_BYTES / BLOCK);

		NEED(pwrite(disk_file, buffer(BLOCK), BLOCK,
			    FLOOD_BEGIN + place * BLOCK) == BLOCK);
	}
	return NULL;
}

static void begin_thread(void *(*function)(void *), uintptr_t argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	NEED(!pthread_create(&thread, &attributes, function, (void *)argument));
	pthread_attr_destroy(&attributes);
}

static void begin_flood(void)
{
	static const unsigned int depths[] = {
		[FLOOD_DEEP] = 224,
		[FLOOD_QUEUED] = 100,
	};
	unsigned int i, depth;

	if (chosen->flood == FLOOD_NONE || child())
		return;
	depth = depths[chosen->flood];
	for (i = 0; i < depth; i++)
		begin_thread(flood_thread, i);
	for (;;)
		pause();
}

/*
 * Further foreground I/O, which keeps background I/O restrained, as in a busy
 * database.
 */
static void begin_reader(void)
{
	uint32_t state = 7;

	if (child())
		return;
	become_foreground();
	for (;;) {
		off_t place = random_number(&state) % (OWN_BYTES / BLOCK);

		NEED(pread(disk_file, buffer(BLOCK), BLOCK,
			   OWN_BEGIN + place * BLOCK) == BLOCK);
		pause_us(READER_INTERVAL_US);
	}
}

static void begin_load(void)
{
	unsigned int i;

	begin_flood();
	begin_reader();
	for (i = 0; i < chosen->loads; i++)
		if (!child()) {
			become_background();
			chosen->load(i);
		}
	pause_us(1000 * (chosen->settle_ms ? chosen->settle_ms : 60));
}

/* ---- tasks ---- */

static uint64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000ULL + time.tv_nsec / 1000;
}

static void *foreground_task(void *argument)
{
	uint64_t begin;

	(void)argument;
	prctl(PR_SET_TIMERSLACK, 1);
	prctl(PR_SET_NAME, "foreground");
	become_foreground();
	for (;;) {
		enum turn turn = control->foreground;

		if (turn != TURN_NOW) {
			pause_us(turn == TURN_SOON ? 20 : 500);
			continue;
		}
		begin = now_us();
		chosen->foreground(control->round);
		control->took_us = now_us() - begin;
		control->foreground = TURN_OVER;
	}
	return NULL;
}

static void *background_task(void *argument)
{
	unsigned int number = (uintptr_t)argument;
	struct background *background = &control->background[number];
	char name[16];

	snprintf(name, sizeof(name), "background-%u", number);
	prctl(PR_SET_NAME, name);
	self = background;
	become_background();
	background->tid = syscall(SYS_gettid);
	for (;;) {
		while (sem_wait(&background->begin))
			;
		chosen->background[number](control->round);
		background->waits = false;
		background->done++;
	}
	return NULL;
}

/* Whether a task sleeps uninterruptibly; with @anyhow: in any way. */
static bool is_asleep(pid_t tid, bool anyhow)
{
	char name[64], text[512], *state;
	ssize_t length;
	int file;

	snprintf(name, sizeof(name), "/proc/%d/stat", tid);
	file = open(name, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	length = read(file, text, sizeof(text) - 1);
	close(file);
	if (length <= 0)
		return false;
	text[length] = 0;
	state = strrchr(text, ')');
	return state && state[1] &&
	       (state[2] == 'D' || (anyhow && state[2] == 'S'));
}

static pid_t journal_thread(void)
{
	pid_t tid = 0;
	FILE *found = popen("pgrep -n ^jbd2/", "r");

	NEED(found && fscanf(found, "%d", &tid) == 1);
	pclose(found);
	return tid;
}

static bool in_use(unsigned int number)
{
	return number < BACKGROUND_TASKS && chosen->background[number];
}

static void begin_background(void)
{
	unsigned int i;

	for (i = 0; in_use(i); i++) {
		NEED(!sem_init(&control->background[i].begin, 1, 0));
		if (!chosen->processes)
			begin_thread(background_task, i);
		else if (!child())
			background_task((void *)(uintptr_t)i);
	}
	for (i = 0; in_use(i); i++)
		while (!control->background[i].tid)
			pause_us(100);
}

static void await_journal(pid_t journal)
{
	unsigned int tries;

	for (tries = 0; tries < 50 && !is_asleep(journal, false); tries++)
		pause_us(20);
}

static uint64_t one_round(unsigned int round, pid_t journal)
{
	unsigned int i;

	control->round = round;
	if (chosen->before)
		chosen->before(round);
	control->foreground = TURN_SOON;
	/* The foreground polls for its turn more often from now on. */
	pause_us(600);
	for (i = 0; in_use(i); i++) {
		struct background *background = &control->background[i];

		sem_post(&background->begin);
		while (!is_asleep(background->tid, background->waits) &&
		       background->done <= round)
			pause_us(20);
		if (chosen->journal == i + 1)
			await_journal(journal);
	}
	control->foreground = TURN_NOW;
	while (control->foreground != TURN_OVER)
		pause_us(500);
	control->foreground = TURN_NONE;
	for (i = 0; in_use(i); i++)
		while (control->background[i].done <= round)
			pause_us(500);
	return control->took_us;
}

static void say_state(void)
{
	struct fgio_state state = { 0 };

	if (ioctl(device, FGIO_IOC_STATE, &state))
		return;
	printf("state boosts %llu requests %llu sleepers %llu writers %llu "
	       "boosted_us %llu in_vain_us %llu lost %llu\n",
	       state.boosts, state.promoted_requests, state.promoted_sleepers,
	       state.promoted_writers, state.boosted_ns / 1000,
	       state.boosted_in_vain_ns / 1000, state.waits_lost);
}

static void in_own_folder(void)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%d", chosen->name, getpid());
	NEED(getenv("FILES") && !chdir(getenv("FILES")));
	NEED(!mkdir(name, 0700) && !chdir(name));
}

/* The factor by which a debug kernel may be slower. */
static unsigned int slowness(void)
{
	const char *text = getenv("LAB_SLOWNESS");

	return text ? strtoul(text, NULL, 10) : 1;
}

static void run(bool loaded)
{
	pid_t journal = chosen->journal ? journal_thread() : 0;
	unsigned int round;

	alarm(LIMIT_S * slowness());
	prctl(PR_SET_TIMERSLACK, 1);
	control = shared(sizeof(*control));
	in_own_folder();
	if (chosen->prepare)
		chosen->prepare();
	if (loaded)
		begin_load();
	say_state();
	begin_background();
	begin_thread(foreground_task, 0);
	printf("us");
	for (round = 0; round < rounds(); round++) {
		printf(" %llu", (unsigned long long)one_round(round, journal));
		fflush(stdout);
	}
	printf("\n");
	say_state();
	end_children();
	fflush(stdout);
	_exit(0);
}

static void service(void)
{
	uint64_t begin = now_us();
	unsigned int i;

	for (i = 0; i < SERVICE_IOS; i++)
		read_disk(i);
	printf("us %.1f\n", (double)(now_us() - begin) / SERVICE_IOS);
}

/* While a foreground task exists, hooks stay attached. */
static void stay(void)
{
	become_foreground();
	for (;;)
		pause();
}

static unsigned int attached_hooks(void)
{
	static struct fgio_hook_state states[HOOKS_MAX];
	struct fgio_hook_list hooks = {
		.hooks = (uintptr_t)states,
		.capacity = HOOKS_MAX,
	};
	unsigned int i, attached = 0;

	if (ioctl(device, FGIO_IOC_HOOKS, &hooks))
		return 0;
	for (i = 0; i < hooks.count && i < HOOKS_MAX; i++)
		attached += !!(states[i].state & FGIO_HOOK_ATTACHED);
	return attached;
}

/* They are attached one after the other, with grace periods in between. */
static void settle(void)
{
	unsigned int attached, before = 0, unchanged = 0, tries;

	for (tries = 0; tries < 200 && unchanged < 25; tries++) {
		pause_us(20000);
		attached = attached_hooks();
		unchanged = attached == before ? unchanged + 1 : 0;
		before = attached;
	}
	printf("hooks %u\n", before);
}

/* ---- arguments ---- */

static void list(void)
{
	const struct scenario *each;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		for (each = files[i]; each->name; each++)
			printf("%s\t%s\t%s\t%s\n", each->name, each->group,
			       each->off, each->title);
}

static const struct scenario *find(const char *name)
{
	const struct scenario *each;
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		for (each = files[i]; each->name; each++)
			if (!strcmp(each->name, name))
				return each;
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list")) {
		list();
		return 0;
	}
	NEED(getenv("DISK"));
	disk_file = open(getenv("DISK"), O_RDWR | O_DIRECT | O_CLOEXEC);
	NEED(disk_file >= 0);
	if (argc == 2 && !strcmp(argv[1], "service")) {
		service();
		return 0;
	}
	if (!getenv("STOCK")) {
		device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
		NEED(device >= 0);
	}
	if (argc == 2 && !strcmp(argv[1], "stay"))
		stay();
	if (argc == 2 && !strcmp(argv[1], "settle")) {
		settle();
		return 0;
	}
	if (argc < 4 || strcmp(argv[1], "run"))
		return 2;
	chosen = find(argv[2]);
	if (!chosen)
		return 2;
	if (chosen->rounds)
		round_count = chosen->rounds;
	if (argc > 4)
		round_count = atoi(argv[4]);
	run(!strcmp(argv[3], "load"));
	return 0;
}
