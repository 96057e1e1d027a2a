/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * FGIO_IOC_SHARES.
 *
 *	share_list list DISK CAPACITY	prints all cgroups of a disk, a line each, this
 *					many at a call, and checks that none is listed
 *					twice
 *	share_list again DISK SECONDS	the same again and again, and prints nothing; the
 *					disk may leave fgio meanwhile
 *	share_list state DISK		prints the state's bits, cgroups, and those that ask
 *	share_list errors DISK OTHER	each error; OTHER is not under fgio
 *	share_list scale CGROUP PARTS MS	lets the weight of a cgroup, by its id, count
 *					for as many parts of 1,024, for this time
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "device_calls.h"

#define CGROUPS_MAX 20000

static struct fgio_share all[CGROUPS_MAX];

static struct fgio_share_list on(const char *disk)
{
	struct fgio_share_list list = {};
	struct stat status;

	CHECK(disk, !stat(disk, &status));
	list.major = major(status.st_rdev);
	list.minor = minor(status.st_rdev);
	return list;
}

static int by_cgroup(const void *one, const void *other)
{
	__u64 first = ((const struct fgio_share *)one)->cgroup;
	__u64 second = ((const struct fgio_share *)other)->cgroup;

	return first < second ? -1 : first > second;
}

/* Fills all. Return: the number of cgroups; 0 if the disk is not under fgio. */
static unsigned int read_all(const char *disk, unsigned int capacity)
{
	struct fgio_share_list list = on(disk);
	unsigned int count = 0, i;
	__u64 before;

	list.capacity = capacity;
	do {
		CHECK("room", count + capacity <= CGROUPS_MAX);
		list.shares = (uintptr_t)&all[count];
		before = list.cursor;
		errno = 0;
		if (ioctl(device, FGIO_IOC_SHARES, &list)) {
			CHECK("list", errno == ENODEV);
			return 0;
		}
		CHECK("count", list.count <= capacity);
		CHECK("it goes on", list.cursor > before || !list.count);
		count += list.count;
	} while (list.count == capacity);
	qsort(all, count, sizeof(all[0]), by_cgroup);
	for (i = 0; i < count; i++) {
		CHECK("a weight", all[i].weight >= 1 && all[i].weight <= 10000);
		CHECK("a part", all[i].guarantee <= 1000000);
		CHECK("an id", all[i].cgroup != all[i].parent);
		CHECK("once", !i || all[i].cgroup != all[i - 1].cgroup);
	}
	return count;
}

static void case_list(char **arguments)
{
	unsigned int count = read_all(arguments[0], (unsigned int)atoi(arguments[1]));
	unsigned int i;

	for (i = 0; i < count; i++)
		printf("cgroup=%llu parent=%llu weight=%u guarantee=%u asks=%u requests=%llu "
		       "sectors=%llu drive_ns=%llu held=%llu lag_ns=%llu queued=%u in_drive=%u "
		       "scale=%u\n",
		       all[i].cgroup, all[i].parent, all[i].weight, all[i].guarantee,
		       all[i].flags & FGIO_SHARE_ASKS, all[i].requests, all[i].sectors,
		       all[i].drive_ns, all[i].held, all[i].lag_ns, all[i].queued,
		       all[i].in_drive, all[i].scale);
}

static void case_again(char **arguments)
{
	time_t end = time(NULL) + atoi(arguments[1]);
	unsigned int capacity = 1, most = 0, count;

	while (time(NULL) < end) {
		count = read_all(arguments[0], capacity);
		most = count > most ? count : most;
		capacity = capacity % 7 + 1;
	}
	CHECK("cgroups were listed", most);
}

static void case_state(char **arguments)
{
	struct fgio_share_list list = on(arguments[0]);

	CHECK("state", !ioctl(device, FGIO_IOC_SHARES, &list));
	CHECK("no entries", !list.count && !list.cursor);
	printf("%u %u %u\n", list.state, list.groups, list.asking);
}

static int scale(struct fgio_share_scale request)
{
	return ioctl(device, FGIO_IOC_SCALE_SHARE, &request);
}

static void case_scale(char **arguments)
{
	struct fgio_share_scale request = {
		.cgroup = strtoull(arguments[0], NULL, 10),
		.scale = (unsigned int)atoi(arguments[1]),
		.hold_ms = (unsigned int)atoi(arguments[2]),
	};

	CHECK("scale", !scale(request));
}

static const char *disk;

static void as_first_user(void)
{
	struct fgio_share_list list = on(disk);
	struct fgio_share_scale request = { 1, FGIO_SCALE_LEAST, 1 };

	become(FIRST_USER);
	FAILS_WITH(EPERM, ioctl(device, FGIO_IOC_SHARES, &list));
	FAILS_WITH(EPERM, scale(request));
}

static void wrong_scales(void *unmapped)
{
	struct fgio_share_scale right = { 1, FGIO_SCALE_LEAST, FGIO_SCALE_HOLD_MS_MAX };
	struct fgio_share_scale wrong = right;

	/* The root's, within both bounds. */
	CHECK("a scale", !scale(right));
	wrong.scale--;
	FAILS_WITH(EINVAL, scale(wrong));
	wrong.scale = FGIO_SCALE_MOST + 1;
	FAILS_WITH(EINVAL, scale(wrong));
	wrong = right;
	wrong.hold_ms = 0;
	FAILS_WITH(EINVAL, scale(wrong));
	wrong.hold_ms = FGIO_SCALE_HOLD_MS_MAX + 1;
	FAILS_WITH(EINVAL, scale(wrong));
	wrong = right;
	wrong.cgroup = UINT64_MAX;
	FAILS_WITH(ENOENT, scale(wrong));
	FAILS_WITH(EFAULT, ioctl(device, FGIO_IOC_SCALE_SHARE, unmapped));
}

static int call(struct fgio_share_list list)
{
	return ioctl(device, FGIO_IOC_SHARES, &list);
}

static void case_errors(char **arguments)
{
	struct fgio_share_list list = on(arguments[0]), wrong;
	char *unmapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK("memory", unmapped != MAP_FAILED && !munmap(unmapped, 4096));
	disk = arguments[0];
	in_child(as_first_user, 0);
	list.shares = (uintptr_t)all;
	list.capacity = FGIO_SHARES_AT_ONCE;
	CHECK("as many as there may be", !call(list));
	wrong = list;
	wrong.capacity++;
	FAILS_WITH(EINVAL, call(wrong));
	wrong.capacity = UINT32_MAX;
	FAILS_WITH(EINVAL, call(wrong));
	wrong = list;
	wrong.reserved = 1;
	FAILS_WITH(EINVAL, call(wrong));
	wrong = list;
	wrong.minor += 1U << 20;
	FAILS_WITH(ENODEV, call(wrong));
	wrong = on(arguments[1]);
	FAILS_WITH(ENODEV, call(wrong));
	wrong = list;
	wrong.shares = (uintptr_t)unmapped;
	FAILS_WITH(EFAULT, call(wrong));
	FAILS_WITH(EFAULT, ioctl(device, FGIO_IOC_SHARES, unmapped));
	wrong_scales(unmapped);
	wrong = list;
	wrong.cursor = UINT64_MAX;
	CHECK("beyond the last", !ioctl(device, FGIO_IOC_SHARES, &wrong));
	CHECK("beyond the last", !wrong.count);
}

static const struct device_case cases[] = {
	{ "list", case_list, 2 },
	{ "again", case_again, 2 },
	{ "state", case_state, 1 },
	{ "errors", case_errors, 2 },
	{ "scale", case_scale, 3 },
};

int main(int argc, char **argv)
{
	device = open(FGIO_DEVICE_PATH, O_RDWR);
	CHECK(FGIO_DEVICE_PATH, device >= 0);
	return RUN_CASE(cases, argc, argv);
}
