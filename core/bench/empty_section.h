/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What measuring the time under a lock adds to it. */
#ifndef FGIO_BENCH_EMPTY_SECTION_H
#define FGIO_BENCH_EMPTY_SECTION_H

/*
 * Ticks for which a lock around nothing seems to be held, to be taken off each
 * time; 0 without BENCH_TIMES. Changes the calling thread's totals.
 */
double bench_empty_section(void);

#endif /* FGIO_BENCH_EMPTY_SECTION_H */
