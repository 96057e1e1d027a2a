// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A file server, after the published description of Filebench's personality of that name: each
 * thread creates a file and writes it whole, opens one and appends to it, opens one and reads it
 * whole, deletes one, and asks for the attributes of one.
 *
 *	fileserver FOLDER FILES THREADS SEED WARM_S SECONDS DIRECT
 *
 * Prints bytes read, bytes written and operations of the seconds after the first WARM_S. Files have
 * 128 KiB in the mean (32 to 224), appends 16 KiB. With DIRECT, past the page cache.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KIB 1024
#define FILE_LEAST (32 * KIB)
#define FILE_STEPS 49
#define FILE_STEP (4 * KIB)
#define APPEND (16 * KIB)
#define CHUNK (256 * KIB)
/* Files do not grow for ever: one is written anew when it is larger. */
#define FILE_MOST (512 * KIB)

static const char *folder;
static unsigned int files, direct;
static uint64_t seed;
static _Atomic int is_measuring, is_over;
static _Atomic uint64_t bytes_read, bytes_written, operations;

static uint64_t next_random(uint64_t *state)
{
	uint64_t value = (*state += 0x9e3779b97f4a7c15ULL);

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
	return value ^ (value >> 31);
}

static int open_file(uint64_t *random, int flags)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%u", folder,
		 (unsigned int)(next_random(random) % files));
	return open(path, flags | (direct ? O_DIRECT : 0), 0600);
}

static void count(_Atomic uint64_t *bytes, ssize_t moved)
{
	if (moved > 0 && is_measuring)
		*bytes += (uint64_t)moved;
}

static void write_to(int file, char *buffer, size_t length, off_t at)
{
	ssize_t written = pwrite(file, buffer, length, at);

	if (written < 0)
		err(1, "write");
	count(&bytes_written, written);
}

static void write_whole(uint64_t *random, char *buffer)
{
	size_t length = FILE_LEAST + next_random(random) % FILE_STEPS * FILE_STEP;
	int file = open_file(random, O_WRONLY | O_CREAT | O_TRUNC);

	if (file < 0)
		err(1, "create");
	write_to(file, buffer, length, 0);
	close(file);
}

static void append(uint64_t *random, char *buffer)
{
	int file = open_file(random, O_WRONLY);
	struct stat stat;

	if (file < 0)
		return;
	if (fstat(file, &stat))
		err(1, "stat");
	if (stat.st_size > FILE_MOST && ftruncate(file, 0))
		err(1, "truncate");
	write_to(file, buffer, APPEND, stat.st_size > FILE_MOST ? 0 : stat.st_size);
	close(file);
}

static void read_whole(uint64_t *random, char *buffer)
{
	int file = open_file(random, O_RDONLY);
	off_t at = 0;
	ssize_t moved;

	if (file < 0)
		return;
	while ((moved = pread(file, buffer, CHUNK, at)) > 0) {
		count(&bytes_read, moved);
		at += moved;
	}
	if (moved < 0)
		err(1, "read");
	close(file);
}

static void delete_or_ask(uint64_t *random)
{
	struct stat stat_of;
	char path[256];

	snprintf(path, sizeof(path), "%s/%u", folder,
		 (unsigned int)(next_random(random) % files));
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/%u", folder,
		 (unsigned int)(next_random(random) % files));
	(void)stat(path, &stat_of);
}

static void *work(void *number)
{
	uint64_t random = seed + (uint64_t)(uintptr_t)number * 0x1234567;
	char *buffer;

	if (posix_memalign((void **)&buffer, 4096, CHUNK))
		errx(1, "no memory");
	memset(buffer, 1, CHUNK);
	while (!is_over) {
		write_whole(&random, buffer);
		append(&random, buffer);
		read_whole(&random, buffer);
		delete_or_ask(&random);
		if (is_measuring)
			operations += 5;
	}
	free(buffer);
	return NULL;
}

int main(int count_of_arguments, char **arguments)
{
	unsigned int threads;
	pthread_t thread[64];

	if (count_of_arguments != 8)
		errx(2, "usage: fileserver FOLDER FILES THREADS SEED WARM_S SECONDS DIRECT");
	folder = arguments[1];
	files = (unsigned int)atoi(arguments[2]);
	threads = (unsigned int)atoi(arguments[3]);
	seed = strtoull(arguments[4], NULL, 0);
	direct = arguments[7][0] == '1';
	if (threads > 64 || !files)
		errx(2, "1 to 64 threads, and a file or more");
	if (mkdir(folder, 0700))
		err(1, "%s", folder);
	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i))
			errx(1, "no thread");
	sleep((unsigned int)atoi(arguments[5]));
	is_measuring = 1;
	sleep((unsigned int)atoi(arguments[6]));
	is_over = 1;
	is_measuring = 0;
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%llu %llu %llu\n", (unsigned long long)bytes_read,
	       (unsigned long long)bytes_written,
	       (unsigned long long)operations);
	return 0;
}
