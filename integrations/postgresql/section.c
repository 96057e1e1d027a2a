// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "postgres.h"

#include <time.h>

#include <fgio.h>

#include "storage/fd.h"

#include "auxiliary.h"
#include "request.h"
#include "section.h"
#include "stats.h"

/* Files that libfgio keeps open: one for calls, one for this thread's flag. */
#define FILES 2
#define NS_PER_S 1000000000ULL

enum section_class section_now = SECTION_NONE;

static bool attached;
static bool labelled;
static bool auxiliary_seen;
/* 0 when it is not measured. */
static uint64 begun_ns;

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

/* Out of line: most servers do not measure it. */
static pg_noinline uint64 clock_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * NS_PER_S + at.tv_nsec;
}

static void end_section(void)
{
	if (begun_ns)
		stats_add_time(section_now, clock_ns() - begun_ns);
	if (section_now == SECTION_FOREGROUND)
		fgio_request_end();
	else
		fgio_background_end();
}

static void begin_section(enum section_class class)
{
	if (!attached)
		attach();
	if (labelled && !auxiliary_seen)
		auxiliary_seen = auxiliary_label();
	if (class == SECTION_FOREGROUND)
		fgio_request_begin_as(request_served());
	else
		fgio_background_begin();
	begun_ns = stats_track_time ? clock_ns() : 0;
}

void section_change(enum section_class class)
{
	if (section_now != SECTION_NONE)
		end_section();
	if (class != SECTION_NONE)
		begin_section(class);
	section_now = class;
	stats_set_class(class, labelled);
}

void section_renew(void)
{
	enum section_class class = section_now;

	if (class != SECTION_FOREGROUND)
		return;
	end_section();
	begin_section(class);
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
