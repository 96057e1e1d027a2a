/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Random direct reads of 4 KiB with libaio, for programs that count their cost. */
#ifndef DIRECT_READS_H
#define DIRECT_READS_H

#include <linux/aio_abi.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "lab/guest/program.h"

#define BLOCK 4096
#define BLOCKS (1U << 18)
#define MOST 64

static aio_context_t context;
static struct iocb blocks[MOST];
static struct iocb *all[MOST];

/* For reads from the disk of this name, 1 to MOST at once. */
static inline void prepare_reads(const char *name, long depth)
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
}

/* place: of the last block read; the next ones follow from it. */
static inline void submit_reads(long depth, uint32_t *place)
{
	long i;

	for (i = 0; i < depth; i++) {
		*place = *place * 1664525 + 1013904223;
		blocks[i].aio_offset = (int64_t)(*place % BLOCKS) * BLOCK;
	}
	if (syscall(SYS_io_submit, context, depth, all) != depth)
		stop("io_submit");
}

static inline void await_reads(long depth)
{
	struct io_event events[MOST];
	long i;

	if (syscall(SYS_io_getevents, context, depth, MOST, events, NULL) != depth)
		stop("io_getevents");
	for (i = 0; i < depth; i++)
		if (events[i].res != BLOCK)
			stop("read");
}

#endif /* DIRECT_READS_H */
