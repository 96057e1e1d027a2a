// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * More memory than there is: swapper MIB ROUNDS. Fills MIB of memory with a
 * pattern that depends on the page and the round, and compares, from the end:
 * what is still in memory need not be swapped out to make room for the rest.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096

static uint64_t pattern(size_t page, int round)
{
	return (page + 1) * 0x9e3779b97f4a7c15ULL + (uint64_t)round;
}

int main(int argc, char **argv)
{
	size_t pages = argc == 3 ? strtoul(argv[1], NULL, 10) * 256 : 0;
	int rounds = argc == 3 ? atoi(argv[2]) : 0, round;
	char *memory;
	size_t page;

	if (!pages || !rounds)
		return 2;
	memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("swapper: mmap");
		return 1;
	}
	for (round = 0; round < rounds; round++) {
		for (page = 0; page < pages; page++)
			*(uint64_t *)(memory + page * PAGE + 8 * (page % 512)) =
				pattern(page, round);
		for (page = pages; page-- > 0;)
			if (*(uint64_t *)(memory + page * PAGE + 8 * (page % 512)) !=
			    pattern(page, round)) {
				fprintf(stderr, "swapper: page %zu came back changed\n", page);
				return 1;
			}
	}
	return 0;
}
