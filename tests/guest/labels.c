// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Prints the threads that have a class now: a line "TID foreground|background" each. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "uapi/fgio.h"

#define CAPACITY 4096

int main(void)
{
	static struct fgio_tag tags[CAPACITY];
	struct fgio_tag_list list = { .tags = (uintptr_t)tags, .capacity = CAPACITY };
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (device < 0 || ioctl(device, FGIO_IOC_LIST_TAGS, &list)) {
		perror("labels: " FGIO_DEVICE_PATH);
		return 1;
	}
	for (__u32 i = 0; i < list.count && i < CAPACITY; i++)
		printf("%d %s\n", tags[i].tid,
		       tags[i].class == FGIO_TAG_FOREGROUND ? "foreground" : "background");
	return 0;
}
