/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The extension's settings, and the class that they give a command. */
#ifndef FGIO_SETTINGS_H
#define FGIO_SETTINGS_H

#include "tcop/cmdtag.h"

#include "section.h"

/* The list of command tags ends with a count in PostgreSQL 15, and without one in 17: count here. */
#define PG_CMDTAG(tag, ...) COUNTED_##tag,
enum {
#include "tcop/cmdtaglist.h"
	COMMAND_TAGS,
};
#undef PG_CMDTAG

/* The commands of fgio.background_commands: command tags, and the direction of COPY. */
enum {
	COMMAND_COPY_TO = COMMAND_TAGS,
	COMMANDS,
};

/* fgio.scope: how long a section lasts. */
enum settings_scope {
	SCOPE_STATEMENT,
	SCOPE_TRANSACTION,
	SCOPE_SESSION,
	SCOPE_NEVER,
};

/* fgio.class: the class of statements. */
enum settings_class_of {
	CLASS_BY_COMMAND,
	CLASS_FOREGROUND,
	CLASS_BACKGROUND,
};

struct settings {
	int scope;
	int class;
	char *background_commands;
};

extern struct settings settings;

/* Defines the GUCs; in _PG_init(). */
extern void settings_define(void);

/* Which of fgio.background_commands a utility statement may be: its tag, or COMMAND_COPY_TO. */
struct Node;
extern int settings_command(struct Node *statement);

/* The class of a statement, by settings_command() or its tag. */
extern enum section_class settings_class(int command);

#endif
