/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Settings that are lists of names, separated by commas. */
#ifndef FGIO_LIST_H
#define FGIO_LIST_H

#include <ctype.h>

/*
 * Takes the next name off a list: sets *name to it, without the space around it. Commas are
 * overwritten. An empty list has one name, which is empty.
 *
 * Return: whether there was one.
 */
static inline bool list_next(char **list, char **name)
{
	char *end;

	if (!*list)
		return false;
	*name = *list;
	*list = strchr(*name, ',');
	if (*list)
		*(*list)++ = '\0';
	while (isspace((unsigned char)**name))
		(*name)++;
	end = *name + strlen(*name);
	while (end > *name && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return true;
}

#endif
