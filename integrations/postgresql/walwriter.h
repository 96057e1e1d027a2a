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
 * Tags the WAL writer as foreground, if there is one, and it should be. Called once in each
 * backend: after a reload of the module the next connection heals it.
 */
extern void walwriter_label(void);

#endif
