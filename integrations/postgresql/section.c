// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "postgres.h"

#include <fgio.h>

#include "portability/instr_time.h"
#include "storage/fd.h"

#include "section.h"
#include "stats.h"
#include "walwriter.h"

/* Files that libfgio keeps open: one for calls, one for this thread's word. */
#define FILES 2

static enum section_class now = SECTION_NONE;
static bool attached;
static bool labelled;
static bool walwriter_seen;
static instr_time begun;
static bool timed;

/*
 * Before the first section of this process. A session that began before the module came stays
 * without a label: libfgio looks once in a thread, to cost nothing.
 */
static void attach(void)
{
	attached = true;
	labelled = fgio_init() == 0;
	if (!labelled)
		return;
	for (int i = 0; i < FILES; i++)
		ReserveExternalFD();
}

static void end_section(void)
{
	if (timed) {
		instr_time took;

		INSTR_TIME_SET_CURRENT(took);
		INSTR_TIME_SUBTRACT(took, begun);
		stats_add_time(now, INSTR_TIME_GET_MICROSEC(took));
	}
	if (now == SECTION_FOREGROUND)
		fgio_foreground_end();
	else
		fgio_background_end();
}

static void begin_section(enum section_class class)
{
	if (!attached)
		attach();
	if (labelled && !walwriter_seen)
		walwriter_seen = walwriter_label();
	if (class == SECTION_FOREGROUND)
		fgio_foreground_begin();
	else
		fgio_background_begin();
	timed = stats_track_time;
	if (timed)
		INSTR_TIME_SET_CURRENT(begun);
}

void section_become(enum section_class class)
{
	if (class == now)
		return;
	if (now != SECTION_NONE)
		end_section();
	if (class != SECTION_NONE)
		begin_section(class);
	now = class;
	stats_set_class(class, labelled);
}

enum section_class section_now(void)
{
	return now;
}

bool section_labelled(void)
{
	return labelled;
}

const char *section_name(enum section_class class)
{
	switch (class) {
	case SECTION_FOREGROUND:
		return "foreground";
	case SECTION_BACKGROUND:
		return "background";
	default:
		return NULL;
	}
}
