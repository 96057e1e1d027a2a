// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * libfgio with the module, case by case: sections CASE [ARGUMENT...]
 * Exit status 0 when all is as libfgio(3) says; else the first difference is
 * printed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "device_calls.h"
#include "lib/include/fgio.h"

#define PAGE 4096
#define THREADS 300

static void read_some(const char *path)
{
	int file = open(path, O_RDONLY | O_DIRECT), i;
	char *buffer = aligned_alloc(PAGE, PAGE);

	CHECK(path, file >= 0);
	for (i = 0; i < 32; i++)
		CHECK("read", pread(file, buffer, PAGE, (off_t)i * 8 * PAGE) == PAGE);
	free(buffer);
	close(file);
}

/* inside|outside|after|nested|background|ended|forked DEVICE */
static void case_read(char **arguments)
{
	const char *how = arguments[0];
	pid_t child, ended;
	int status;

	if (!strcmp(how, "outside")) {
		read_some(arguments[1]);
		return;
	}
	fgio_foreground_begin();
	if (!strcmp(how, "nested")) {
		fgio_background_begin();
		fgio_request_begin(1);
	} else if (!strcmp(how, "background")) {
		fgio_background_begin();
	} else if (!strcmp(how, "ended")) {
		fgio_background_begin();
		fgio_background_end();
	} else if (!strcmp(how, "after")) {
		fgio_foreground_end();
	} else if (!strcmp(how, "forked")) {
		child = fork();
		if (child) {
			/* Not asleep in a wait for it, which would make its reads critical. */
			while (!(ended = waitpid(child, &status, WNOHANG)))
				usleep(1000);
			CHECK("child", ended == child && !status);
			return;
		}
	}
	read_some(arguments[1]);
}

static void case_status(char **arguments)
{
	struct fgio_status status;
	struct fgio_info now = info();

	CHECK("available", fgio_available() && !fgio_init());
	fgio_background_begin();
	CHECK("status", !fgio_status(&status));
	CHECK("words", status.without_calls && status.sections == 1);
	CHECK("class", status.class_ == FGIO_CLASS_BACKGROUND);
	CHECK("one more", status.threads == now.tags + 1 && status.threads_max == now.tags_max);
	CHECK("version", !strcmp(status.version, arguments[0]));
	CHECK("the module agrees", get_tag(0) == FGIO_TAG_BACKGROUND);
	fgio_background_end();
	CHECK("the module agrees", get_tag(0) == FGIO_TAG_NONE);
}

static void *section_of_thread(void *barrier)
{
	fgio_foreground_begin();
	CHECK("class", get_tag(0) == FGIO_TAG_FOREGROUND);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return NULL;
}

/* More threads at once than an area has flags; they end inside their sections. */
static void case_threads(char **arguments)
{
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	int wave, i;

	(void)arguments;
	for (wave = 0; wave < 3; wave++) {
		pthread_barrier_init(&barrier, NULL, THREADS + 1);
		for (i = 0; i < THREADS; i++)
			CHECK("thread", !pthread_create(&threads[i], NULL, section_of_thread,
							&barrier));
		pthread_barrier_wait(&barrier);
		CHECK("all of them", info().tags == THREADS);
		pthread_barrier_wait(&barrier);
		for (i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		wait_for_tags(0);
	}
}

static void case_fork(char **arguments)
{
	pid_t child;
	int status;

	(void)arguments;
	fgio_request_begin(1);
	child = fork();
	if (!child) {
		CHECK("none", get_tag(0) == FGIO_TAG_NONE);
		fgio_foreground_begin();
		CHECK("its own", get_tag(0) == FGIO_TAG_FOREGROUND && info().tags == 2);
		fgio_foreground_end();
		CHECK("the parent's", get_tag(getppid()) == FGIO_TAG_FOREGROUND);
		_exit(0);
	}
	CHECK("wait", waitpid(child, &status, 0) == child && !status);
	CHECK("kept", get_tag(0) == FGIO_TAG_FOREGROUND);
	fgio_request_end();
	wait_for_tags(1);
}

static void *pausing_thread(void *tid)
{
	__atomic_store_n((pid_t *)tid, gettid(), __ATOMIC_RELEASE);
	pause();
	return NULL;
}

static void case_hints(char **arguments)
{
	pthread_t thread;
	pid_t tid = 0;

	(void)arguments;
	CHECK("thread", !pthread_create(&thread, NULL, pausing_thread, &tid));
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	fgio_foreground_begin();
	CHECK("hint", !fgio_wait_for(tid));
	fgio_wait_done();
	CHECK("self", fgio_wait_for(gettid()) == -EINVAL);
	CHECK("no such thread", fgio_wait_for(0x3fffffff) == -ESRCH);
	fgio_foreground_end();
}

/* Without RLIMIT_MEMLOCK, a user's threads are tagged instead. */
static void case_any_user(char **arguments)
{
	struct rlimit none = { 0, 0 };
	struct fgio_status status;

	CHECK("limit", arguments[0][0] == 'w' || !setrlimit(RLIMIT_MEMLOCK, &none));
	become(FIRST_USER);
	fgio_foreground_begin();
	CHECK("status", !fgio_status(&status));
	CHECK("words or not", status.without_calls == (arguments[0][0] == 'w'));
	CHECK("foreground", get_tag(0) == FGIO_TAG_FOREGROUND);
	fgio_background_begin();
	CHECK("background", get_tag(0) == FGIO_TAG_BACKGROUND);
	fgio_background_end();
	CHECK("foreground", get_tag(0) == FGIO_TAG_FOREGROUND);
	fgio_foreground_end();
	CHECK("none", get_tag(0) == FGIO_TAG_NONE);
}

static const struct device_case cases[] = {
	{ "read", case_read, 2 },
	{ "status", case_status, 1 },
	{ "threads", case_threads, 0 },
	{ "fork", case_fork, 0 },
	{ "hints", case_hints, 0 },
	{ "any_user", case_any_user, 1 },
};

int main(int argc, char **argv)
{
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	CHECK(FGIO_DEVICE_PATH, device >= 0);
	return RUN_CASE(cases, argc, argv);
}
