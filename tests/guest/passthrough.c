// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * SCSI commands past the file system and the elevator's order: passthrough
 * DISK COUNT. COUNT times: INQUIRY, WRITE(10) of a pattern to the last blocks,
 * READ(10) of it, and the same blocks by pread(). All must agree.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BLOCK 512
#define BLOCKS 8

static int disk;

static void command(const unsigned char *bytes, unsigned char length, int direction,
		    void *data, unsigned int size)
{
	unsigned char sense[32] = {};
	sg_io_hdr_t header = {
		.interface_id = 'S',
		.dxfer_direction = direction,
		.cmd_len = length,
		.mx_sb_len = sizeof(sense),
		.dxfer_len = size,
		.dxferp = data,
		.cmdp = (unsigned char *)bytes,
		.sbp = sense,
		.timeout = 20000,
	};

	if (ioctl(disk, SG_IO, &header) < 0) {
		perror("passthrough: SG_IO");
		exit(1);
	}
	if ((header.info & SG_INFO_OK_MASK) != SG_INFO_OK) {
		fprintf(stderr, "passthrough: command %#x: status %#x host %#x driver %#x\n",
			bytes[0], header.status, header.host_status, header.driver_status);
		exit(1);
	}
}

static void transfer(unsigned char operation, int direction, uint32_t block, void *data)
{
	unsigned char bytes[10] = {
		operation, 0, (unsigned char)(block >> 24), (unsigned char)(block >> 16),
		(unsigned char)(block >> 8), (unsigned char)block, 0, 0, BLOCKS, 0,
	};

	command(bytes, sizeof(bytes), direction, data, BLOCKS * BLOCK);
}

int main(int argc, char **argv)
{
	static const unsigned char inquiry[6] = { 0x12, 0, 0, 0, 96, 0 };
	unsigned char answer[96], read_back[BLOCKS * BLOCK];
	unsigned char *pattern;
	unsigned long long bytes;
	uint32_t block;
	int i, count;

	if (argc != 3)
		return 2;
	disk = open(argv[1], O_RDWR | O_DIRECT);
	pattern = aligned_alloc(4096, (size_t)BLOCKS * BLOCK * 2);
	if (disk < 0 || !pattern || ioctl(disk, BLKGETSIZE64, &bytes)) {
		perror("passthrough");
		return 1;
	}
	block = (uint32_t)(bytes / BLOCK) - BLOCKS;
	count = atoi(argv[2]);
	for (i = 0; i < count; i++) {
		unsigned char *other = pattern + BLOCKS * BLOCK;

		command(inquiry, sizeof(inquiry), SG_DXFER_FROM_DEV, answer, sizeof(answer));
		memset(pattern, 'a' + i % 26, BLOCKS * BLOCK);
		transfer(0x2a, SG_DXFER_TO_DEV, block, pattern);
		memset(read_back, 0, sizeof(read_back));
		transfer(0x28, SG_DXFER_FROM_DEV, block, read_back);
		if (pread(disk, other, BLOCKS * BLOCK, (off_t)block * BLOCK) != BLOCKS * BLOCK) {
			perror("passthrough: pread");
			return 1;
		}
		if (memcmp(pattern, read_back, sizeof(read_back)) ||
		    memcmp(pattern, other, sizeof(read_back))) {
			fprintf(stderr, "passthrough: round %d: other data than written\n", i);
			return 1;
		}
	}
	printf("%d rounds, device \"%.16s\"\n", count, answer + 16);
	return 0;
}
