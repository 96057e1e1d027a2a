// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A thread's state, made when it begins its first section and given back when
 * it ends: by a destructor of thread-specific data.
 *
 * States are allocated in areas, each with as many thread flags in a map of the
 * device, if there is one. Areas are freed in a child of fork() alone, where
 * the maps of the flags are not there, and the states are zero.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define AREA_THREADS_MIN 64
#define AREA_THREADS_MAX (FGIO_WORDS_BYTES_MAX / sizeof(struct fgio_word))

/**
 * struct area - states of threads, and their flags
 * @next: the area that was made before it
 * @words: flags shared with the module, or NULL; the map keeps its file open
 * @threads: a state for each flag
 * @count: their number
 */
struct area {
	struct area *next;
	struct fgio_word *words;
	struct thread *threads;
	size_t count;
};

_Thread_local struct thread *fgio_self;

/* Protects what follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct area *areas;
/* Free states: with a shared flag, and without. */
static struct thread *free_with_word, *free_without;
/* In memory that is zero in a child, however it was made; 1 once it is set up. */
static uint32_t *here;
static pthread_key_t key;
static bool has_key;

static void *map_wiped_on_fork(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	/* Before Linux 4.14, the handler of fork() clears it. */
	madvise(memory, bytes, MADV_WIPEONFORK);
	return memory;
}

/* --- areas --- */

static void map_words(struct area *area)
{
	int number = fgio_device_open();
	void *words;

	if (number < 0)
		return;
	words = fgio_calls.map(number, area->count * sizeof(*area->words));
	close(number);
	if (words != MAP_FAILED)
		area->words = words;
}

/* Twice the last one's: a process of one thread needs few. */
static size_t size_of_next_area(bool with_words)
{
	const struct area *area;

	for (area = areas; area; area = area->next)
		if (!area->words == !with_words)
			return area->count < AREA_THREADS_MAX ? 2 * area->count :
								AREA_THREADS_MAX;
	return AREA_THREADS_MIN;
}

static void offer(struct thread *thread)
{
	struct thread **list = thread->area->words ? &free_with_word : &free_without;

	thread->next = *list;
	*list = thread;
}

/* Adds an area's states to the free lists, if there is memory. */
static void add_area(bool with_words)
{
	struct area *area = calloc(1, sizeof(*area));
	size_t index;

	if (!area)
		return;
	area->count = size_of_next_area(with_words);
	if (with_words)
		map_words(area);
	if (!with_words || area->words)
		area->threads = map_wiped_on_fork(area->count * sizeof(*area->threads));
	if (!area->threads) {
		if (area->words)
			munmap(area->words, area->count * sizeof(*area->words));
		free(area);
		return;
	}
	for (index = area->count; index-- > 0;) {
		area->threads[index].area = area;
		offer(&area->threads[index]);
	}
	area->next = areas;
	areas = area;
}

static struct thread *take(bool with_word)
{
	struct thread **list = with_word ? &free_with_word : &free_without;
	struct thread *thread;

	if (!*list)
		add_area(with_word);
	thread = *list;
	if (thread)
		*list = thread->next;
	return thread;
}

/* --- fork --- */

/*
 * The parent's memory is gone, but for the pointers to it. The maps of flags are
 * not unmapped: another map may be at their addresses by now.
 */
static void forget_parent(void)
{
	struct area *area, *next;

	fgio_self = NULL;
	if (has_key)
		pthread_setspecific(key, NULL);
	for (area = areas; area; area = next) {
		next = area->next;
		munmap(area->threads, area->count * sizeof(*area->threads));
		free(area);
	}
	areas = NULL;
	free_with_word = NULL;
	free_without = NULL;
	fgio_device_forget();
	if (here)
		*here = 1;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	forget_parent();
	pthread_mutex_unlock(&lock);
}

/* --- threads --- */

/*
 * By the flag's address, since file descriptors are not reliable: a program may
 * close one that it did not open. Any open file of the device will do.
 */
static int tie(const struct thread *thread)
{
	struct fgio_word_at at = { .address = (uintptr_t)thread->word };
	int number = fgio_device();

	return number < 0 ? number : fgio_device_call(number, FGIO_IOC_TIE_WORD, &at);
}

static int untie(void)
{
	struct fgio_word_slot slot = { .flags = FGIO_WORD_CLEAR };
	int number = fgio_device();

	return number < 0 ? number : fgio_device_call(number, FGIO_IOC_SET_WORD, &slot);
}

/* A thread ends, perhaps inside a section. */
static void give_back(void *ended)
{
	struct thread *thread = ended;
	int saved = errno;

	fgio_self = NULL;
	/* It never began a section in this child. */
	if (!thread->word)
		return;
	__atomic_store_n(&thread->word->class, FGIO_TAG_NONE, __ATOMIC_RELEASE);
	thread->word->request = 0;
	pthread_mutex_lock(&lock);
	/* Untie it before another thread gets it; if that fails, none does. */
	if (!thread->area->words || !untie())
		offer(thread);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* Runs under the lock. */
static bool is_prepared(void)
{
	if (here && *here)
		return has_key;
	if (here)
		forget_parent();
	else
		here = map_wiped_on_fork(sizeof(*here));
	if (!here)
		return false;
	*here = 1;
	if (!has_key)
		has_key = !pthread_key_create(&key, give_back) &&
			  !pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	return has_key;
}

static struct thread *take_with_word(void)
{
	struct thread *thread = take(true);

	if (!thread)
		return NULL;
	thread->word = &thread->area->words[thread - thread->area->threads];
	if (!tie(thread))
		return thread;
	thread->word = NULL;
	offer(thread);
	return NULL;
}

static struct thread *take_without_word(bool available)
{
	struct thread *thread = take(false);

	if (!thread)
		return NULL;
	thread->word = &thread->own;
	thread->tags = available;
	thread->tag = available ? fgio_device_tag_now() : FGIO_TAG_NONE;
	return thread;
}

static struct thread *take_thread(void)
{
	/* The module may have come since a thread began its first section. */
	bool available = !fgio_init();
	struct thread *thread = NULL;

	if (available)
		thread = take_with_word();
	return thread ? thread : take_without_word(available);
}

struct thread *fgio_thread_set_up(void)
{
	struct thread *thread = NULL;
	int saved = errno;

	pthread_mutex_lock(&lock);
	if (is_prepared())
		thread = take_thread();
	if (thread) {
		thread->depth = 0;
		thread->hinted = false;
	}
	pthread_mutex_unlock(&lock);
	if (thread && pthread_setspecific(key, thread)) {
		give_back(thread);
		thread = NULL;
	}
	fgio_self = thread;
	errno = saved;
	return thread;
}
