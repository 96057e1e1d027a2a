/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What it takes to move a cache line between cores 0 and 1 of this machine. */
#ifndef FGIO_BENCH_TRANSFER_H
#define FGIO_BENCH_TRANSFER_H

/*
 * Two threads write a line in turns, each as soon as it sees what the other
 * wrote: two transfers as lines.h counts them, since the line is loaded, and
 * stored to while the other has a copy.
 *
 * Return: ns for each of the two, the median over short windows; takes some ms.
 * 0: there is no core 1.
 */
double bench_transfer_ns(void);

#endif /* FGIO_BENCH_TRANSFER_H */
