// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Cost of an I/O of a tenant: time for each.
 *
 *	share-cost DISK CGROUPS TENANTS IOS DEPTH
 *
 * As many processes, each in its own of the cgroups CGROUPS/t0, t1 and so on,
 * read 4 KiB at random, DEPTH at once, and give way to the next one.
 *
 * Prints "IOS NANOSECONDS" of all together.
 */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "lab/guest/program.h"

#define BLOCK 4096
#define BLOCKS (1U << 18)
#define MOST 64

static aio_context_t context;
static struct iocb blocks[MOST];
static struct iocb *all[MOST];
static uint32_t place;

static void read_some(long depth)
{
	struct io_event events[MOST];
	long i;

	for (i = 0; i < depth; i++) {
		place = place * 1664525 + 1013904223;
		blocks[i].aio_offset = (int64_t)(place % BLOCKS) * BLOCK;
	}
	if (syscall(SYS_io_submit, context, depth, all) != depth)
		stop("io_submit");
	if (syscall(SYS_io_getevents, context, depth, MOST, events, NULL) != depth)
		stop("io_getevents");
	for (i = 0; i < depth; i++)
		if (events[i].res != BLOCK)
			stop("read");
}

static void join_cgroup(const char *cgroups, long tenant)
{
	char path[256];
	int file;

	snprintf(path, sizeof(path), "%s/t%ld/cgroup.procs", cgroups, tenant);
	file = open(path, O_WRONLY);
	if (file < 0 || write(file, "0", 1) != 1)
		stop(path);
	close(file);
}

static void prepare(const char *name, long depth)
{
	int disk = open(name, O_RDONLY | O_DIRECT), i;

	if (disk < 0)
		stop(name);
	if (depth < 1 || depth > MOST || syscall(SYS_io_setup, MOST, &context))
		stop("io_setup");
	for (i = 0; i < MOST; i++) {
		blocks[i] = (struct iocb){
			.aio_lio_opcode = IOCB_CMD_PREAD,
			.aio_fildes = (uint32_t)disk,
			.aio_buf = (uintptr_t)aligned_alloc(BLOCK, BLOCK),
			.aio_nbytes = BLOCK,
		};
		all[i] = &blocks[i];
	}
	read_some(depth);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	long tenants, ios, depth, tenant, done;
	int ready[2], begins[2], status;
	uint64_t begin;
	char byte = 0;

	if (argc != 6)
		return 2;
	tenants = atol(argv[3]);
	ios = atol(argv[4]) / tenants;
	depth = atol(argv[5]);
	if (pipe(ready) || pipe(begins))
		stop("pipe");
	for (tenant = 0; tenant < tenants; tenant++) {
		if (fork())
			continue;
		place = (uint32_t)tenant + 1;
		join_cgroup(argv[2], tenant);
		prepare(argv[1], depth);
		if (write(ready[1], &byte, 1) != 1 || read(begins[0], &byte, 1) != 1)
			stop("pipe");
		for (done = 0; done < ios; done += depth) {
			read_some(depth);
			sched_yield();
		}
		return 0;
	}
	for (tenant = 0; tenant < tenants; tenant++)
		if (read(ready[0], &byte, 1) != 1)
			stop("pipe");
	begin = now_ns();
	for (tenant = 0; tenant < tenants; tenant++)
		if (write(begins[1], &byte, 1) != 1)
			stop("pipe");
	for (tenant = 0; tenant < tenants; tenant++)
		if (wait(&status) < 0 || status)
			stop("a tenant failed");
	printf("%ld %llu\n", (ios + depth - 1) / depth * depth * tenants,
	       (unsigned long long)(now_ns() - begin));
	return 0;
}
