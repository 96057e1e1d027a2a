// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A FUSE file system that passes on a folder (lab/guest/fuse.h), until its daemon
 * ends:
 *
 *	fuse_daemon FOLDER TOP THREADS [hands-over]
 */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "lab/guest/fuse.h"

int main(int argc, char **argv)
{
	pid_t daemon;

	if (argc < 4)
		return 2;
	daemon = fuse_begin(argv[1], argv[2], atoi(argv[3]), argc > 4);
	printf("%d\n", daemon);
	fflush(stdout);
	waitpid(daemon, NULL, 0);
	return 0;
}
