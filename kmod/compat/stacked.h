/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the private structs of stacked devices (drivers/md) name the bio that
 * they do the work of: the build finds the offsets in the BTF of the modules.
 */
#ifndef FGIO_COMPAT_STACKED_H
#define FGIO_COMPAT_STACKED_H

#include <linux/types.h>

#include "fgio_private.h"

/*
 * How far before a clone of the device mapper its struct dm_io is named, and the
 * original in that; 0: this kernel's are not known. A kernel has both or none.
 */
#if defined(FGIO_DM_TARGET_IO_CLONE) && defined(FGIO_DM_TARGET_IO_IO) && \
	defined(FGIO_DM_IO_ORIGINAL)
#define fgio_dm_io_before_clone (FGIO_DM_TARGET_IO_CLONE - FGIO_DM_TARGET_IO_IO)
#define fgio_dm_io_original FGIO_DM_IO_ORIGINAL
#else
#define fgio_dm_io_before_clone 0
#define fgio_dm_io_original 0
#endif

/* In what bi_private of an encrypted write leads to; 0: not known. */
#ifdef FGIO_DM_CRYPT_IO_BASE
#define fgio_dm_crypt_io_base FGIO_DM_CRYPT_IO_BASE
#else
#define fgio_dm_crypt_io_base 0
#endif

/* In what bi_private of a clone leads to: one for each kind that is known. */
static const size_t fgio_original_named_at[] = {
#ifdef FGIO_MD_IO_CLONE_ORIGINAL
	FGIO_MD_IO_CLONE_ORIGINAL,
#endif
#ifdef FGIO_MD_IO_ACCT_ORIGINAL
	FGIO_MD_IO_ACCT_ORIGINAL,
#endif
#ifdef FGIO_R1BIO_MASTER
	FGIO_R1BIO_MASTER,
#endif
#ifdef FGIO_R10BIO_MASTER
	FGIO_R10BIO_MASTER,
#endif
#ifdef FGIO_DM_CRYPT_IO_BASE
	FGIO_DM_CRYPT_IO_BASE,
#endif
};

#endif /* FGIO_COMPAT_STACKED_H */
