// SPDX-License-Identifier: Apache-2.0 OR MIT
/* /dev/fgio: opening it, and all calls but those of sections. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static int real_open(const char *path, int flags)
{
	return open(path, flags);
}

static int real_ioctl(int file, unsigned long command, void *argument)
{
	return ioctl(file, command, argument);
}

static void *real_map(int file, size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

struct fgio_calls fgio_calls = {
	.open = real_open,
	.ioctl = real_ioctl,
	.map = real_map,
};

/*
 * Our file, which a program may have closed behind our back, and its number used
 * again since. Another open file of the device is as good.
 */
struct own_file {
	int number;
	dev_t device;
	ino_t inode;
};

static struct own_file calls_file = { .number = -1 };
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
/* Why it could not be opened, or 0: not tried again by itself, to be cheap. */
static int absent;

static struct own_file own_file(int number)
{
	struct own_file file = { .number = number };
	struct stat status;

	if (number >= 0 && !fstat(number, &status)) {
		file.device = status.st_dev;
		file.inode = status.st_ino;
	}
	return file;
}

static bool is_ours(const struct own_file *file)
{
	struct stat status;

	return file->number >= 0 && !fstat(file->number, &status) &&
	       status.st_dev == file->device && status.st_ino == file->inode;
}

static void close_ours(struct own_file *file)
{
	if (is_ours(file))
		close(file->number);
	file->number = -1;
}

int fgio_device_call(int file, unsigned long command, void *argument)
{
	return fgio_calls.ioctl(file, command, argument) < 0 ? -errno : 0;
}

int fgio_device_open(void)
{
	int file = fgio_calls.open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	return file < 0 ? -errno : file;
}

/* Return: 0, -EPROTO, or another error of the call. */
static int speaks_our_version(int file)
{
	struct fgio_info info;
	int error = fgio_device_call(file, FGIO_IOC_INFO, &info);

	if (error)
		return error;
	return info.abi == FGIO_ABI_VERSION ? 0 : -EPROTO;
}

static int open_for_calls(void)
{
	int number, error;

	number = fgio_device_open();
	if (number < 0)
		return number;
	error = speaks_our_version(number);
	if (error) {
		close(number);
		return error;
	}
	calls_file = own_file(number);
	return number;
}

int fgio_device(void)
{
	int number = __atomic_load_n(&absent, __ATOMIC_RELAXED), saved = errno;

	if (number)
		return number;
	pthread_mutex_lock(&calls_lock);
	number = calls_file.number;
	if (!is_ours(&calls_file)) {
		calls_file.number = -1;
		number = open_for_calls();
	}
	__atomic_store_n(&absent, number < 0 ? number : 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&calls_lock);
	errno = saved;
	return number;
}

/* In a child, which has no other thread yet: the lock may have been copied held. */
void fgio_device_forget(void)
{
	pthread_mutex_init(&calls_lock, NULL);
	close_ours(&calls_file);
}

PUBLIC int fgio_init(void)
{
	int number;

	__atomic_store_n(&absent, 0, __ATOMIC_RELAXED);
	number = fgio_device();
	return number < 0 ? number : 0;
}

PUBLIC bool fgio_available(void)
{
	return fgio_device() >= 0;
}

void fgio_device_tag(uint32_t class_)
{
	struct fgio_tag tag = { .class = class_ };
	int number = fgio_device(), saved = errno;

	if (number >= 0)
		fgio_device_call(number, FGIO_IOC_SET_TAG, &tag);
	errno = saved;
}

uint32_t fgio_device_tag_now(void)
{
	struct fgio_tag tag = { 0 };
	int number = fgio_device();

	if (number < 0 || fgio_device_call(number, FGIO_IOC_GET_TAG, &tag))
		return FGIO_TAG_NONE;
	return tag.class;
}

static int hint(pid_t tid)
{
	struct fgio_wait_for wait = { .tid = tid };
	int number = fgio_device(), saved = errno, error;

	if (number < 0)
		return 0;
	error = fgio_device_call(number, FGIO_IOC_WAIT_FOR, &wait);
	errno = saved;
	return error;
}

PUBLIC int fgio_wait_for(pid_t tid)
{
	struct thread *self = fgio_thread();
	int error;

	if (tid <= 0)
		return -EINVAL;
	error = hint(tid);
	if (self && !error)
		self->hinted = true;
	return error;
}

PUBLIC void fgio_wait_done(void)
{
	struct thread *self = fgio_self;

	if (!self || !self->hinted)
		return;
	self->hinted = false;
	hint(0);
}

static void status_of_thread(struct fgio_status *status)
{
	const struct thread *self = fgio_thread();

	if (!self)
		return;
	status->class_ = self->word->class;
	status->sections = self->depth;
	status->without_calls = self->word != &self->own;
}

static int status_of_module(struct fgio_status *status, int number)
{
	struct fgio_info info;
	struct fgio_state state;
	int error = fgio_device_call(number, FGIO_IOC_INFO, &info);

	if (!error)
		error = fgio_device_call(number, FGIO_IOC_STATE, &state);
	if (error)
		return error;
	status->available = 1;
	status->threads = info.tags;
	status->threads_max = info.tags_max;
	status->queues = info.queues;
	status->foreground_waiting = state.foreground_waiting;
	status->boosted = state.boosted;
	status->watchdog_tripped = state.watchdog_tripped;
	memcpy(status->version, info.version, sizeof(status->version));
	status->version[sizeof(status->version) - 1] = 0;
	return 0;
}

PUBLIC int fgio_status(struct fgio_status *status)
{
	int number;

	memset(status, 0, sizeof(*status));
	status_of_thread(status);
	if (fgio_init())
		return 0;
	number = fgio_device();
	return number < 0 ? 0 : status_of_module(status, number);
}
