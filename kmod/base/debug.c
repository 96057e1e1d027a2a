// SPDX-License-Identifier: GPL-2.0
/* The module's folder in debugfs. */
#include <linux/debugfs.h>

#include "base/debug.h"

static struct dentry *root;

struct dentry *fgio_debug_root(void)
{
	return root;
}

int fgio_debug_init(void)
{
	root = debugfs_create_dir("fgio", NULL);
	return 0;
}

void fgio_debug_exit(void)
{
	debugfs_remove_recursive(root);
}
