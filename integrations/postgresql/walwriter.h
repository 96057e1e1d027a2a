/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The WAL writer serves requests: a commit that finds it flushing waits for it,
 * at a lock whose holder the kernel cannot see. No code of an extension runs in
 * it, so a backend, which is the same user, tags it from outside.
 */
#ifndef FGIO_WALWRITER_H
#define FGIO_WALWRITER_H

/* GUC fgio.wal_writer. */
extern bool walwriter_foreground;

/*
 * Tags the WAL writer as foreground, if it should be. Each backend does so once: after a reload of
 * the module, or a restart of the WAL writer, the next connection heals it.
 *
 * Return: whether there is no more to do; false while there is no WAL writer yet.
 */
extern bool walwriter_label(void);

#endif
