// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Runs a command as a tagged thread: tagged foreground|background|none COMMAND... */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "uapi/fgio.h"

int main(int argc, char **argv)
{
	struct fgio_tag tag = { .tid = 0, .class = FGIO_TAG_NONE };
	int device;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "foreground"))
		tag.class = FGIO_TAG_FOREGROUND;
	else if (!strcmp(argv[1], "background"))
		tag.class = FGIO_TAG_BACKGROUND;
	else if (strcmp(argv[1], "none"))
		return 2;
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (device < 0 || ioctl(device, FGIO_IOC_SET_TAG, &tag)) {
		perror("tagged: " FGIO_DEVICE_PATH);
		return 3;
	}
	execvp(argv[2], argv + 2);
	perror("tagged: execvp");
	return 4;
}
