/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints that the kernel does not export, found by name. */
#ifndef FGIO_TRACEPOINT_H
#define FGIO_TRACEPOINT_H

struct tracepoint;

/* Return: NULL when this kernel has no such tracepoint. Context: may sleep. */
struct tracepoint *fgio_find_tracepoint(const char *name);

#endif /* FGIO_TRACEPOINT_H */
