/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The classes of the server's threads. */
#ifndef FGIO_REDIS_LABELS_H
#define FGIO_REDIS_LABELS_H

#include <stdbool.h>

enum label {
	LABEL_NONE,
	LABEL_FOREGROUND,
	LABEL_BACKGROUND,
};

/* Labels the calling thread, in place of its former label. */
void label_self(enum label label);

/*
 * Tags the server's background threads, which close files, sync the append-only file and free
 * memory. No code of a module runs in them, so the calling thread tags them.
 *
 * Return: the number of tagged threads; 0 without fgio.
 */
int label_workers(enum label label);

/* In a child of fork(): the parent's label does not count there. */
void label_child(enum label label);

#endif
