/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between the kernels that tests run on. */
#ifndef FGIO_TEST_COMPAT_H
#define FGIO_TEST_COMPAT_H

#include <linux/semaphore.h>
#include <linux/version.h>

/* From 6.12 on, struct fd hides its file. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define TEST_FD_FILE(fd) fd_file(fd)
#else
#define TEST_FD_FILE(fd) ((fd).file)
#endif

/* From 6.4 on, DEFINE_SEMAPHORE takes the count. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define DEFINE_SEMAPHORE_ONE(name) DEFINE_SEMAPHORE(name, 1)
#else
#define DEFINE_SEMAPHORE_ONE(name) DEFINE_SEMAPHORE(name)
#endif

#endif
