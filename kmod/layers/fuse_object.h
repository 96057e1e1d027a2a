/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Readers of the objects of FUSE (fs/fuse), which are private to it. Each object
 * may be gone, and its address lead to anything. Context: any.
 */
#ifndef FGIO_FUSE_OBJECT_H
#define FGIO_FUSE_OBJECT_H

#include <linux/types.h>

/**
 * struct fgio_fuse_object - a request, or the file that requests are about
 * @connection: to the daemon, for one file system; never 0
 * @node: the file, in the connection; 0: none
 * @number: the request, in the connection; 0 for a file, and for a request that
 *	has not been queued
 * @is_pending: no thread of the daemon has taken the request
 */
struct fgio_fuse_object {
	u64 connection;
	u64 node;
	u64 number;
	bool is_pending;
};

/* The connection of a struct fuse_mount; 0: none. */
u64 fgio_fuse_connection_of(u64 mount);

/* Whether a connection takes no further requests in the background for now. */
bool fgio_fuse_is_blocked(u64 connection);

/* Return: whether a struct fuse_req leads to a connection. */
bool fgio_fuse_read_request(u64 request, struct fgio_fuse_object *object);

/*
 * Return: whether an inode, or that of a mapping, is one of FUSE.
 */
bool fgio_fuse_read_inode(u64 inode, struct fgio_fuse_object *object);
bool fgio_fuse_read_mapping(u64 mapping, struct fgio_fuse_object *object);

/* Whether writes of a file are with the daemon. */
bool fgio_fuse_writes(u64 inode);

#endif /* FGIO_FUSE_OBJECT_H */
