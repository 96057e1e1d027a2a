/* SPDX-License-Identifier: GPL-2.0 */
/*
 * I/O targets: the pages of a file and the buffers that an I/O carries. All are
 * numbers, which are compared and never followed.
 */
#ifndef FGIO_IO_TARGET_H
#define FGIO_IO_TARGET_H

#include <linux/hash.h>
#include <linux/types.h>

struct bio;
struct folio;
struct request;

/* The largest buffer of a file system: a block of XFS. */
#define FGIO_BUFFER_BYTES_MAX 65536

/* A bio's own, and that of the bio on top of it. */
#define FGIO_PRIVATES 2

/**
 * struct fgio_io_target - summary of the pages and buffers that an I/O carries
 * @mapping: file of the first page that has one, or 0; not to be followed
 * @first: lowest index of a page of that file
 * @last: highest index
 * @privates: a bit for each bi_private, see fgio_private_bit()
 * @direct: file of direct I/O, or 0; not to be followed
 * @contexts: a bit for each context to which direct I/O completes (direct.h),
 *	see fgio_private_bit(); filled in by fgio_direct_contexts_of_request()
 * @contexts_known: whether it was
 * @several: it carries pages of other files, too, or is for them
 * @log_write: it may write an XFS log
 * @upkeep: it is upkeep of a stacked device (upkeep.h)
 * @for_others: it does the work of bios of others (originals.h), and the rest is
 *	that of these, which may be gone
 * @known: whether the other members were filled in
 */
struct fgio_io_target {
	u64 mapping;
	u64 first;
	u64 last;
	u64 privates;
	u64 direct;
	u64 contexts;
	bool contexts_known;
	bool several;
	bool log_write;
	bool upkeep;
	bool for_others;
	bool known;
};

/* Different values may share a bit. */
static inline u64 fgio_private_bit(u64 bi_private)
{
	return 1ULL << hash_64(bi_private, 6);
}

/*
 * Takes the pages between the first and the last to lie between these in the
 * file, too. Context: any; the bio cannot complete.
 */
void fgio_io_target_of_bio(struct fgio_io_target *target, struct bio *bio);

/* The same for an original (originals.h), which may be gone. @bio: a copy. */
void fgio_io_target_of_original(struct fgio_io_target *target, u64 address,
				struct bio *bio);

/* Context: the queue's lock is held, and the request is queued. */
void fgio_io_target_of_request(struct fgio_io_target *target,
			       struct request *rq);

/*
 * bi_private, each 0 where there is none. @bio: at @address, or a copy of what is
 * there. Context: as fgio_io_target_of_bio(), or @bio is a copy.
 */
void fgio_privates_of_bio(u64 address, const struct bio *bio,
			  u64 privates[FGIO_PRIVATES]);

/*
 * The buffer that a bio carries, by its bi_private; 0 where it carries none, or
 * is too large for one. Context: as fgio_io_target_of_bio().
 */
u64 fgio_buffer_of_bio(struct bio *bio);

/*
 * The block device of the file system of a file, or 0. @mapping: of a target;
 * of one that is for others, the file may be gone.
 */
u64 fgio_file_system_of(u64 mapping);

/*
 * Return: the folio's file or swap area, or 0. @index: out: index of its first
 * page there. Context: any; the folio stays.
 */
u64 fgio_mapping_of_folio(struct folio *folio, u64 *index);

#endif /* FGIO_IO_TARGET_H */
