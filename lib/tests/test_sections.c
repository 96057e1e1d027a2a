// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * libfgio on a device of the test's own: as with the module's, all its open files
 * are of one inode, each has words of its own as long as they are mapped, and a
 * thread is tied to one word.
 *
 * Every test runs in a child of its own, in which the library is fresh.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "internal.h"

#define THREADS 200
#define WAVES 3
#define ROUNDS 200
#define TIES_MAX (4 * THREADS)
#define FILES_MAX 64
/* Not that of other files in these tests. */
#define INODE "/dev/null"

#define EXPECT(condition)                                                 \
	do {                                                              \
		if (!(condition)) {                                       \
			fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
			_exit(1);                                         \
		}                                                         \
	} while (0)

/* --- the device --- */

struct tie {
	pid_t tid;
	const struct fgio_word *word;
};

/* By number of the file: what its last open file has mapped. */
struct map {
	const struct fgio_word *words;
	size_t bytes;
};

static struct {
	pthread_mutex_t lock;
	int open_error;
	int map_error;
	int call_error;
	uint32_t abi;
	int opened;
	unsigned long calls;
	struct map maps[FILES_MAX];
	/* Of files that were closed since, the maps go on. */
	struct map kept[FILES_MAX];
	struct tie ties[TIES_MAX];
	uint32_t tag;
	pid_t waits_for;
} device = { .lock = PTHREAD_MUTEX_INITIALIZER, .abi = FGIO_ABI_VERSION };

static ino_t inode_of(int file)
{
	struct stat status;

	return fstat(file, &status) ? 0 : status.st_ino;
}

static ino_t inode_of_device(void)
{
	struct stat status;

	return stat(INODE, &status) ? 0 : status.st_ino;
}

static void keep_map(struct map *map)
{
	unsigned int i = 0;

	while (device.kept[i].words)
		EXPECT(++i < FILES_MAX);
	device.kept[i] = *map;
	*map = (struct map){ 0 };
}

static int device_open(const char *path, int flags)
{
	int file;

	EXPECT(!strcmp(path, "/dev/fgio") && flags == (O_RDWR | O_CLOEXEC));
	if (device.open_error) {
		errno = device.open_error;
		return -1;
	}
	file = open(INODE, flags);
	EXPECT(file >= 0 && file < FILES_MAX);
	pthread_mutex_lock(&device.lock);
	if (device.maps[file].words)
		keep_map(&device.maps[file]);
	pthread_mutex_unlock(&device.lock);
	__atomic_add_fetch(&device.opened, 1, __ATOMIC_RELAXED);
	return file;
}

static void *device_map(int file, size_t bytes)
{
	void *memory;

	EXPECT(bytes <= FGIO_WORDS_BYTES_MAX && bytes % 4096 == 0);
	if (device.map_error) {
		errno = device.map_error;
		return MAP_FAILED;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(memory != MAP_FAILED && !madvise(memory, bytes, MADV_DONTFORK));
	pthread_mutex_lock(&device.lock);
	device.maps[file] = (struct map){ memory, bytes };
	pthread_mutex_unlock(&device.lock);
	return memory;
}

/* The tie of a thread; with 0, a free one. */
static struct tie *find_tie(pid_t tid)
{
	unsigned int i;

	for (i = 0; i < TIES_MAX; i++)
		if (device.ties[i].tid == tid)
			return &device.ties[i];
	return NULL;
}

/* No two threads have one word. */
static int tie_to(const struct fgio_word *word)
{
	struct tie *tie = find_tie(gettid());
	unsigned int i;

	for (i = 0; i < TIES_MAX; i++)
		EXPECT(!device.ties[i].tid || device.ties[i].tid == gettid() ||
		       device.ties[i].word != word);
	if (!tie)
		tie = find_tie(0);
	*tie = (struct tie){ .tid = gettid(), .word = word };
	return 0;
}

static int set_word(int file, const struct fgio_word_slot *slot)
{
	struct tie *tie = find_tie(gettid());

	if (slot->flags & FGIO_WORD_CLEAR) {
		if (tie)
			tie->tid = 0;
		return 0;
	}
	if (slot->index >= device.maps[file].bytes / sizeof(struct fgio_word))
		return -EINVAL;
	return tie_to(&device.maps[file].words[slot->index]);
}

static bool is_word_of(const struct map *map, uintptr_t address)
{
	uintptr_t first = (uintptr_t)map->words;

	return map->words && address >= first && address < first + map->bytes &&
	       (address - first) % sizeof(struct fgio_word) == 0;
}

static int tie_word(const struct fgio_word_at *at)
{
	unsigned int i;

	for (i = 0; i < FILES_MAX; i++)
		if (is_word_of(&device.maps[i], (uintptr_t)at->address) ||
		    is_word_of(&device.kept[i], (uintptr_t)at->address))
			return tie_to((const struct fgio_word *)(uintptr_t)at->address);
	return -EINVAL;
}

/* Return: 0 or an error number. */
static int answer(int file, unsigned long command, void *argument)
{
	struct fgio_info *info = argument;
	struct fgio_state *state = argument;

	switch (command) {
	case FGIO_IOC_INFO:
		*info = (struct fgio_info){
			.abi = device.abi, .tags = 3, .tags_max = 9, .version = "1.2.3",
		};
		break;
	case FGIO_IOC_STATE:
		*state = (struct fgio_state){ .boosted = 5 };
		break;
	case FGIO_IOC_SET_WORD:
		return set_word(file, argument);
	case FGIO_IOC_TIE_WORD:
		return tie_word(argument);
	case FGIO_IOC_SET_TAG:
		device.tag = ((struct fgio_tag *)argument)->class;
		break;
	case FGIO_IOC_GET_TAG:
		((struct fgio_tag *)argument)->class = device.tag;
		break;
	case FGIO_IOC_WAIT_FOR:
		device.waits_for = ((struct fgio_wait_for *)argument)->tid;
		break;
	default:
		EXPECT(!"a call that the device has");
	}
	return 0;
}

static int device_ioctl(int file, unsigned long command, void *argument)
{
	int error;

	EXPECT(inode_of(file) == inode_of_device());
	pthread_mutex_lock(&device.lock);
	device.calls++;
	error = device.call_error ? device.call_error : -answer(file, command, argument);
	pthread_mutex_unlock(&device.lock);
	errno = error;
	return error ? -1 : 0;
}

/* The kernel's device needs none of this: a child must not find the lock taken. */
static void lock_device(void)
{
	pthread_mutex_lock(&device.lock);
}

static void unlock_device(void)
{
	pthread_mutex_unlock(&device.lock);
}

/* A child has no maps, and its thread no tie. */
static void forget_parents(void)
{
	memset(device.ties, 0, sizeof(device.ties));
	memset(device.maps, 0, sizeof(device.maps));
	memset(device.kept, 0, sizeof(device.kept));
}

static void begin_as_child(void)
{
	forget_parents();
	unlock_device();
}

/* The calling thread's word, as the module sees it; all zero if it has none. */
static struct fgio_word seen(void)
{
	struct fgio_word word = { 0 };
	struct tie *tie;

	pthread_mutex_lock(&device.lock);
	tie = find_tie(gettid());
	if (tie) {
		word.class = __atomic_load_n(&tie->word->class, __ATOMIC_ACQUIRE);
		word.request = __atomic_load_n(&tie->word->request, __ATOMIC_RELAXED);
		word.deadline_ms = __atomic_load_n(&tie->word->deadline_ms, __ATOMIC_RELAXED);
		word.parts = __atomic_load_n(&tie->word->parts, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&device.lock);
	return word;
}

static unsigned int tied_threads(void)
{
	unsigned int count = 0, i;

	pthread_mutex_lock(&device.lock);
	for (i = 0; i < TIES_MAX; i++)
		count += device.ties[i].tid != 0;
	pthread_mutex_unlock(&device.lock);
	return count;
}

/* --- sections --- */

static void sections_nest(void)
{
	EXPECT(!seen().class);
	fgio_foreground_begin();
	EXPECT(seen().class == FGIO_TAG_FOREGROUND && !seen().request);
	fgio_request_begin(77);
	EXPECT(seen().class == FGIO_TAG_FOREGROUND && seen().request == 77);
	fgio_background_begin();
	EXPECT(seen().class == FGIO_TAG_BACKGROUND && !seen().request);
	fgio_background_end();
	EXPECT(seen().class == FGIO_TAG_FOREGROUND && seen().request == 77);
	fgio_request_end();
	EXPECT(seen().class == FGIO_TAG_FOREGROUND && !seen().request);
	fgio_foreground_end();
	EXPECT(!seen().class);
	fgio_foreground_end();
	fgio_background_begin();
	EXPECT(seen().class == FGIO_TAG_BACKGROUND);
	fgio_background_end();
	EXPECT(!seen().class);
}

static void deep_sections_end_as_they_began(void)
{
	unsigned int i;

	fgio_background_begin();
	for (i = 1; i < FGIO_SECTIONS_MAX; i++)
		fgio_foreground_begin();
	for (i = 0; i < 100; i++) {
		fgio_background_begin();
		EXPECT(seen().class == FGIO_TAG_FOREGROUND);
	}
	for (i = 0; i < 100; i++)
		fgio_background_end();
	for (i = 1; i < FGIO_SECTIONS_MAX; i++) {
		EXPECT(seen().class == FGIO_TAG_FOREGROUND);
		fgio_foreground_end();
	}
	EXPECT(seen().class == FGIO_TAG_BACKGROUND);
	fgio_background_end();
	EXPECT(!seen().class);
}

static void sections_make_no_calls(void)
{
	unsigned long calls;
	unsigned int i;

	fgio_foreground_begin();
	calls = device.calls;
	for (i = 0; i < 1000; i++) {
		fgio_request_begin(i);
		fgio_request_end();
	}
	fgio_foreground_end();
	EXPECT(device.calls == calls);
}

/* --- threads --- */

static void *work(void *unused)
{
	unsigned int i;

	(void)unused;
	for (i = 0; i < ROUNDS; i++) {
		fgio_request_begin(i);
		EXPECT(fgio_self->word->class == FGIO_TAG_FOREGROUND);
		EXPECT(fgio_self->word->request == i);
		if (i % 50 == 0) {
			EXPECT(seen().class == FGIO_TAG_FOREGROUND);
			EXPECT(seen().request == i);
			sched_yield();
		}
		/* The last one ends inside its section. */
		if (i + 1 < ROUNDS)
			fgio_request_end();
	}
	return NULL;
}

static void run_wave(void)
{
	pthread_t threads[THREADS];
	unsigned int i;

	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, work, NULL));
	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_join(threads[i], NULL));
}

static void threads_give_their_words_back(void)
{
	unsigned int wave;

	for (wave = 0; wave < WAVES; wave++) {
		run_wave();
		EXPECT(tied_threads() == 0);
		/* Areas of 64, 128 and 256 threads, and the file for calls. */
		EXPECT(device.opened <= 4);
	}
}

static void *begin_nothing(void *unused)
{
	return unused;
}

static void threads_without_sections_cost_nothing(void)
{
	pthread_t thread;

	EXPECT(!pthread_create(&thread, NULL, begin_nothing, NULL));
	EXPECT(!pthread_join(thread, NULL));
	EXPECT(!device.opened && !device.calls);
}

/* --- fork --- */

static void expect_good_child(pid_t child)
{
	int status;

	EXPECT(child > 0 && waitpid(child, &status, 0) == child);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void act_as_child(void)
{
	struct fgio_status status;

	forget_parents();
	fgio_foreground_end();
	fgio_wait_done();
	EXPECT(!fgio_status(&status) && !status.sections && !status.class_);
	fgio_background_begin();
	EXPECT(seen().class == FGIO_TAG_BACKGROUND);
	run_wave();
	_exit(0);
}

static void fork_with(pid_t (*fork_like)(void))
{
	pid_t child;

	fgio_foreground_begin();
	fgio_request_begin(5);
	EXPECT(!fgio_wait_for(getppid()));
	child = fork_like();
	if (!child)
		act_as_child();
	expect_good_child(child);
	EXPECT(seen().class == FGIO_TAG_FOREGROUND && seen().request == 5);
	fgio_request_end();
	fgio_foreground_end();
	EXPECT(!seen().class && !fgio_self->depth);
}

static void child_of_fork_begins_anew(void)
{
	fork_with(fork);
}

/* No handler runs here. */
static void child_without_handlers_begins_anew(void)
{
	fork_with(_Fork);
}

static void *fork_in_a_loop(void *unused)
{
	unsigned int i;
	pid_t child;

	(void)unused;
	for (i = 0; i < 20; i++) {
		fgio_foreground_begin();
		child = fork();
		if (!child) {
			fgio_foreground_begin();
			_exit(fgio_self->depth != 1);
		}
		expect_good_child(child);
		fgio_foreground_end();
	}
	return NULL;
}

/* Threads begin and end meanwhile: no child may find the lock taken. */
static void forks_while_threads_come_and_go(void)
{
	pthread_t forking;

	EXPECT(!pthread_create(&forking, NULL, fork_in_a_loop, NULL));
	run_wave();
	EXPECT(!pthread_join(forking, NULL));
}

/* --- what may be missing --- */

static void *expect_a_word(void *unused)
{
	fgio_foreground_begin();
	EXPECT(seen().class == FGIO_TAG_FOREGROUND);
	fgio_foreground_end();
	return unused;
}

static void module_absent_then_there(void)
{
	struct fgio_status status;
	pthread_t thread;

	device.open_error = ENOENT;
	EXPECT(fgio_init() == -ENOENT && !fgio_available());
	sections_make_no_calls();
	EXPECT(!device.calls);
	EXPECT(!fgio_wait_for(1));
	fgio_wait_done();
	fgio_request_begin(1);
	EXPECT(!fgio_status(&status) && !status.available && status.sections == 1);
	EXPECT(status.class_ == FGIO_CLASS_FOREGROUND && !status.without_calls);
	device.open_error = 0;
	EXPECT(!pthread_create(&thread, NULL, expect_a_word, NULL));
	EXPECT(!pthread_join(thread, NULL));
	EXPECT(fgio_available());
	fgio_request_end();
}

static void another_version_is_refused(void)
{
	device.abi = FGIO_ABI_VERSION + 1;
	EXPECT(fgio_init() == -EPROTO && !fgio_available());
	fgio_foreground_begin();
	EXPECT(!tied_threads());
	fgio_foreground_end();
}

/* ENODEV: a module without words. ENOMEM: RLIMIT_MEMLOCK. */
static void without_words_threads_are_tagged(void)
{
	struct fgio_status status;

	device.map_error = ENODEV;
	device.tag = FGIO_TAG_BACKGROUND;
	fgio_foreground_begin();
	EXPECT(device.tag == FGIO_TAG_FOREGROUND);
	EXPECT(!fgio_status(&status) && status.available && !status.without_calls);
	fgio_background_begin();
	EXPECT(device.tag == FGIO_TAG_BACKGROUND);
	fgio_background_end();
	EXPECT(device.tag == FGIO_TAG_FOREGROUND);
	fgio_foreground_end();
	/* The tag that it had before, which another process may have set. */
	EXPECT(device.tag == FGIO_TAG_BACKGROUND);
}

static void *begin_in_vain(void *unused)
{
	fgio_foreground_begin();
	EXPECT(fgio_self->depth == 1 && !seen().class);
	fgio_foreground_end();
	return unused;
}

static void device_fails_every_call(void)
{
	pthread_t thread;

	fgio_foreground_begin();
	device.call_error = ENODEV;
	EXPECT(fgio_wait_for(1) == -ENODEV);
	EXPECT(!pthread_create(&thread, NULL, begin_in_vain, NULL));
	EXPECT(!pthread_join(thread, NULL));
	fgio_foreground_end();
	EXPECT(!seen().class);
	device.call_error = 0;
}

/* As daemons do. The numbers are then used for other files. */
static void program_closes_all_files(void)
{
	pthread_t thread;
	int zero, i;

	fgio_foreground_begin();
	zero = open("/dev/zero", O_RDWR);
	EXPECT(zero > 2);
	for (i = 3; i < FILES_MAX; i++)
		if (i != zero)
			dup2(zero, i);
	EXPECT(seen().class == FGIO_TAG_FOREGROUND);
	for (i = FILES_MAX / 2; i < FILES_MAX; i++)
		close(i);
	EXPECT(!pthread_create(&thread, NULL, expect_a_word, NULL));
	EXPECT(!pthread_join(thread, NULL));
	EXPECT(!fgio_wait_for(1) && device.waits_for == 1);
	if (!fork()) {
		/* Files that are not ours stayed open. */
		for (i = 3; i < FILES_MAX / 2; i++)
			EXPECT(inode_of(i) == inode_of(zero));
		_exit(0);
	}
	EXPECT(wait(&i) > 0 && !i);
	fgio_foreground_end();
	EXPECT(!seen().class);
}

/* Runs in a thread until it is told to go on. */
struct actor {
	pthread_t thread;
	pthread_barrier_t step;
};

static void *act_twice(void *data)
{
	struct actor *actor = data;

	fgio_foreground_begin();
	EXPECT(seen().class == FGIO_TAG_FOREGROUND);
	fgio_foreground_end();
	pthread_barrier_wait(&actor->step);
	pthread_barrier_wait(&actor->step);
	EXPECT(!seen().class);
	fgio_foreground_begin();
	EXPECT(seen().class == FGIO_TAG_FOREGROUND);
	fgio_foreground_end();
	EXPECT(!seen().class);
	return NULL;
}

static void begin_actor(struct actor *actor)
{
	EXPECT(!pthread_barrier_init(&actor->step, NULL, 2));
	EXPECT(!pthread_create(&actor->thread, NULL, act_twice, actor));
	pthread_barrier_wait(&actor->step);
}

static void end_actor(struct actor *actor)
{
	pthread_barrier_wait(&actor->step);
	EXPECT(!pthread_join(actor->thread, NULL));
}

/*
 * The library opens the device again, by the numbers of files that are closed: those
 * threads that have words of the old ones end, and their words go to others.
 */
static void numbers_of_closed_files_come_again(void)
{
	struct actor before, after, last;

	begin_actor(&before);
	closefrom(3);
	begin_actor(&after);
	end_actor(&before);
	begin_actor(&last);
	end_actor(&after);
	end_actor(&last);
	EXPECT(!tied_threads());
}

static void *tie_to_word_of_another(void *word)
{
	tie_to(word);
	return NULL;
}

/* The control of all these: the device sees when two threads have one word. */
static void two_threads_with_one_word_are_seen(void)
{
	static struct fgio_word word;
	pthread_t thread;
	int status;

	fflush(NULL);
	if (!fork()) {
		fclose(stderr);
		tie_to(&word);
		pthread_create(&thread, NULL, tie_to_word_of_another, &word);
		pthread_join(thread, NULL);
		_exit(0);
	}
	EXPECT(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* --- the rest --- */

static void hints(void)
{
	unsigned long calls;

	EXPECT(fgio_wait_for(0) == -EINVAL && fgio_wait_for(-5) == -EINVAL);
	EXPECT(!fgio_wait_for(4711) && device.waits_for == 4711);
	fgio_wait_done();
	EXPECT(!device.waits_for);
	calls = device.calls;
	fgio_wait_done();
	EXPECT(device.calls == calls);
}

static void status_tells_all(void)
{
	struct fgio_status status;

	fgio_request_begin(3);
	fgio_background_begin();
	memset(&status, 0xff, sizeof(status));
	EXPECT(!fgio_status(&status));
	EXPECT(status.available == 1 && status.without_calls == 1 && status.sections == 2);
	EXPECT(status.class_ == FGIO_CLASS_BACKGROUND && status.boosted == 5);
	EXPECT(status.threads == 3 && status.threads_max == 9);
	EXPECT(!strcmp(status.version, "1.2.3") && !status.reserved[0]);
	fgio_background_end();
	fgio_request_end();
	device.call_error = EIO;
	EXPECT(fgio_status(&status) == -EIO && !status.available);
}

static void errno_is_left_alone(void)
{
	device.open_error = EACCES;
	errno = 4711;
	fgio_foreground_begin();
	fgio_foreground_end();
	fgio_wait_for(1);
	fgio_request_new();
	fgio_request_seen(1);
	EXPECT(errno == 4711);
}

/* --- requests --- */

static uint64_t clock_ms;

static uint64_t read_clock(void)
{
	return __atomic_load_n(&clock_ms, __ATOMIC_RELAXED);
}

static void set_clock(uint64_t ms)
{
	fgio_now_ms = read_clock;
	__atomic_store_n(&clock_ms, ms, __ATOMIC_RELAXED);
}

static uint64_t ms_of(uint64_t id)
{
	return id >> FGIO_REQUEST_MS_SHIFT;
}

/* An id that another host made. */
static uint64_t id_at(uint64_t ms)
{
	return ms << FGIO_REQUEST_MS_SHIFT | 7;
}

/* splitmix64 */
static uint64_t random_of(uint64_t *state)
{
	uint64_t value = (*state += 0x9e3779b97f4a7c15ULL);

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
	return value ^ (value >> 31);
}

/* Printed, so that SEED=... repeats the run. */
static uint64_t fresh_seed(void)
{
	const char *chosen = getenv("SEED");
	uint64_t seed = chosen ? strtoull(chosen, NULL, 0) :
				 (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);

	printf("    SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

static void sections_carry_all_of_a_request(void)
{
	struct fgio_user_request request = { .id = 5, .deadline_ms = 250, .parts = 4 };

	fgio_request_begin_as(&request);
	request.id = 6;
	EXPECT(seen().request == 5 && seen().deadline_ms == 250 && seen().parts == 4);
	fgio_request_begin(9);
	EXPECT(seen().request == 9 && !seen().deadline_ms && !seen().parts);
	fgio_foreground_begin();
	EXPECT(!seen().request && !seen().deadline_ms);
	fgio_foreground_end();
	fgio_request_end();
	EXPECT(seen().class == FGIO_TAG_FOREGROUND && seen().request == 5);
	EXPECT(seen().deadline_ms == 250 && seen().parts == 4);
	fgio_request_end();
	EXPECT(!seen().class && !seen().request && !seen().deadline_ms && !seen().parts);
}

static void ids_follow_the_clock(void)
{
	uint64_t first, last, id;
	unsigned int i;

	set_clock(5000);
	EXPECT(!fgio_request_origin(11) && fgio_request_origin(4096) == -EINVAL);
	first = last = fgio_request_new();
	EXPECT(ms_of(first) == 5000 && first % FGIO_REQUEST_ORIGINS == 11);
	/* More than the counter holds: it carries into the time. */
	for (i = 0; i < 10000; i++, last = id) {
		id = fgio_request_new();
		EXPECT(fgio_request_is_before(last, id) && id % FGIO_REQUEST_ORIGINS == 11);
	}
	EXPECT(ms_of(last) == 5002);
	/* Set back by little: ids go on. */
	set_clock(4500);
	id = fgio_request_new();
	EXPECT(fgio_request_is_before(last, id) && ms_of(id) == 5002);
	/* Set back by an hour: they follow, or others would not believe them. */
	set_clock(4000000);
	EXPECT(ms_of(fgio_request_new()) == 4000000);
	set_clock(400000);
	EXPECT(ms_of(fgio_request_new()) == 400000);
}

static void ids_wrap(void)
{
	uint64_t last, id;
	unsigned int i;

	set_clock((1ULL << 40) - 1);
	last = fgio_request_new();
	EXPECT(ms_of(last) == (1ULL << 40) - 1);
	for (i = 0; i < 5000; i++, last = id) {
		id = fgio_request_new();
		EXPECT(id && fgio_request_is_before(last, id));
		EXPECT(!fgio_request_is_before(id, last));
	}
	EXPECT(!ms_of(last));
	set_clock(1ULL << 40);
	id = fgio_request_new();
	EXPECT(fgio_request_is_before(last, id));
	/* At time 0 with the counter at 0 there is no id. */
	fgio_request_origin(0);
	set_clock((1ULL << 40) + 4000000);
	EXPECT(fgio_request_new());
	set_clock(1ULL << 40);
	EXPECT(fgio_request_new());
}

static void ids_of_others_move_the_clock(void)
{
	set_clock(10000000);
	fgio_request_seen(id_at(10000900));
	EXPECT(fgio_request_is_before(id_at(10000900), fgio_request_new()));
	/* Too far ahead, behind, none, and beyond half of the range. */
	set_clock(20000000);
	fgio_request_seen(id_at(20001100));
	fgio_request_seen(id_at(19999000));
	fgio_request_seen(0);
	fgio_request_seen(id_at(20000000 + (1ULL << 39)));
	fgio_request_seen(id_at(20000000 + (1ULL << 39) + 1));
	fgio_request_seen(~0ULL);
	EXPECT(ms_of(fgio_request_new()) == 20000000);
}

static void first_id_follows_what_was_seen(void)
{
	set_clock(10000000);
	fgio_request_seen(id_at(10000500));
	EXPECT(fgio_request_is_before(id_at(10000500), fgio_request_new()));
}

#define IDS 20000

static void *make_ids(void *data)
{
	uint64_t *ids = data;
	unsigned int i;

	for (i = 0; i < IDS; i++)
		ids[i] = fgio_request_new();
	return NULL;
}

static int compare_ids(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a == b ? 0 : fgio_request_is_before(a, b) ? -1 : 1;
}

static void threads_never_make_the_same_id(void)
{
	static uint64_t ids[4][IDS];
	pthread_t threads[4];
	unsigned int i, j;

	for (i = 0; i < 4; i++)
		EXPECT(!pthread_create(&threads[i], NULL, make_ids, ids[i]));
	for (i = 0; i < 4; i++)
		EXPECT(!pthread_join(threads[i], NULL));
	for (i = 0; i < 4; i++)
		for (j = 1; j < IDS; j++)
			EXPECT(fgio_request_is_before(ids[i][j - 1], ids[i][j]));
	qsort(ids, 4 * IDS, sizeof(ids[0][0]), compare_ids);
	for (i = 1; i < 4 * IDS; i++)
		EXPECT((&ids[0][0])[i - 1] != (&ids[0][0])[i]);
}

static void children_have_origins_of_their_own(void)
{
	uint64_t origins = 0, id = fgio_request_new();
	unsigned int i;
	int pipes[2], status;
	pid_t child;

	EXPECT(!fgio_request_origin(1) && fgio_request_new() % FGIO_REQUEST_ORIGINS == 1);
	EXPECT(!pipe(pipes));
	/* By chance one has its parent's; that eight have, has 2^-96. */
	for (i = 0; i < 8; i++) {
		child = fork();
		if (!child) {
			id = fgio_request_new();
			_exit(write(pipes[1], &id, sizeof(id)) != sizeof(id));
		}
		EXPECT(waitpid(child, &status, 0) == child && !status);
		EXPECT(read(pipes[0], &id, sizeof(id)) == sizeof(id));
		origins += id % FGIO_REQUEST_ORIGINS != 1;
	}
	EXPECT(origins);
	EXPECT(fgio_request_new() % FGIO_REQUEST_ORIGINS == 1);
}

static void requests_become_text_and_come_back(void)
{
	uint64_t seed = fresh_seed();
	char text[FGIO_REQUEST_TEXT_BYTES + 64], mark[FGIO_REQUEST_TEXT_BYTES];
	struct fgio_user_request request, found;
	unsigned int i;
	int length;

	for (i = 0; i < 20000; i++) {
		request = (struct fgio_user_request){
			.id = random_of(&seed) >> random_of(&seed) % 64 | 1,
			.deadline_ms = (uint32_t)(random_of(&seed) >> random_of(&seed) % 64),
			.parts = (uint32_t)(random_of(&seed) >> random_of(&seed) % 64),
		};
		length = fgio_request_format(&request, mark, sizeof(mark));
		EXPECT(length > 0 && (size_t)length == strlen(mark));
		EXPECT(fgio_request_format(&request, text, (size_t)length) == -ENOSPC);
		if (i % 2)
			mark[4] = '=';
		snprintf(text, sizeof(text), i % 3 ? "SELECT 1 WHERE v <> '%s'" : "a=b,%s,c=d", mark);
		found = (struct fgio_user_request){ 0 };
		EXPECT(!fgio_request_parse(text, &found));
		EXPECT(found.id == request.id && found.deadline_ms == request.deadline_ms &&
		       found.parts == request.parts);
	}
	request = (struct fgio_user_request){ .id = ~0ULL, .deadline_ms = ~0U, .parts = ~0U };
	EXPECT(fgio_request_format(&request, mark, sizeof(mark)) > 0);
	request.id = 0;
	EXPECT(fgio_request_format(&request, mark, sizeof(mark)) == -EINVAL);
}

static void other_text_is_no_request(void)
{
	static const char *const none[] = {
		"", "fgio", "fgio:", "fgio:12", "fgio:0000000000000000", "xfgio:0000000000000001",
		"fgio:0000000000000001f", "fgio:0000000000000001-", "fgio:0000000000000001-x",
		"fgio:0000000000000001-1-", "fgio:0000000000000001-1-2-3",
		"fgio:0000000000000001-4294967296", "fgio:000000000000000g", "FGIO:0000000000000001",
		"fgio 0000000000000001", "fgio:-000000000000001", "fgio:0000000000000001-1x",
		"fgio:0000000000000001-99999999999999999999999999999999999999999999",
		"fgio%3B0000000000000001", "fgio%3", "fgio%", "C%3fgio:0000000000000001",
		"%2Cxfgio%3D0000000000000001", "fgio%3D", "fgio%253D0000000000000001",
		NULL,
	};
	static const char letters[] = "fgio:=%-0123456789abcdef ,'x";
	struct fgio_user_request found = { .id = 3 };
	uint64_t seed = fresh_seed();
	unsigned int i, j;
	char text[96];

	for (i = 0; none[i]; i++)
		EXPECT(fgio_request_parse(none[i], &found) == -ENOENT && found.id == 3);
	EXPECT(!fgio_request_parse("fgio:12 fgio=00000000000000Ff-8", &found));
	EXPECT(found.id == 255 && found.deadline_ms == 8 && !found.parts);
	/* As sqlcommenter writes a tracestate. */
	EXPECT(!fgio_request_parse("/*tracestate='a%3Db%2Cfgio%3d0000000000000012-7'*/", &found));
	EXPECT(found.id == 0x12 && found.deadline_ms == 7);
	EXPECT(!fgio_request_parse("%2cfgio%3A0000000000000013", &found) && found.id == 0x13);
	/* What is found in any text can be written, and found again. */
	for (i = 0; i < 100000; i++) {
		char mark[FGIO_REQUEST_TEXT_BYTES];
		struct fgio_user_request again;

		for (j = 0; j + 1 < sizeof(text); j++)
			text[j] = letters[random_of(&seed) % (sizeof(letters) - 1)];
		if (i % 2)
			memcpy(text + random_of(&seed) % 40, "fgio:0000000000000001", 21);
		text[random_of(&seed) % sizeof(text)] = 0;
		text[sizeof(text) - 1] = 0;
		if (fgio_request_parse(text, &found))
			continue;
		EXPECT(fgio_request_format(&found, mark, sizeof(mark)) > 0);
		EXPECT(!fgio_request_parse(mark, &again) && again.id == found.id);
	}
}

/* --- running them --- */

static void run_in_child(void **state)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		fgio_calls = (struct fgio_calls){ device_open, device_ioctl, device_map };
		EXPECT(!pthread_atfork(lock_device, unlock_device, begin_as_child));
		((void (*)(void))*state)();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define TEST(function) { #function, run_in_child, NULL, NULL, (void *)(function) }

/* [NAME]: one test, or those that a pattern with * and ? names. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(sections_nest),
		TEST(deep_sections_end_as_they_began),
		TEST(sections_make_no_calls),
		TEST(threads_give_their_words_back),
		TEST(threads_without_sections_cost_nothing),
		TEST(child_of_fork_begins_anew),
		TEST(child_without_handlers_begins_anew),
		TEST(forks_while_threads_come_and_go),
		TEST(module_absent_then_there),
		TEST(another_version_is_refused),
		TEST(without_words_threads_are_tagged),
		TEST(device_fails_every_call),
		TEST(program_closes_all_files),
		TEST(numbers_of_closed_files_come_again),
		TEST(two_threads_with_one_word_are_seen),
		TEST(hints),
		TEST(status_tells_all),
		TEST(errno_is_left_alone),
		TEST(sections_carry_all_of_a_request),
		TEST(ids_follow_the_clock),
		TEST(ids_wrap),
		TEST(ids_of_others_move_the_clock),
		TEST(first_id_follows_what_was_seen),
		TEST(threads_never_make_the_same_id),
		TEST(children_have_origins_of_their_own),
		TEST(requests_become_text_and_come_back),
		TEST(other_text_is_no_request),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
