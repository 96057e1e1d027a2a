/* SPDX-License-Identifier: GPL-2.0 */
/* Sockets that lead to a task of this host. */
#ifndef FGIO_LOCAL_SOCKET_H
#define FGIO_LOCAL_SOCKET_H

#include <linux/types.h>

struct file;

/*
 * Whether what @file, a socket, receives comes from a task of this host: a UNIX
 * socket, or one of the network whose two ends are addresses of this host. It
 * may be gone: it is read without faulting. Context: any.
 */
bool fgio_socket_is_local(const struct file *file);

/*
 * Whether the kernel is delivering what current sends, or makes room for, to
 * another task of this host: current is in a call that sends to, or receives
 * from, such a socket, and the softirq runs on its processor. Context: a
 * softirq, not one that an interrupt has interrupted.
 */
bool fgio_current_delivers_locally(void);

#endif /* FGIO_LOCAL_SOCKET_H */
