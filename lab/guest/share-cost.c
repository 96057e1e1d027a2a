// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Cost of an I/O of a tenant: time for each.
 *
 *	share-cost DISK CGROUPS TENANTS IOS DEPTH
 *
 * As many processes, each in its own of the cgroups CGROUPS/t0, t1 and so on,
 * read 4 KiB at random, DEPTH at once, and give way to the next one.
 *
 * Prints "IOS NANOSECONDS IDLE" of all together, IDLE being the nanoseconds in
 * which no processor did anything.
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

/* Context: nothing is idle now. */
static unsigned long long idle_ns(void)
{
	FILE *file = fopen("/proc/timer_list", "r");
	unsigned long long ns, sum = 0;
	unsigned int cpus = 0;
	char line[256];

	if (!file)
		stop("/proc/timer_list");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, " .idle_sleeptime : %llu nsecs", &ns) != 1)
			continue;
		sum += ns;
		cpus++;
	}
	fclose(file);
	if (!cpus)
		stop("no idle times in /proc/timer_list");
	return sum;
}

int main(int argc, char **argv)
{
	long tenants, ios, depth, tenant, done;
	int ready[2], begins[2], status;
	unsigned long long idle;
	uint64_t begin, took;
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
	idle = idle_ns();
	begin = now_ns();
	for (tenant = 0; tenant < tenants; tenant++)
		if (write(begins[1], &byte, 1) != 1)
			stop("pipe");
	for (tenant = 0; tenant < tenants; tenant++)
		if (wait(&status) < 0 || status)
			stop("a tenant failed");
	took = now_ns() - begin;
	printf("%ld %llu %llu\n", (ios + depth - 1) / depth * depth * tenants,
	       (unsigned long long)took, idle_ns() - idle);
	return 0;
}
