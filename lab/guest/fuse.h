/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A FUSE file system that passes on a folder, without a library: a file system
 * and its daemon for tests, which say what each of its threads does. The folder
 * has files alone; names beginning with "direct" are read and written without a
 * cache. Those with "direct-raw" or "raw" have none below. Reads of those with
 * "direct-stuck" are never answered; nor are those of "direct-greedy", for which
 * the thread writes without end.
 */
#ifndef FUSE_H
#define FUSE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FUSE_BUFFER (256 * 1024)
#define FUSE_NAMES 8192
#define FUSE_ALIGNMENT 4096

/**
 * struct fuse - a file system, in the memory of its daemon
 * @device: /dev/fuse
 * @folder: what it passes on
 * @threads: threads that work on requests
 * @hands_over: one more thread takes all requests, and those get them by @jobs
 * @writes_back: the kernel keeps what is written, until an fsync
 * @room: requests in the background that are out at a time; 0: 12
 * @jobs: a pipe of addresses of buffers
 * @names: of nodes, by number
 * @count: length of @names
 */
struct fuse {
	int device;
	int folder;
	unsigned int threads;
	bool hands_over;
	bool writes_back;
	unsigned int room;
	int jobs[2];
	char names[FUSE_NAMES][32];
	unsigned int count;
	pthread_mutex_t lock;
};

static struct fuse fuse;

static void fuse_need(bool condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	_exit(1);
}

/* Of this thread: the stacks of a program's threads may be small. */
static void *fuse_memory(unsigned int number)
{
	static __thread void *memory[2];

	if (!memory[number])
		fuse_need(!posix_memalign(&memory[number], FUSE_ALIGNMENT,
					  FUSE_BUFFER), "memory");
	return memory[number];
}

static void fuse_answer(uint64_t request, int error, const void *data,
			size_t bytes)
{
	struct fuse_out_header *header = fuse_memory(0);

	header->len = sizeof(*header) + (error ? 0 : bytes);
	header->error = -error;
	header->unique = request;
	memcpy(header + 1, data, header->len - sizeof(*header));
	/* A request that was given up meanwhile is not there any more. */
	if (write(fuse.device, header, header->len) < 0)
		fuse_need(errno == ENOENT || errno == ENODEV, "an answer");
}

static uint64_t fuse_node(const char *name)
{
	unsigned int i;

	pthread_mutex_lock(&fuse.lock);
	for (i = 0; i < fuse.count && strcmp(fuse.names[i], name); i++)
		;
	if (i == fuse.count) {
		fuse_need(i < FUSE_NAMES, "too many names");
		snprintf(fuse.names[fuse.count++], 32, "%s", name);
	}
	pthread_mutex_unlock(&fuse.lock);
	return FUSE_ROOT_ID + 1 + i;
}

static const char *fuse_name(uint64_t node)
{
	return node == FUSE_ROOT_ID ? "." :
				      fuse.names[node - FUSE_ROOT_ID - 1];
}

static bool fuse_is(uint64_t node, const char *kind)
{
	return !strncmp(fuse_name(node), kind, strlen(kind));
}

static int fuse_look(uint64_t node, struct fuse_attr *attr)
{
	struct stat found;

	if (fstatat(fuse.folder, fuse_name(node), &found, AT_SYMLINK_NOFOLLOW))
		return errno;
	*attr = (struct fuse_attr){
		.ino = node,
		.size = found.st_size,
		.blocks = found.st_blocks,
		.mode = found.st_mode,
		.nlink = 1,
		.blksize = 4096,
	};
	return 0;
}

static void fuse_init(uint64_t request, const struct fuse_init_in *in)
{
	uint32_t flags = FUSE_ASYNC_READ | FUSE_ASYNC_DIO |
			 (fuse.writes_back ? FUSE_WRITEBACK_CACHE : 0);
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_readahead = in->max_readahead,
		.flags = in->flags & flags,
		.max_background = fuse.room ? fuse.room : 12,
		.congestion_threshold = 9,
		.max_write = FUSE_BUFFER / 2,
		.time_gran = 1,
	};

	fuse_answer(request, 0, &out, sizeof(out));
}

/* Names are looked up each time. */
static void fuse_lookup(uint64_t request, const char *name)
{
	struct fuse_entry_out out = { .nodeid = fuse_node(name),
				      .attr_valid = 3600 };

	fuse_answer(request, fuse_look(out.nodeid, &out.attr), &out,
		    sizeof(out));
}

static void fuse_getattr(uint64_t request, uint64_t node)
{
	struct fuse_attr_out out = { .attr_valid = 3600 };

	fuse_answer(request, fuse_look(node, &out.attr), &out, sizeof(out));
}

/* Nothing but the mode changes. */
static void fuse_setattr(uint64_t request, uint64_t node,
			 const struct fuse_setattr_in *in)
{
	if (in->valid & FATTR_MODE &&
	    fchmodat(fuse.folder, fuse_name(node), in->mode & 07777, 0))
		fuse_answer(request, errno, NULL, 0);
	else
		fuse_getattr(request, node);
}

static void fuse_open(uint64_t request, uint64_t node)
{
	struct fuse_open_out out = { 0 };
	bool is_raw = fuse_is(node, "direct-raw") || fuse_is(node, "raw");
	int flags = is_raw ? O_DIRECT : 0;
	int file = openat(fuse.folder, fuse_name(node),
			  O_RDWR | O_CLOEXEC | flags);

	out.fh = file;
	if (fuse_is(node, "direct"))
		out.open_flags = FOPEN_DIRECT_IO;
	fuse_answer(request, file < 0 ? errno : 0, &out, sizeof(out));
}

static void fuse_read(uint64_t request, const struct fuse_read_in *in)
{
	void *data = fuse_memory(1);
	ssize_t bytes = pread(in->fh, data, in->size, in->offset);

	fuse_answer(request, bytes < 0 ? errno : 0, data, bytes);
}

static void fuse_is_greedy(const struct fuse_read_in *in)
{
	char block[4096] = { 0 };

	for (;;)
		fuse_need(pwrite(in->fh, block, sizeof(block), 0) ==
				  sizeof(block) && !fsync(in->fh),
			  "writing");
}

static void fuse_write(uint64_t request, const struct fuse_write_in *in)
{
	struct fuse_write_out out = { 0 };
	void *data = fuse_memory(1);
	ssize_t bytes;

	memcpy(data, in + 1, in->size);
	bytes = pwrite(in->fh, data, in->size, in->offset);
	out.size = bytes;
	fuse_answer(request, bytes < 0 ? errno : 0, &out, sizeof(out));
}

static void fuse_fsync(uint64_t request, const struct fuse_fsync_in *in)
{
	bool data_only = in->fsync_flags & FUSE_FSYNC_FDATASYNC;
	int error = data_only ? fdatasync(in->fh) : fsync(in->fh);

	fuse_answer(request, error ? errno : 0, NULL, 0);
}

static void fuse_do(const struct fuse_in_header *in)
{
	const void *argument = in + 1;

	switch (in->opcode) {
	case FUSE_INIT:
		fuse_init(in->unique, argument);
		break;
	case FUSE_LOOKUP:
		fuse_lookup(in->unique, argument);
		break;
	case FUSE_GETATTR:
		fuse_getattr(in->unique, in->nodeid);
		break;
	case FUSE_SETATTR:
		fuse_setattr(in->unique, in->nodeid, argument);
		break;
	case FUSE_OPEN:
		fuse_open(in->unique, in->nodeid);
		break;
	case FUSE_READ:
		if (fuse_is(in->nodeid, "direct-greedy"))
			fuse_is_greedy(argument);
		if (!fuse_is(in->nodeid, "direct-stuck"))
			fuse_read(in->unique, argument);
		break;
	case FUSE_WRITE:
		fuse_write(in->unique, argument);
		break;
	case FUSE_FSYNC:
		fuse_fsync(in->unique, argument);
		break;
	case FUSE_RELEASE:
		close(((const struct fuse_release_in *)argument)->fh);
		fuse_answer(in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	case FUSE_INTERRUPT:
		/* Without it, a task that was killed waits on. */
		fuse_answer(((const struct fuse_interrupt_in *)argument)->unique,
			    EINTR, NULL, 0);
		break;
	case FUSE_DESTROY:
		fuse_answer(in->unique, 0, NULL, 0);
		break;
	default:
		fuse_answer(in->unique, ENOSYS, NULL, 0);
	}
}

/* Return: whether there was a request; the file system is gone otherwise. */
static bool fuse_take(void *buffer)
{
	ssize_t bytes;

	do
		bytes = read(fuse.device, buffer, FUSE_BUFFER);
	while (bytes < 0 && (errno == EINTR || errno == ENOENT));
	fuse_need(bytes > 0 || errno == ENODEV, "a request");
	return bytes > 0;
}

static void *fuse_works(void *unused)
{
	void *buffer = malloc(FUSE_BUFFER);

	(void)unused;
	prctl(PR_SET_NAME, "fuse-worker");
	while (fuse_take(buffer))
		fuse_do(buffer);
	_exit(0);
}

static void *fuse_works_on_jobs(void *unused)
{
	void *buffer;

	(void)unused;
	prctl(PR_SET_NAME, "fuse-worker");
	while (read(fuse.jobs[0], &buffer, sizeof(buffer)) == sizeof(buffer)) {
		fuse_do(buffer);
		free(buffer);
	}
	_exit(1);
}

static void fuse_hand_over(void)
{
	void *buffer = malloc(FUSE_BUFFER);

	prctl(PR_SET_NAME, "fuse-taker");
	while (fuse_take(buffer)) {
		fuse_need(write(fuse.jobs[1], &buffer, sizeof(buffer)) ==
				  sizeof(buffer), "a job");
		buffer = malloc(FUSE_BUFFER);
	}
	_exit(0);
}

/* The daemon; does not return. */
static void fuse_serve(void)
{
	void *(*works)(void *) = fuse.hands_over ? fuse_works_on_jobs :
						   fuse_works;
	unsigned int i;

	fuse_need(!pipe(fuse.jobs), "pipe");
	pthread_mutex_init(&fuse.lock, NULL);
	for (i = fuse.hands_over ? 0 : 1; i < fuse.threads; i++) {
		pthread_t thread;

		fuse_need(!pthread_create(&thread, NULL, works, NULL),
			  "a thread");
	}
	if (fuse.hands_over)
		fuse_hand_over();
	fuse_works(NULL);
}

/*
 * Mounts a file system that passes on @folder, and begins its daemon, which ends
 * with the calling thread. Return: the daemon.
 */
static pid_t fuse_begin(const char *folder, const char *top,
			unsigned int threads, bool hands_over)
{
	char options[128];
	pid_t daemon;

	fuse.device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	fuse.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fuse_need(fuse.device >= 0 && fuse.folder >= 0, "/dev/fuse");
	fuse.threads = threads;
	fuse.hands_over = hands_over;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fuse.device);
	fuse_need(!mount("fuse", top, "fuse", MS_NOSUID | MS_NODEV, options),
		  "mount");
	daemon = fork();
	fuse_need(daemon >= 0, "fork");
	if (!daemon) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_serve();
	}
	close(fuse.device);
	close(fuse.folder);
	return daemon;
}

#endif /* FUSE_H */
