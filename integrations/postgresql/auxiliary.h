/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Processes of the server that requests wait for in ways the kernel cannot see:
 * the WAL writer, since a commit that finds it flushing waits at a lock, and the
 * I/O workers of PostgreSQL 18, which submit the reads of backends under
 * io_method=worker. No code of an extension runs in them, so a backend, which
 * is the same user, tags them from outside.
 */
#ifndef FGIO_AUXILIARY_H
#define FGIO_AUXILIARY_H

/* GUC fgio.wal_writer. */
extern bool auxiliary_wal_writer;

/* GUC fgio.io_workers; servers before 18 have no such workers. */
extern bool auxiliary_io_workers;

/*
 * Tags them as foreground, where the settings say so. Each backend does so once: after a reload of
 * the module, or a restart of such a process, the next connection tags anew.
 *
 * Return: true when all are tagged; false while there is no WAL writer yet.
 */
extern bool auxiliary_label(void);

#endif
