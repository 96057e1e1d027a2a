/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Offsets in the private structs of FUSE (fs/fuse): the build finds them in the
 * BTF of the kernel or of its module. Where one is missing, nothing of FUSE is
 * followed.
 */
#ifndef FGIO_COMPAT_FUSE_H
#define FGIO_COMPAT_FUSE_H

#include <linux/version.h>

#include "fgio_private.h"

#if defined(FGIO_FUSE_COPY_TO_DAEMON) && defined(FGIO_FUSE_COPY_REQUEST) &&    \
	defined(FGIO_FUSE_REQUEST_FLAGS) &&                                    \
	defined(FGIO_FUSE_REQUEST_HEADER) &&                                   \
	defined(FGIO_FUSE_REQUEST_MOUNT) &&                                    \
	defined(FGIO_FUSE_REQUEST_IS_PENDING) &&                               \
	defined(FGIO_FUSE_MOUNT_CONNECTION) &&                                 \
	defined(FGIO_FUSE_CONNECTION_BLOCKED) &&                               \
	defined(FGIO_FUSE_INODE_INODE) && defined(FGIO_FUSE_INODE_NODE) &&     \
	defined(FGIO_FUSE_INODE_WRITES)
#define FGIO_FUSE_KNOWN 1
#else
#define FGIO_FUSE_KNOWN 0
#define FGIO_FUSE_COPY_TO_DAEMON 0
#define FGIO_FUSE_COPY_REQUEST 0
#define FGIO_FUSE_REQUEST_FLAGS 0
#define FGIO_FUSE_REQUEST_HEADER 0
#define FGIO_FUSE_REQUEST_MOUNT 0
#define FGIO_FUSE_REQUEST_IS_PENDING 0
#define FGIO_FUSE_MOUNT_CONNECTION 0
#define FGIO_FUSE_CONNECTION_BLOCKED 0
#define FGIO_FUSE_INODE_INODE 0
#define FGIO_FUSE_INODE_NODE 0
#define FGIO_FUSE_INODE_WRITES 0
#endif

/* The mount among the arguments of fuse_get_req(), and what follows it. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define FGIO_FUSE_GET_REQ_MOUNT 1
#else
#define FGIO_FUSE_GET_REQ_MOUNT 0
#endif

#endif /* FGIO_COMPAT_FUSE_H */
