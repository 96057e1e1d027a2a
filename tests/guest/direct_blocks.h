/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* For programs whose threads read and write single blocks of a disk, past the page cache. */
#ifndef DIRECT_BLOCKS_H
#define DIRECT_BLOCKS_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "device_calls.h"

#define BLOCK 4096
/* Blocks side by side would become one request. */
#define APART 3

static const char *disk;

static int open_disk(void)
{
	int file = open(disk, O_RDWR | O_DIRECT);

	CHECK(disk, file >= 0);
	return file;
}

/* Zeros. */
static void *get_block(void)
{
	void *block = aligned_alloc(BLOCK, BLOCK);

	CHECK("memory", block);
	memset(block, 0, BLOCK);
	return block;
}

#endif /* DIRECT_BLOCKS_H */
