/* SPDX-License-Identifier: GPL-2.0 */
/* What a task sends over the network to its own host. */
#ifndef FGIO_DELIVERY_H
#define FGIO_DELIVERY_H

#include <linux/types.h>

struct file;
struct sk_buff;

/*
 * Whether tasks of this host may send to @file, a socket: a UNIX socket, or one of
 * the network whose two ends have one address, or one of the host alone, or that
 * has no other end. It may be gone: it is read without faulting. Context: any.
 */
bool fgio_socket_is_local(const struct file *file);

/*
 * Whether the softirq that runs here delivers what current has just sent: a task
 * that is woken by it is woken by current. Context: interrupts are off.
 */
bool fgio_delivers_for_current(void);

/* A hook: the tracepoint netif_rx. */
void fgio_on_netif_rx(void *data, struct sk_buff *packet);

#endif /* FGIO_DELIVERY_H */
