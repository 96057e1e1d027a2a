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
#include <sched.h>
#include <sys/wait.h>

#include "lab/guest/direct-reads.h"

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

int main(int argc, char **argv)
{
	long tenants, ios, depth, tenant, done;
	int ready[2], begins[2], status;
	uint64_t begin;
	uint32_t place;
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
		prepare_reads(argv[1], depth);
		submit_reads(depth, &place);
		await_reads(depth);
		if (write(ready[1], &byte, 1) != 1 || read(begins[0], &byte, 1) != 1)
			stop("pipe");
		for (done = 0; done < ios; done += depth) {
			submit_reads(depth, &place);
			await_reads(depth);
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
