/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What threads of the server are to fgio. */
#ifndef FGIO_REDIS_LABELS_H
#define FGIO_REDIS_LABELS_H

#include <stdbool.h>

enum label {
	LABEL_NONE,
	LABEL_FOREGROUND,
	LABEL_BACKGROUND,
};

/* Labels the calling thread, instead of what it was labelled before. */
void label_self(enum label label);

/*
 * Tags the server's own helper threads, which close files, sync the append-only file and free
 * memory. No code of a module runs in them, so another thread of the process does.
 *
 * Return: how many were tagged; 0 without fgio.
 */
int label_helpers(enum label label);

/* In a child of fork(): what the parent labelled does not count here. */
void label_child(enum label label);

#endif
