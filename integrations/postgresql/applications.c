// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "postgres.h"

#include "utils/guc.h"

#include "applications.h"
#include "list.h"

/*
 * PostgreSQL's own programs and the usual third one that reads or writes whole tables. The server's
 * side of pg_basebackup is a WAL sender, which has no label in any case.
 */
#define PROGRAMS                                                                             \
	"clusterdb, pg_amcheck, pg_basebackup, pg_dump, pg_dumpall, pg_repack, pg_restore, " \
	"pg_rewind, reindexdb, vacuumdb"

static char *listed;

/* The name of the last look-up, and its result: a name rarely changes. */
static char looked_for[NAMEDATALEN];
static bool found;

static bool is_listed(const char *name)
{
	char *copy = strdup(listed), *rest = copy, *each;
	bool is = false;

	while (!is && list_next(&rest, &each))
		is = *each && !strcmp(each, name);
	free(copy);
	return is;
}

bool applications_in_background(void)
{
	const char *name = application_name ? application_name : "";

	if (strncmp(name, looked_for, sizeof(looked_for) - 1) != 0) {
		snprintf(looked_for, sizeof(looked_for), "%s", name);
		found = is_listed(looked_for);
	}
	return found;
}

/* The list is another one: the next look is a new one. No name begins so. */
static void assign_applications(const char *value, void *extra)
{
	snprintf(looked_for, sizeof(looked_for), "\n");
}

void applications_define(void)
{
	DefineCustomStringVariable("fgio.background_applications",
				   "Programs whose sessions are background, by application_name.",
				   "fgio.class, where it is not \"default\", overrides it.", &listed,
				   PROGRAMS, PGC_USERSET, 0, NULL, assign_applications, NULL);
}
