// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Events that a program handles: a scanner that reads before it allows that a file
 * is opened, a pager that reads the page that is missing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scenario.h"

/* ---- fanotify ---- */

static int scanner;

/* Of these files alone: the scenario opens others. */
static void watch_opens_of(const char *name)
{
	close(written_file(name, 1));
	NEED(!fanotify_mark(scanner, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD,
			    name));
}

static void watch_opens(unsigned int flags)
{
	scanner = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | flags,
				O_RDONLY);
	NEED(scanner >= 0);
	watch_opens_of("guarded");
	watch_opens_of("another");
}

static void prepare_scanner(void)
{
	watch_opens(0);
}

static void prepare_polling_scanner(void)
{
	watch_opens(FAN_NONBLOCK);
}

static int next_event(void)
{
	struct fanotify_event_metadata event;

	NEED(read(scanner, &event, sizeof(event)) == sizeof(event));
	NEED(event.mask & FAN_OPEN_PERM);
	return event.fd;
}

static void allow(int file)
{
	const struct fanotify_response response = {
		.fd = file,
		.response = FAN_ALLOW,
	};

	NEED(write(scanner, &response, sizeof(response)) == sizeof(response));
	close(file);
}

static void scan(unsigned int round)
{
	int file;

	about_to_wait();
	file = next_event();
	read_disk(round);
	allow(file);
}

static void scan_when_there_is(unsigned int round)
{
	struct pollfd wanted = { .fd = scanner, .events = POLLIN };

	about_to_wait();
	NEED(poll(&wanted, 1, -1) == 1);
	scan(round);
}

/* The foreground's event is the second. */
static void scan_one_then_allow(unsigned int round)
{
	scan(round);
	allow(next_event());
}

/* One thread takes events, and another reads. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t taken;
	int file;
} job = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, -1 };

static void take_event(unsigned int round)
{
	int file;

	(void)round;
	about_to_wait();
	file = next_event();
	NEED(!pthread_mutex_lock(&job.mutex));
	job.file = file;
	NEED(!pthread_mutex_unlock(&job.mutex));
	NEED(!pthread_cond_signal(&job.taken));
}

static void scan_taken(unsigned int round)
{
	int file;

	about_to_wait();
	NEED(!pthread_mutex_lock(&job.mutex));
	while (job.file < 0)
		NEED(!pthread_cond_wait(&job.taken, &job.mutex));
	file = job.file;
	job.file = -1;
	NEED(!pthread_mutex_unlock(&job.mutex));
	read_disk(round);
	allow(file);
}

static void open_another(unsigned int round)
{
	(void)round;
	about_to_wait();
	close(open_file("another", O_RDONLY));
}

static void open_guarded(unsigned int round)
{
	(void)round;
	close(open_file("guarded", O_RDONLY));
}

/* ---- userfaultfd ---- */

static int pager;
static char *paged;
static const char page[BLOCK] __attribute__((aligned(BLOCK))) = "fetched";

static void page_by_program(unsigned int blocks, uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	paged = mmap(NULL, blocks * BLOCK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(paged != MAP_FAILED);
	pager = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	NEED(pager >= 0 && !ioctl(pager, UFFDIO_API, &api));
	range.range.start = (uintptr_t)paged;
	range.range.len = blocks * BLOCK;
	NEED(!ioctl(pager, UFFDIO_REGISTER, &range));
}

static void prepare_pager(void)
{
	page_by_program(1, 0);
}

/* A page of each round, behind the one that is given back. */
static void prepare_pager_of_changes(void)
{
	page_by_program(rounds() + 2, UFFD_FEATURE_EVENT_REMOVE);
}

static struct uffd_msg next_message(void)
{
	struct pollfd wanted = { .fd = pager, .events = POLLIN };
	struct uffd_msg message;

	NEED(poll(&wanted, 1, -1) == 1);
	NEED(read(pager, &message, sizeof(message)) == sizeof(message));
	return message;
}

/* Return: the page's address. */
static uint64_t read_for_fault(unsigned int round)
{
	struct uffd_msg message;

	about_to_wait();
	message = next_message();
	NEED(message.event == UFFD_EVENT_PAGEFAULT);
	read_disk(round);
	return message.arg.pagefault.address & ~(BLOCK - 1ULL);
}

/* While memory is being given back, the kernel takes no pages. */
static void give_page(uint64_t address)
{
	struct uffdio_copy copy = {
		.dst = address,
		.src = (uintptr_t)page,
		.len = BLOCK,
	};

	while (ioctl(pager, UFFDIO_COPY, &copy)) {
		NEED(errno == EAGAIN);
		copy.copy = 0;
		pause_us(20);
	}
}

static void fetch_page(unsigned int round)
{
	give_page(read_for_fault(round));
}

static void see_change_once_page_is_read(unsigned int round)
{
	uint64_t address = read_for_fault(round);

	NEED(next_message().event == UFFD_EVENT_REMOVE);
	give_page(address);
}

static void touch_page_of_round(unsigned int round)
{
	NEED(round <= rounds());
	about_to_wait();
	NEED(*(volatile char *)(paged + (round + 1) * BLOCK) == page[0]);
}

static void give_page_back(unsigned int round)
{
	(void)round;
	NEED(!madvise(paged, BLOCK, MADV_DONTNEED));
}

static void touch_page(unsigned int round)
{
	(void)round;
	NEED(*(volatile char *)paged == page[0]);
}

#define EVENT(_name, _title, _prepare, _foreground, ...)                 \
	{                                                                \
		.name = _name, .group = "events", .title = _title,       \
		.off = "boost,replies", .prepare = _prepare,             \
		.foreground = _foreground, __VA_ARGS__                   \
	}

const struct scenario event_scenarios[] = {
	EVENT("permission", "a file is opened that a scanner reads first",
	      prepare_scanner, open_guarded, .background = { scan },
	      .processes = true),
	EVENT("permission-poll", "the same, of a scanner that sleeps in poll",
	      prepare_polling_scanner, open_guarded,
	      .background = { scan_when_there_is }, .processes = true),
	EVENT("permission-handed-over",
	      "the same, of a scanner of which another thread takes events",
	      prepare_scanner, open_guarded,
	      .background = { scan_taken, take_event }),
	EVENT("permission-busy",
	      "a file is opened while the scanner reads for another process",
	      prepare_scanner, open_guarded,
	      .background = { scan_one_then_allow, open_another },
	      .processes = true),
	EVENT("page-fault", "a page that another thread fetches: userfaultfd",
	      prepare_pager, touch_page, .before = give_page_back,
	      .background = { fetch_page }),
	EVENT("page-change",
	      "memory is given back while its pager fetches a page for another",
	      prepare_pager_of_changes, give_page_back,
	      .background = { see_change_once_page_is_read,
			      touch_page_of_round }),
	{ 0 },
};
