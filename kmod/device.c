// SPDX-License-Identifier: GPL-2.0
/* /dev/fgio: uapi/fgio.h has the contract of each call. */
#include <linux/capability.h>
#include <linux/kdev_t.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "base/version.h"
#include "block/elevator.h"
#include "block/groups.h"
#include "block/promote.h"
#include "block/queues.h"
#include "block/stamp.h"
#include "block/watchdog.h"
#include "device.h"
#include "graph/blame.h"
#include "graph/probe.h"
#include "graph/walk.h"
#include "layers/declared_wait.h"
#include "layers/pagecache.h"
#include "uapi/fgio.h"
#include "who/tag.h"
#include "who/thread_flag.h"
#include "who/trust.h"

#define LIST_MAX (1U << 20)

static const u32 class_of_tag[] = {
	[FGIO_THREAD_UNTAGGED] = FGIO_TAG_NONE,
	[FGIO_THREAD_FOREGROUND] = FGIO_TAG_FOREGROUND,
	[FGIO_THREAD_BACKGROUND] = FGIO_TAG_BACKGROUND,
};

static u32 hooks_live(void)
{
	return (fgio_stamp_is_attached() ? FGIO_HOOK_BLOCK_BIO_QUEUE : 0) |
	       (fgio_tag_is_attached() ? FGIO_HOOK_SCHED_PROCESS_EXIT : 0);
}

static int get_info(void __user *user)
{
	struct fgio_info info = {
		.abi = FGIO_ABI_VERSION,
		.hooks_expected = FGIO_HOOK_BLOCK_BIO_QUEUE |
				  FGIO_HOOK_SCHED_PROCESS_EXIT,
		.hooks_live = hooks_live(),
		.tags = fgio_tag_count(),
		.tags_max = fgio_tag_max(),
		.queues = fgio_queue_count(),
		.version = FGIO_VERSION,
	};

	return copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
}

/* Return: the thread with a reference, or NULL. */
static struct task_struct *find_thread(pid_t tid)
{
	struct task_struct *task = current;

	rcu_read_lock();
	if (tid)
		task = pid_task(find_vpid(tid), PIDTYPE_PID);
	if (task)
		get_task_struct(task);
	rcu_read_unlock();
	return task;
}

static int thread_tag_of(u32 class, enum fgio_thread_tag *tag)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(class_of_tag); i++) {
		if (class_of_tag[i] != class)
			continue;
		*tag = i;
		return 0;
	}
	return -EINVAL;
}

static int set_tag(void __user *user)
{
	struct task_struct *task;
	enum fgio_thread_tag tag;
	struct fgio_tag request;
	int error;

	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.tid < 0)
		return -EINVAL;
	error = thread_tag_of(request.class, &tag);
	if (error)
		return error;
	task = find_thread(request.tid);
	if (!task)
		return -ESRCH;
	error = fgio_may_tag(task) ? fgio_tag_thread(task, tag) : -EPERM;
	put_task_struct(task);
	return error;
}

static int get_tag(void __user *user)
{
	struct task_struct *task;
	struct fgio_tag request;

	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.tid < 0)
		return -EINVAL;
	task = find_thread(request.tid);
	if (!task)
		return -ESRCH;
	request.class = class_of_tag[fgio_tag_of(task)];
	put_task_struct(task);
	return copy_to_user(user, &request, sizeof(request)) ? -EFAULT : 0;
}

struct tag_array {
	struct fgio_tag *tags;
	u32 capacity;
	u32 count;
};

static void collect_tag(struct task_struct *task, enum fgio_thread_tag tag,
			void *data)
{
	struct tag_array *array = data;
	pid_t tid = task_pid_vnr(task);

	/* Zero: it is outside of the caller's pid namespace, or has ended. */
	if (!tid)
		return;
	if (array->count < array->capacity)
		array->tags[array->count] = (struct fgio_tag){
			.tid = tid,
			.class = class_of_tag[tag],
		};
	array->count++;
}

static int list_tags(void __user *user)
{
	struct tag_array array = {};
	struct fgio_tag_list request;
	int error = 0;
	u32 written;

	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.capacity > LIST_MAX)
		return -EINVAL;
	/* The table's size is the bound, not the caller's capacity. */
	array.capacity = min(request.capacity, fgio_tag_max());
	array.tags = kvcalloc(array.capacity ?: 1, sizeof(*array.tags),
			      GFP_KERNEL_ACCOUNT);
	if (!array.tags)
		return -ENOMEM;
	fgio_tag_list(collect_tag, &array);
	written = min(array.count, array.capacity);
	request.count = array.count;
	if (copy_to_user(u64_to_user_ptr(request.tags), array.tags,
			 written * sizeof(*array.tags)) ||
	    copy_to_user(user, &request, sizeof(request)))
		error = -EFAULT;
	kvfree(array.tags);
	return error;
}

/* Return: whether the numbers fit into the kernel's, which are shorter. */
static bool disk_of(u32 major, u32 minor, dev_t *disk)
{
	*disk = MKDEV(major, minor);
	return MAJOR(*disk) == major && MINOR(*disk) == minor;
}

static int promote(void __user *user)
{
	struct fgio_promote request;
	dev_t disk;
	int error;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.reserved)
		return -EINVAL;
	if (!disk_of(request.major, request.minor, &disk))
		return -ENODEV;
	error = fgio_promote_sector(disk, request.sector, &request.promoted);
	if (error)
		return error;
	return copy_to_user(user, &request, sizeof(request)) ? -EFAULT : 0;
}

static int wait_for(void __user *user)
{
	struct fgio_wait_for request;

	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.reserved || request.tid < 0)
		return -EINVAL;
	return fgio_declared_wait_set(request.tid);
}

static int set_flag(struct file *file, void __user *user)
{
	struct fgio_word_slot slot;

	if (copy_from_user(&slot, user, sizeof(slot)))
		return -EFAULT;
	return fgio_thread_flags_set(file, &slot);
}

static int tie_flag(void __user *user)
{
	struct fgio_word_at at;

	if (copy_from_user(&at, user, sizeof(at)))
		return -EFAULT;
	return fgio_thread_flags_tie_at(at.address);
}

static int list_hooks(void __user *user)
{
	struct fgio_hook_state *states;
	struct fgio_hook_list request;
	unsigned int count;
	int error = 0;

	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	count = fgio_probe_list(NULL, 0);
	states = kcalloc(count, sizeof(*states), GFP_KERNEL_ACCOUNT);
	if (!states)
		return -ENOMEM;
	fgio_probe_list(states, count);
	request.count = count;
	if (copy_to_user(u64_to_user_ptr(request.hooks), states,
			 min(count, request.capacity) * sizeof(*states)) ||
	    copy_to_user(user, &request, sizeof(request)))
		error = -EFAULT;
	kfree(states);
	return error;
}

static int get_state(void __user *user)
{
	struct fgio_state state = {};

	fgio_walk_state(&state);
	fgio_promote_state(&state);
	fgio_pagecache_totals(&state.parked_ns, &state.promoted_writers);
	fgio_watchdog_state(&state);
	state.blame_lost = fgio_blame_lost();
	return copy_to_user(user, &state, sizeof(state)) ? -EFAULT : 0;
}

static int get_reasons(void __user *user)
{
	struct fgio_reasons reasons;

	fgio_blame_reasons(&reasons);
	return copy_to_user(user, &reasons, sizeof(reasons)) ? -EFAULT : 0;
}

static int rearm(void)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	fgio_watchdog_rearm();
	return 0;
}

static int rearm_disk(void __user *user)
{
	struct fgio_rearm request;
	dev_t disk;
	int error;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.reserved)
		return -EINVAL;
	if (!disk_of(request.major, request.minor, &disk))
		return -ENODEV;
	error = fgio_watchdog_rearm_disk(disk, &request.tripped);
	if (error)
		return error;
	return copy_to_user(user, &request, sizeof(request)) ? -EFAULT : 0;
}

static int list_shares(void __user *user)
{
	struct fgio_share_list request;
	struct fgio_share *shares;
	dev_t disk;
	int error;

	if (!capable(CAP_SYS_NICE))
		return -EPERM;
	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.reserved || request.capacity > FGIO_SHARES_AT_ONCE)
		return -EINVAL;
	if (!disk_of(request.major, request.minor, &disk))
		return -ENODEV;
	/* Of that size at most, whatever the number of cgroups. */
	shares = kvcalloc(request.capacity ?: 1, sizeof(*shares),
			  GFP_KERNEL_ACCOUNT);
	if (!shares)
		return -ENOMEM;
	error = fgio_groups_list(disk, &request, shares);
	if (!error && (copy_to_user(u64_to_user_ptr(request.shares), shares,
				    request.count * sizeof(*shares)) ||
		       copy_to_user(user, &request, sizeof(request))))
		error = -EFAULT;
	kvfree(shares);
	return error;
}

static int scale_share(void __user *user)
{
	struct fgio_share_scale request;

	if (!capable(CAP_SYS_NICE))
		return -EPERM;
	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	if (request.scale < FGIO_SCALE_LEAST ||
	    request.scale > FGIO_SCALE_MOST || !request.hold_ms ||
	    request.hold_ms > FGIO_SCALE_HOLD_MS_MAX)
		return -EINVAL;
	return fgio_groups_scale(&request);
}

static int read_blame(void __user *user)
{
	struct fgio_blame request;
	int error;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (copy_from_user(&request, user, sizeof(request)))
		return -EFAULT;
	error = fgio_blame_read(&request);
	if (error)
		return error;
	return copy_to_user(user, &request, sizeof(request)) ? -EFAULT : 0;
}

static long fgio_ioctl(struct file *file, unsigned int command,
		       unsigned long argument)
{
	void __user *user = (void __user *)argument;

	switch (command) {
	case FGIO_IOC_INFO:
		return get_info(user);
	case FGIO_IOC_SET_TAG:
		return set_tag(user);
	case FGIO_IOC_GET_TAG:
		return get_tag(user);
	case FGIO_IOC_LIST_TAGS:
		return list_tags(user);
	case FGIO_IOC_PROMOTE:
		return promote(user);
	case FGIO_IOC_WAIT_FOR:
		return wait_for(user);
	case FGIO_IOC_HOOKS:
		return list_hooks(user);
	case FGIO_IOC_STATE:
		return get_state(user);
	case FGIO_IOC_REARM:
		return rearm();
	case FGIO_IOC_REARM_DISK:
		return rearm_disk(user);
	case FGIO_IOC_BLAME:
		return read_blame(user);
	case FGIO_IOC_REASONS:
		return get_reasons(user);
	case FGIO_IOC_SHARES:
		return list_shares(user);
	case FGIO_IOC_SCALE_SHARE:
		return scale_share(user);
	case FGIO_IOC_SET_WORD:
		return set_flag(file, user);
	case FGIO_IOC_TIE_WORD:
		return tie_flag(user);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations fgio_file_operations = {
	.owner = THIS_MODULE,
	.open = fgio_thread_flags_open,
	.release = fgio_thread_flags_release,
	.mmap = fgio_thread_flags_mmap,
	.unlocked_ioctl = fgio_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/*
 * For root alone until udev gives it to a group (packaging/udev): the calls
 * check the rights of their thread, but the administrator decides which users
 * may make any call.
 */
static struct miscdevice fgio_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fgio",
	.fops = &fgio_file_operations,
	.mode = 0660,
};

int fgio_device_init(void)
{
	return misc_register(&fgio_device);
}

void fgio_device_exit(void)
{
	misc_deregister(&fgio_device);
}
