/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* In place of kmod/compat/compat.h: the kernel is the one of fake.h. */
#ifndef GONE_COMPAT_H
#define GONE_COMPAT_H

#include "fgio_private.h"
#include "fake.h"

#define fgio_swap_entry(folio) ((folio)->swap)
#define fgio_bio_is_direct(bio) bio_flagged(bio, BIO_PAGE_PINNED)

static inline const void *fgio_iomap_dio_iocb_place(const void *dio)
{
	return (const char *)dio + FGIO_IOMAP_DIO_IOCB;
}

#endif /* GONE_COMPAT_H */
