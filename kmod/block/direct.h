/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Direct I/O: the file that it is for, and the context to which its completion
 * goes, a ring of io_uring (io_ring_ctx) or a context of libaio (kioctx), where
 * a thread waits that need not be its submitter. All results are addresses,
 * which are compared and never followed.
 *
 * Left out: I/O of file systems without fs/iomap.
 */
#ifndef FGIO_BLOCK_DIRECT_H
#define FGIO_BLOCK_DIRECT_H

#include <linux/types.h>

struct bio;
struct fgio_io_target;
struct request;

/* A way leads to a context of libaio, another to a ring; one is real. */
#define FGIO_DIRECT_CONTEXTS 2

/*
 * The address_space of direct I/O of fs/iomap, or 0. @bio: what is at @address,
 * or a copy of it. Context: the bio stays.
 */
u64 fgio_direct_mapping_of(u64 address, const struct bio *bio);

/* The same for a bio that may be gone. @bio: a copy of it. Context: any. */
u64 fgio_direct_mapping_of_original(u64 address, const struct bio *bio);

/*
 * The kiocb of direct I/O, or 0, or a word that is none. @bio: what is at @address,
 * or a copy of it. Context: any.
 */
u64 fgio_direct_iocb_of(u64 address, const struct bio *bio);

/*
 * The contexts to which a bio may complete: at most one is real, others are
 * words that are no context's address, or 0. Takes about ten reads of memory,
 * and is for walks alone. Context: any; the bio may be gone.
 */
void fgio_direct_contexts_of(const struct bio *bio,
			     u64 contexts[FGIO_DIRECT_CONTEXTS]);

/*
 * Fills in the contexts of a request's target, unless they are known. Context:
 * the queue's lock is held, and the request is queued.
 */
void fgio_direct_contexts_of_request(struct fgio_io_target *target,
				     struct request *rq);

#endif /* FGIO_BLOCK_DIRECT_H */
