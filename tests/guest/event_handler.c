// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A program that handles events, and one that meets them:
 *
 *	event_handler scan FOLDER	reads each file of the file system before
 *					it is opened; one named "stuck" it reads
 *					again and again
 *	event_handler meet FOLDER END	opens a file and touches a page that a
 *					thread of its own reads, as a foreground
 *					task, until the file END is there; says
 *					how often
 */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lab/guest/program.h"

#define BLOCK 4096
/* No file is stuck for longer. */
#define STUCK_S 300

#define NEED(condition)                     \
	do {                                \
		if (!(condition))           \
			stop(#condition);   \
	} while (0)

/* ---- scan ---- */

static void read_from_disk(int file)
{
	char buffer[BLOCK];

	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	NEED(pread(file, buffer, sizeof(buffer), 0) >= 0);
}

static int is_stuck(int file)
{
	char link[64], name[256];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	length = readlink(link, name, sizeof(name) - 1);
	NEED(length > 0);
	name[length] = 0;
	return !strcmp(strrchr(name, '/'), "/stuck");
}

static void read_for_long(int file)
{
	time_t end = time(NULL) + STUCK_S;

	while (time(NULL) < end)
		read_from_disk(file);
}

static int scan(const char *folder)
{
	int scanner = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);
	struct fanotify_event_metadata event;
	struct fanotify_response response = { .response = FAN_ALLOW };

	NEED(scanner >= 0);
	NEED(!fanotify_mark(scanner, FAN_MARK_ADD | FAN_MARK_MOUNT,
			    FAN_OPEN_PERM, AT_FDCWD, folder));
	printf("%d\n", getpid());
	fflush(stdout);
	while (read(scanner, &event, sizeof(event)) == sizeof(event)) {
		if (is_stuck(event.fd))
			read_for_long(event.fd);
		read_from_disk(event.fd);
		response.fd = event.fd;
		NEED(write(scanner, &response, sizeof(response)) ==
		     sizeof(response));
		close(event.fd);
	}
	return 1;
}

/* ---- meet ---- */

static int pager, source;
static char *paged;
static _Alignas(BLOCK) char fetched[BLOCK];

static void *fetch_pages(void *none)
{
	struct uffdio_copy copy = { .src = (uintptr_t)fetched, .len = BLOCK };
	struct uffd_msg message;

	while (read(pager, &message, sizeof(message)) == sizeof(message)) {
		NEED(pread(source, fetched, BLOCK, 0) == BLOCK);
		copy.dst = (uintptr_t)paged;
		NEED(!ioctl(pager, UFFDIO_COPY, &copy));
	}
	return none;
}

static void begin_pager(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;

	paged = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(paged != MAP_FAILED);
	pager = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	NEED(pager >= 0 && !ioctl(pager, UFFDIO_API, &api));
	range.range.start = (uintptr_t)paged;
	range.range.len = BLOCK;
	NEED(!ioctl(pager, UFFDIO_REGISTER, &range));
	NEED(!pthread_create(&thread, NULL, fetch_pages, NULL));
}

/* The module comes and goes: in each round. */
static void become_foreground(void)
{
	struct fgio_tag tag = { .class = FGIO_TAG_FOREGROUND };
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (device < 0)
		return;
	(void)!ioctl(device, FGIO_IOC_SET_TAG, &tag);
	close(device);
}

static int meet(const char *folder, const char *end)
{
	unsigned int rounds = 0;
	char name[256], first;
	int file;

	snprintf(name, sizeof(name), "%s/scanned", folder);
	source = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
	NEED(source >= 0 && pread(source, fetched, BLOCK, 0) == BLOCK);
	first = fetched[0];
	begin_pager();
	for (; access(end, F_OK); rounds++) {
		become_foreground();
		file = open(name, O_RDONLY | O_CLOEXEC);
		NEED(file >= 0);
		close(file);
		NEED(!madvise(paged, BLOCK, MADV_DONTNEED));
		NEED(*(volatile char *)paged == first);
	}
	printf("%u\n", rounds);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "scan"))
		return scan(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "meet"))
		return meet(argv[2], argv[3]);
	return 2;
}
