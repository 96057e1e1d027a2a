// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel locks of each kind that fgio follows, for tests: a task takes one, reads
 * from a file, and releases it.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu-rwsem.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "compat.h"
#include "fgio_test.h"

static DEFINE_MUTEX(mutex);
static DEFINE_SEMAPHORE_ONE(semaphore);
static DECLARE_RWSEM(rwsem);
static struct percpu_rw_semaphore percpu;

static void take_mutex(void)
{
	mutex_lock(&mutex);
}

static void release_mutex(void)
{
	mutex_unlock(&mutex);
}

static void take_semaphore(void)
{
	down(&semaphore);
}

static void release_semaphore(void)
{
	up(&semaphore);
}

static void take_rwsem_write(void)
{
	down_write(&rwsem);
}

static void release_rwsem_write(void)
{
	up_write(&rwsem);
}

static void take_rwsem_read(void)
{
	down_read(&rwsem);
}

static void release_rwsem_read(void)
{
	up_read(&rwsem);
}

static void take_percpu_write(void)
{
	percpu_down_write(&percpu);
}

static void release_percpu_write(void)
{
	percpu_up_write(&percpu);
}

static void take_percpu_read(void)
{
	percpu_down_read(&percpu);
}

static void release_percpu_read(void)
{
	percpu_up_read(&percpu);
}

static const struct {
	void (*take)(void);
	void (*release)(void);
} locks[FGIO_TEST_LOCKS] = {
	[FGIO_TEST_MUTEX] = { take_mutex, release_mutex },
	[FGIO_TEST_SEMAPHORE] = { take_semaphore, release_semaphore },
	[FGIO_TEST_RWSEM_WRITE] = { take_rwsem_write, release_rwsem_write },
	[FGIO_TEST_RWSEM_READ] = { take_rwsem_read, release_rwsem_read },
	[FGIO_TEST_PERCPU_WRITE] = { take_percpu_write, release_percpu_write },
	[FGIO_TEST_PERCPU_READ] = { take_percpu_read, release_percpu_read },
};

static ssize_t read_file(const struct fgio_test_hold *hold)
{
	struct fd fd;
	struct iov_iter to;
	struct kiocb kiocb;
	ssize_t result;

	if (hold->fd < 0)
		return 0;
	fd = fdget(hold->fd);
	if (!TEST_FD_FILE(fd))
		return -EBADF;
	if (!TEST_FD_FILE(fd)->f_op->read_iter) {
		fdput(fd);
		return -EINVAL;
	}
	init_sync_kiocb(&kiocb, TEST_FD_FILE(fd));
	kiocb.ki_pos = hold->offset;
	iov_iter_ubuf(&to, READ, u64_to_user_ptr(hold->buffer), hold->bytes);
	result = TEST_FD_FILE(fd)->f_op->read_iter(&kiocb, &to);
	fdput(fd);
	return result;
}

static long write_file(const struct fgio_test_hold *hold)
{
	struct fd fd = fdget(hold->fd);
	loff_t offset = hold->offset;
	struct iov_iter from;
	ssize_t result;

	if (!TEST_FD_FILE(fd))
		return -EBADF;
	iov_iter_ubuf(&from, WRITE, u64_to_user_ptr(hold->buffer), hold->bytes);
	result = vfs_iter_write(TEST_FD_FILE(fd), &from, &offset, 0);
	fdput(fd);
	return result;
}

static long test_ioctl(struct file *file, unsigned int command,
		       unsigned long argument)
{
	struct fgio_test_hold hold;
	ssize_t result;

	if (command != FGIO_TEST_HOLD && command != FGIO_TEST_DIRTY)
		return -ENOTTY;
	if (copy_from_user(&hold, (void __user *)argument, sizeof(hold)))
		return -EFAULT;
	if (command == FGIO_TEST_DIRTY)
		return write_file(&hold);
	if (hold.lock >= FGIO_TEST_LOCKS || hold.reserved ||
	    !access_ok(u64_to_user_ptr(hold.buffer), hold.bytes))
		return -EINVAL;
	locks[hold.lock].take();
	result = read_file(&hold);
	locks[hold.lock].release();
	return result;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = test_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fgio_test",
	.mode = 0600,
	.fops = &operations,
};

static int __init test_init(void)
{
	int error = percpu_init_rwsem(&percpu);

	if (error)
		return error;
	error = misc_register(&device);
	if (error)
		percpu_free_rwsem(&percpu);
	return error;
}
module_init(test_init);

static void __exit test_exit(void)
{
	misc_deregister(&device);
	percpu_free_rwsem(&percpu);
}
module_exit(test_exit);

MODULE_DESCRIPTION("Locks for the tests of fgio");
MODULE_LICENSE("GPL");
