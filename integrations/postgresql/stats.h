/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What each backend did, in shared memory, for the view pg_stat_fgio. Without
 * shared_preload_libraries there is no shared memory, and nothing is counted.
 */
#ifndef FGIO_STATS_H
#define FGIO_STATS_H

#include "section.h"

/* GUC fgio.track_time. */
extern bool stats_track_time;

/* In the postmaster, while libraries are preloaded. */
extern void stats_install_hooks(void);

/* The calling backend appears in the view, until it exits. Again: nothing. */
extern void stats_enlist(void);

/* The calling backend is in this class now. */
extern void stats_set_class(enum section_class class, bool labelled);

extern void stats_count_statement(enum section_class class);
extern void stats_add_time(enum section_class class, uint64 us);

/* Whether there is shared memory. */
extern bool stats_exist(void);

/* What the leader of this parallel worker is now; SECTION_NONE when it is not known. */
extern enum section_class stats_class_of_leader(void);

#endif
