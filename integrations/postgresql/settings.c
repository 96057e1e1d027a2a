// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/guc.h"

#include "applications.h"
#include "auxiliary.h"
#include "list.h"
#include "request.h"
#include "settings.h"
#include "stats.h"

/* Statements that read or write whole tables and may take hours; requests do not wait for them. */
#define MAINTENANCE                                                                         \
	"ALTER TABLE, ANALYZE, CHECKPOINT, CLUSTER, COPY TO, CREATE DATABASE, CREATE INDEX, " \
	"CREATE MATERIALIZED VIEW, REFRESH MATERIALIZED VIEW, REINDEX, VACUUM"

static const struct config_enum_entry scope_values[] = {
	{ "statement", SCOPE_STATEMENT, false },
	{ "transaction", SCOPE_TRANSACTION, false },
	{ "session", SCOPE_SESSION, false },
	{ "never", SCOPE_NEVER, false },
	{ NULL, 0, false },
};

static const struct config_enum_entry class_values[] = {
	{ "default", CLASS_BY_COMMAND, false },
	{ "foreground", CLASS_FOREGROUND, false },
	{ "background", CLASS_BACKGROUND, false },
	{ NULL, 0, false },
};

struct settings settings;
static bool settings_in_background[COMMANDS];

/* "COPY TO" and "COPY FROM" stand for one direction, "COPY" for both. */
static bool parse_copy(const char *name, bool *found)
{
	bool both = !pg_strcasecmp(name, "COPY");
	bool out = both || !pg_strcasecmp(name, "COPY TO");
	bool in = both || !pg_strcasecmp(name, "COPY FROM");

	if (out)
		found[COMMAND_COPY_TO] = true;
	if (in)
		found[CMDTAG_COPY] = true;
	return out || in;
}

static bool parse_commands(char *list, bool *found)
{
	char *name;

	while (list_next(&list, &name)) {
		CommandTag tag;

		/* An empty list, or one that ends with a comma. */
		if (!*name && !list)
			break;
		if (parse_copy(name, found))
			continue;
		tag = GetCommandTagEnum(name);
		if (tag == CMDTAG_UNKNOWN) {
			GUC_check_errdetail("There is no command \"%s\".", name);
			return false;
		}
		found[tag] = true;
	}
	return true;
}

int settings_command(struct Node *statement)
{
	if (IsA(statement, CopyStmt) && !((CopyStmt *)statement)->is_from)
		return COMMAND_COPY_TO;
	return CreateCommandTag(statement);
}

enum section_class settings_class(int command)
{
	if (settings.scope == SCOPE_NEVER)
		return SECTION_NONE;
	if (settings.class == CLASS_BACKGROUND)
		return SECTION_BACKGROUND;
	if (settings.class == CLASS_FOREGROUND)
		return SECTION_FOREGROUND;
	if (settings_in_background[command] || applications_in_background())
		return SECTION_BACKGROUND;
	return SECTION_FOREGROUND;
}

/* Memory that the server frees. */
static void *guc_extra(size_t size)
{
#if PG_VERSION_NUM >= 160000
	return guc_malloc(LOG, size);
#else
	return malloc(size);
#endif
}

static bool check_background_commands(char **value, void **extra, GucSource source)
{
	bool found[COMMANDS] = { 0 };
	char *list = pstrdup(*value);
	bool good = parse_commands(list, found);

	pfree(list);
	if (!good)
		return false;
	*extra = guc_extra(sizeof(found));
	if (!*extra)
		return false;
	memcpy(*extra, found, sizeof(found));
	return true;
}

static void assign_background_commands(const char *value, void *extra)
{
	memcpy(settings_in_background, extra, sizeof(settings_in_background));
}

static void define_choices(void)
{
	DefineCustomEnumVariable("fgio.scope",
				 "How long a session is labelled.",
				 "During statements, whole transactions, always, or never.",
				 &settings.scope, SCOPE_STATEMENT, scope_values, PGC_SUSET, 0, NULL, NULL,
				 NULL);
	DefineCustomEnumVariable("fgio.class",
				 "What the statements of a session are to fgio.",
				 "By default all that fgio.background_* do not list are foreground.",
				 &settings.class, CLASS_BY_COMMAND, class_values, PGC_USERSET, 0, NULL,
				 NULL, NULL);
	DefineCustomStringVariable("fgio.background_commands",
				   "Commands that no request waits for, by their command tags.",
				   NULL, &settings.background_commands, MAINTENANCE, PGC_USERSET, 0,
				   check_background_commands, assign_background_commands, NULL);
}

static void define_switches(void)
{
	DefineCustomBoolVariable("fgio.track_time",
				 "Measures how long sessions are foreground and background.",
				 NULL, &stats_track_time, false, PGC_SUSET, 0, NULL, NULL, NULL);
	if (!process_shared_preload_libraries_in_progress)
		return;
	DefineCustomBoolVariable("fgio.wal_writer",
				 "Makes the WAL writer foreground, since commits wait for it.", NULL,
				 &auxiliary_wal_writer, true, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("fgio.io_workers",
				 "Makes I/O workers foreground, since they read for backends.",
				 "Only PostgreSQL 18 has them, with io_method=worker.",
				 &auxiliary_io_workers, true, PGC_POSTMASTER, 0, NULL, NULL, NULL);
}

void settings_define(void)
{
	define_choices();
	define_switches();
	applications_define();
	request_define();
	MarkGUCPrefixReserved("fgio");
}
