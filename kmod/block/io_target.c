// SPDX-License-Identifier: GPL-2.0
/*
 * I/O targets: the pages and buffers that an I/O carries, by which the request
 * is found that a task waits for. Pages and buffers are named by numbers, which
 * are compared and never followed: a page's file may be gone by then.
 *
 * Pages in the swap cache are named by their place in the swap area. Left out
 * are other pages without a file, and copies (bounce buffers, compression),
 * which cannot be recognised. The buffers of direct I/O are not locked for it:
 * it is known by its file. Copies and clones of stacked devices count as what
 * was submitted to the device on top (stacked.c, originals.h).
 */
#include <linux/bio.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "base/foreign.h"
#include "block/direct.h"
#include "block/io_target.h"
#include "block/originals.h"
#include "block/stacked.h"
#include "block/upkeep.h"
#include "compat/compat.h"

/* Numbers for swap areas, apart from the addresses that name files. */
static u64 number_of_swap_area(swp_entry_t entry)
{
	return ((u64)swp_type(entry) + 1) << 8;
}

/*
 * Where the folio is not locked (direct I/O from a mapped file), its members
 * may change meanwhile. The result is then a wrong number, and does no harm.
 */
u64 fgio_mapping_of_folio(struct folio *folio, u64 *index)
{
	unsigned long mapping;
	swp_entry_t entry;

	if (folio_test_slab(folio))
		return 0;
	if (folio_test_swapcache(folio)) {
		entry = fgio_swap_entry(folio);
		*index = swp_offset(entry);
		return number_of_swap_area(entry);
	}
	mapping = (unsigned long)READ_ONCE(folio->mapping);
	if (mapping & PAGE_MAPPING_FLAGS)
		return 0;
	*index = folio->index;
	return mapping;
}

/* Numbers of swap areas are no addresses. */
u64 fgio_file_system_of(u64 mapping)
{
	const struct address_space *pages = (const void *)mapping;
	const struct super_block *super;
	const struct inode *inode;

	if (!fgio_is_memory(pages))
		return 0;
	inode = (const void *)fgio_peek_word(&pages->host);
	if (!fgio_is_memory(inode))
		return 0;
	super = (const void *)fgio_peek_word(&inode->i_sb);
	return fgio_is_memory(super) ? fgio_peek_word(&super->s_bdev) : 0;
}

static u64 mapping_of(struct page *page, u64 *index)
{
	struct folio *folio = page_folio(page);
	u64 mapping = fgio_mapping_of_folio(folio, index);

	*index += folio_page_idx(folio, page);
	return mapping;
}

/* A clone has its parent's bio_vecs, which do not show where it ends. */
static struct bio_vec last_bvec(struct bio *bio)
{
	struct bio_vec bvec, last = {};
	struct bvec_iter iter;

	if (!bio_flagged(bio, BIO_CLONED) && bio->bi_vcnt)
		return bio->bi_io_vec[bio->bi_vcnt - 1];
	bio_for_each_bvec(bvec, bio, iter)
		last = bvec;
	return last;
}

static struct page *last_page(struct bio *bio)
{
	struct bio_vec last = last_bvec(bio);

	if (!last.bv_len)
		return bio_page(bio);
	return last.bv_page + (last.bv_offset + last.bv_len - 1) / PAGE_SIZE;
}

static void hold_pages(struct fgio_io_target *target, u64 mapping, u64 first,
		      u64 last)
{
	if (!mapping)
		return;
	if (!target->mapping) {
		target->mapping = mapping;
		target->first = first;
		target->last = last;
	} else if (target->mapping != mapping) {
		target->several = true;
	} else {
		target->first = min(target->first, first);
		target->last = max(target->last, last);
	}
}

static noinline void note_pages(struct fgio_io_target *target,
				struct page *first_page, struct page *last_page)
{
	u64 mapping, first, last_mapping, last;

	mapping = mapping_of(first_page, &first);
	last_mapping = mapping_of(last_page, &last);
	if (mapping && mapping == last_mapping) {
		hold_pages(target, mapping, min(first, last),
			  max(first, last));
		return;
	}
	hold_pages(target, mapping, first, first);
	hold_pages(target, last_mapping, last, last);
}

/* fs/xfs/xfs_log.c, xlog_write_iclog(); jbd2's writes look alike. */
static bool is_log_write(blk_opf_t opf)
{
	const blk_opf_t flags = REQ_META | REQ_SYNC | REQ_IDLE;

	return (opf & REQ_OP_MASK) == REQ_OP_WRITE && (opf & flags) == flags;
}

static void note_direct(struct fgio_io_target *target, u64 mapping)
{
	if (target->direct && mapping != target->direct)
		target->several = true;
	else
		target->direct = mapping;
}

static void note_privates(struct fgio_io_target *target, const struct bio *bio,
			  const struct bio *on_top)
{
	target->privates |= fgio_private_bit((u64)bio->bi_private) |
			    fgio_private_bit((u64)on_top->bi_private);
}

/*
 * A page is waited for until its bio completes, which may be split: that on top
 * has all of its bio_vecs. Return: whether it has. It may be gone.
 */
static bool note_all_pages(struct fgio_io_target *target,
			   const struct bio *on_top)
{
	struct page *first, *last;

	if (!fgio_original_pages(on_top, &first, &last))
		return false;
	note_pages(target, first, last);
	return true;
}

/* Users' data that a driver passes on in the same way (dm-mirror) has a file. */
static bool is_upkeep(struct bio *bio, const struct bio *on_top)
{
	u64 index;

	return fgio_bio_is_upkeep(on_top) &&
	       (!bio_has_data(bio) || !mapping_of(bio_page(bio), &index));
}

/*
 * @on_top: the bio on top of @bio, which has its pages, or @bio itself; or a copy
 * of what is at @address.
 */
static void add_pages_of(struct fgio_io_target *target, struct bio *bio,
			 u64 address, struct bio *on_top)
{
	if (fgio_bio_is_direct(on_top)) {
		note_direct(target, fgio_direct_mapping_of(address, on_top));
		return;
	}
	target->upkeep |= is_upkeep(bio, on_top);
	note_privates(target, bio, on_top);
	if (!bio_has_data(bio))
		return;
	if (!note_all_pages(target, on_top))
		note_pages(target, bio_page(bio), last_page(bio));
	if (!target->mapping)
		note_direct(target, fgio_direct_mapping_of(address, on_top));
}

/* A bio that may be gone (originals.h). @bio: a copy of it. */
static void add_original(u64 address, struct bio *bio, void *data)
{
	struct fgio_io_target *target = data;
	struct fgio_top top;

	if (!fgio_stacked_top(address, bio, &top))
		top = (struct fgio_top){ .address = address, .bio = *bio };
	target->for_others = true;
	target->upkeep |= fgio_bio_is_upkeep(&top.bio);
	target->log_write |= is_log_write(bio->bi_opf);
	if (fgio_bio_is_direct(&top.bio)) {
		note_direct(target, fgio_direct_mapping_of_original(
					    top.address, &top.bio));
		return;
	}
	note_privates(target, bio, &top.bio);
	note_all_pages(target, &top.bio);
	if (!target->mapping)
		note_direct(target, fgio_direct_mapping_of_original(
					    top.address, &top.bio));
}

/* @bio: at @address, or a copy of what is there, whose pages stay. */
static void add_clone(struct fgio_io_target *target, u64 address,
		      struct bio *bio)
{
	struct fgio_top top;

	if (fgio_stacked_top(address, bio, &top))
		add_pages_of(target, bio, top.address, &top.bio);
	else
		add_pages_of(target, bio, address, bio);
}

static bool may_be_encrypted(struct bio *bio)
{
	u64 index;

	return !fgio_bio_is_direct(bio) && bio_has_data(bio) &&
	       !mapping_of(bio_page(bio), &index);
}

static void add_bio(struct fgio_io_target *target, struct bio *bio,
		    struct fgio_originals_look *look)
{
	struct fgio_top plain;

	if (fgio_originals_visit_below(bio, look))
		return;
	if (bio_flagged(bio, BIO_CLONED))
		add_clone(target, (u64)bio, bio);
	else if (may_be_encrypted(bio) && fgio_stacked_plain(bio, &plain))
		add_clone(target, plain.address, &plain.bio);
	else
		add_pages_of(target, bio, (u64)bio, bio);
}

void fgio_io_target_of_bio(struct fgio_io_target *target, struct bio *bio)
{
	struct fgio_originals_look look = {
		.visit = add_original,
		.data = target,
	};

	*target = (struct fgio_io_target){
		.known = true,
		.log_write = is_log_write(bio->bi_opf),
	};
	add_bio(target, bio, &look);
}

void fgio_io_target_of_original(struct fgio_io_target *target, u64 address,
				struct bio *bio)
{
	*target = (struct fgio_io_target){ .known = true };
	add_original(address, bio, target);
}

void fgio_io_target_of_request(struct fgio_io_target *target,
			       struct request *rq)
{
	struct fgio_originals_look look = {
		.visit = add_original,
		.data = target,
	};
	struct bio *bio;

	*target = (struct fgio_io_target){
		.known = true,
		.log_write = is_log_write(rq->cmd_flags),
	};
	__rq_for_each_bio(bio, rq)
		add_bio(target, bio, &look);
}

void fgio_privates_of_bio(u64 address, const struct bio *bio,
			  u64 privates[FGIO_PRIVATES])
{
	struct fgio_top top;

	privates[0] = (u64)bio->bi_private;
	privates[1] = fgio_stacked_top(address, bio, &top) ?
			      (u64)top.bio.bi_private : 0;
}

/* Buffers (fs/buffer.c, fs/xfs/xfs_buf.c) are known by their bi_private. */
u64 fgio_buffer_of_bio(struct bio *bio)
{
	u64 privates[FGIO_PRIVATES];

	if (!(bio->bi_opf & REQ_META) ||
	    bio->bi_iter.bi_size > FGIO_BUFFER_BYTES_MAX)
		return 0;
	fgio_privates_of_bio((u64)bio, bio, privates);
	return privates[1] ?: privates[0];
}
