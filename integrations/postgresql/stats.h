/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The counts of each backend, in shared memory, for the view pg_stat_fgio. Without
 * shared_preload_libraries there is no shared memory, and nothing is counted.
 */
#ifndef FGIO_STATS_H
#define FGIO_STATS_H

#include "section.h"

/* GUC fgio.track_time. */
extern bool stats_track_time;

/* In the postmaster, while libraries are preloaded. */
extern void stats_install_hooks(void);

/* Puts the calling backend into the view, until it exits. Calls after the first do nothing. */
extern void stats_enlist(void);

/* Sets the class of the calling backend. */
extern void stats_set_class(enum section_class class, bool labelled);

extern void stats_count_statement(enum section_class class);
extern void stats_add_time(enum section_class class, uint64 ns);

/* Whether there is shared memory. */
extern bool stats_exist(void);

/* The class of this parallel worker's leader now; SECTION_NONE when it is not known. */
extern enum section_class stats_class_of_leader(void);

#endif
