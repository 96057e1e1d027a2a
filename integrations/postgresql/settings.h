/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The extension's settings, and what they say of a command. */
#ifndef FGIO_SETTINGS_H
#define FGIO_SETTINGS_H

#include "tcop/cmdtag.h"

#include "section.h"

/* How many command tags there are. PostgreSQL 15 has a name for that, 17 has none. */
enum {
	COMMAND_TAGS = 0
#define PG_CMDTAG(tag, name, evtrgok, rwrok, rowcnt) +1
#include "tcop/cmdtaglist.h"
#undef PG_CMDTAG
};

/* fgio.scope: how long a section lasts. */
enum settings_scope {
	SCOPE_STATEMENT,
	SCOPE_TRANSACTION,
	SCOPE_SESSION,
	SCOPE_NEVER,
};

/* fgio.class: what statements are. */
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

/* Of each command tag, whether it is among fgio.background_commands. */
extern bool settings_in_background[COMMAND_TAGS];

/* What a statement with this tag is. */
static inline enum section_class settings_class(CommandTag tag)
{
	if (settings.scope == SCOPE_NEVER)
		return SECTION_NONE;
	if (settings.class == CLASS_BACKGROUND)
		return SECTION_BACKGROUND;
	if (settings.class == CLASS_BY_COMMAND && settings_in_background[tag])
		return SECTION_BACKGROUND;
	return SECTION_FOREGROUND;
}

#endif
