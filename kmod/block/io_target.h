/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an I/O carries: pages of a file, and buffers. All are numbers that are
 * compared and never followed.
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

/**
 * struct fgio_io_target - which pages and buffers an I/O carries, in short
 * @mapping: file of the first page that has one, or 0; a number, not to be
 *	followed
 * @first: lowest index of a page of that file
 * @last: highest index
 * @privates: a bit for each bi_private, see fgio_private_bit()
 * @several: pages of other files are there, too
 * @log_write: it may write an XFS log
 * @known: whether all this was looked up
 */
struct fgio_io_target {
	u64 mapping;
	u64 first;
	u64 last;
	u64 privates;
	bool several;
	bool log_write;
	bool known;
};

/* Different ones may share a bit. */
static inline u64 fgio_private_bit(u64 bi_private)
{
	return 1ULL << hash_64(bi_private, 6);
}

/*
 * The pages between the first and the last are taken to lie between them in
 * the file, too. Context: any; the bio cannot complete.
 */
void fgio_io_target_of_bio(struct fgio_io_target *target, struct bio *bio);

/* Context: the queue's lock is held, and the request is queued. */
void fgio_io_target_of_request(struct fgio_io_target *target,
			       struct request *rq);

/*
 * The buffer that a bio is for, by its bi_private; 0 where it is for none, or
 * too large for one. Context: as fgio_io_target_of_bio().
 */
u64 fgio_buffer_of_bio(struct bio *bio);

/*
 * Return: the folio's file or swap area, or 0. @index: out: its first page
 * there. Context: any; the folio stays.
 */
u64 fgio_mapping_of_folio(struct folio *folio, u64 *index);

#endif /* FGIO_IO_TARGET_H */
