// SPDX-License-Identifier: GPL-2.0
/* Reads of requests, connections and inodes of FUSE that may be gone. */
#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/fuse.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include "base/foreign.h"
#include "compat/fuse.h"
#include "layers/fuse_object.h"

/* Set in the number of a request that is sent again (FUSE_UNIQUE_RESEND). */
#define NUMBER_RESENT BIT_ULL(63)

static int number_of(u64 object, size_t place)
{
	const int *at = (const int *)(object + place);
	int number;

	if (!IS_ALIGNED((u64)at, sizeof(*at)) || !fgio_is_memory(at) ||
	    get_kernel_nofault(number, at))
		return 0;
	return number;
}

u64 fgio_fuse_connection_of(u64 mount)
{
	return mount ? fgio_kernel_word(mount + FGIO_FUSE_MOUNT_CONNECTION) : 0;
}

bool fgio_fuse_is_blocked(u64 connection)
{
	return connection &&
	       number_of(connection, FGIO_FUSE_CONNECTION_BLOCKED);
}

static u64 header_word(u64 request, size_t place)
{
	return fgio_kernel_word(request + FGIO_FUSE_REQUEST_HEADER + place);
}

bool fgio_fuse_read_request(u64 request, struct fgio_fuse_object *object)
{
	u64 mount = fgio_kernel_word(request + FGIO_FUSE_REQUEST_MOUNT);
	u64 flags = fgio_kernel_word(request + FGIO_FUSE_REQUEST_FLAGS);

	*object = (struct fgio_fuse_object){
		.connection = fgio_fuse_connection_of(mount),
		.node = header_word(request,
				    offsetof(struct fuse_in_header, nodeid)),
		.number = header_word(request,
				      offsetof(struct fuse_in_header, unique)) &
			  ~NUMBER_RESENT,
		.is_pending = flags & BIT_ULL(FGIO_FUSE_REQUEST_IS_PENDING),
	};
	return object->connection;
}

/* Other file systems keep other things where FUSE keeps its mount. */
static u64 mount_of(u64 inode)
{
	u64 super = fgio_kernel_word(inode + offsetof(struct inode, i_sb));

	if (!super || fgio_kernel_word(super + offsetof(struct super_block,
							s_magic)) !=
			      FUSE_SUPER_MAGIC)
		return 0;
	return fgio_kernel_word(super +
				offsetof(struct super_block, s_fs_info));
}

static u64 fuse_inode_of(u64 inode)
{
	return inode - FGIO_FUSE_INODE_INODE;
}

bool fgio_fuse_read_inode(u64 inode, struct fgio_fuse_object *object)
{
	u64 connection = fgio_fuse_connection_of(mount_of(inode));

	*object = (struct fgio_fuse_object){
		.connection = connection,
		.node = connection ? fgio_kernel_word(fuse_inode_of(inode) +
						      FGIO_FUSE_INODE_NODE) : 0,
	};
	return connection;
}

bool fgio_fuse_read_mapping(u64 mapping, struct fgio_fuse_object *object)
{
	u64 inode = fgio_kernel_word(mapping +
				     offsetof(struct address_space, host));

	return inode && fgio_fuse_read_inode(inode, object);
}

bool fgio_fuse_writes(u64 inode)
{
	return number_of(fuse_inode_of(inode), FGIO_FUSE_INODE_WRITES) > 0;
}
