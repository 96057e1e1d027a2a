// SPDX-License-Identifier: GPL-2.0
#include <linux/bio.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "block/loop.h"
#include "block/originals.h"
#include "block/stacked.h"
#include "block/stripe.h"

bool fgio_originals_visit(u64 address, const struct bio *bio,
			  struct fgio_originals_look *look)
{
	return fgio_stripe_visit(address, bio, look) ||
	       fgio_loop_visit(address, bio, look);
}

bool fgio_originals_visit_below(struct bio *bio,
				struct fgio_originals_look *look)
{
	struct fgio_top top;

	if (!FGIO_STRIPES_KNOWN && !fgio_loops_are_used())
		return false;
	if (bio_flagged(bio, BIO_CLONED) &&
	    fgio_stacked_top((u64)bio, bio, &top))
		return fgio_originals_visit(top.address, &top.bio, look);
	return fgio_originals_visit((u64)bio, bio, look);
}

static struct page *page_of(const struct bio_vec *place, bool last)
{
	struct bio_vec vec;
	struct page *page;

	if (!fgio_is_memory(place) ||
	    copy_from_kernel_nofault(&vec, place, sizeof(vec)))
		return NULL;
	page = vec.bv_page;
	if (last && vec.bv_len)
		page += (vec.bv_offset + vec.bv_len - 1) / PAGE_SIZE;
	return fgio_is_page(page) ? page : NULL;
}

bool fgio_original_pages(const struct bio *bio, struct page **first,
			 struct page **last)
{
	if (bio->bi_flags & (1U << BIO_CLONED) || !bio->bi_vcnt)
		return false;
	*first = page_of(bio->bi_io_vec, false);
	*last = page_of(bio->bi_io_vec + bio->bi_vcnt - 1, true);
	return *first && *last;
}
