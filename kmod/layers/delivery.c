// SPDX-License-Identifier: GPL-2.0
/*
 * What a task sends over the network to its own host is delivered before its
 * call returns, in a softirq on its processor: the device puts the packet into
 * the processor's backlog (net/core/dev.c, netif_rx_internal()), which the end
 * of dev_queue_xmit() has NET_RX_SOFTIRQ empty. So current is the sender, though
 * its receiver is woken as by a network card.
 *
 *	netif_rx	a packet of the loopback device, or of a veth, goes there:
 *			the sender is noted, with the processor's counts of
 *			softirqs
 *
 * A wake-up is the sender's if exactly one softirq has begun on the processor
 * since, of NET_RX: not that of a timer, of a drive, or of an interrupt later on.
 *
 * Left out: what is delivered by ksoftirqd, by a timer or on another processor
 * (receive packet steering).
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/interrupt.h>
#include <linux/kernel_stat.h>
#include <linux/net.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "base/foreign.h"
#include "layers/delivery.h"

/* --- sockets ---------------------------------------------------------------- */

/* One that has no other end listens, or takes datagrams from anywhere. */
static bool is_local_ipv4(const struct sock_common *sock)
{
	return !sock->skc_daddr || ipv4_is_loopback(sock->skc_daddr) ||
	       sock->skc_daddr == sock->skc_rcv_saddr;
}

static bool is_local_ipv6(const struct sock_common *sock)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct in6_addr *other = &sock->skc_v6_daddr;

	return ipv6_addr_any(other) || ipv6_addr_loopback(other) ||
	       ipv6_addr_v4mapped_loopback(other) ||
	       ipv6_addr_equal(other, &sock->skc_v6_rcv_saddr);
#else
	return false;
#endif
}

static bool leads_to_this_host(const struct sock_common *sock)
{
	switch (sock->skc_family) {
	case AF_UNIX:
		return true;
	case AF_INET:
		return is_local_ipv4(sock);
	case AF_INET6:
		return is_local_ipv6(sock);
	default:
		return false;
	}
}

bool fgio_socket_is_local(const struct file *file)
{
	struct sock_common sock;
	u64 socket;

	socket = fgio_kernel_word((u64)&file->private_data);
	return socket &&
	       fgio_copy_kernel(&sock,
				fgio_kernel_word(socket +
						 offsetof(struct socket, sk)),
				sizeof(sock)) &&
	       leads_to_this_host(&sock);
}

/* --- deliveries ------------------------------------------------------------- */

/**
 * struct sent - the last packet that a task on this processor sent to its host
 * @sender: the task; compared, never followed
 * @net_rx: softirqs of NET_RX that had begun until then
 * @others: the same of other kinds
 */
struct sent {
	const struct task_struct *sender;
	unsigned int net_rx;
	unsigned int others;
};

static DEFINE_PER_CPU(struct sent, last_sent);

static unsigned int other_softirqs(void)
{
	unsigned int kind, sum = 0;

	for (kind = 0; kind < NR_SOFTIRQS; kind++)
		if (kind != NET_RX_SOFTIRQ)
			sum += kstat_this_cpu->softirqs[kind];
	return sum;
}

/* What a softirq answers, as with an acknowledgement, is not current's. */
void fgio_on_netif_rx(void *data, struct sk_buff *packet)
{
	struct sent *sent;

	if (!in_task())
		return;
	sent = get_cpu_ptr(&last_sent);
	sent->net_rx = kstat_this_cpu->softirqs[NET_RX_SOFTIRQ];
	sent->others = other_softirqs();
	sent->sender = current;
	put_cpu_ptr(&last_sent);
}

bool fgio_delivers_for_current(void)
{
	const struct sent *sent = this_cpu_ptr(&last_sent);

	return in_serving_softirq() && !in_hardirq() && !in_nmi() &&
	       sent->sender == current &&
	       kstat_this_cpu->softirqs[NET_RX_SOFTIRQ] == sent->net_rx + 1 &&
	       other_softirqs() == sent->others;
}
