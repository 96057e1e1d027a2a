// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets that lead to a task of this host.
 *
 * What a task sends to its own host is delivered before its call returns, in a
 * softirq on its processor (net/core/dev.c, process_backlog(); local_bh_enable()
 * runs it). So current is the sender, though its receiver is woken in a softirq
 * as by a network card.
 *
 * Left out: addresses of this host that differ; sockets that are not connected
 * (UDP); networks of containers; and what is delivered later, by a timer, by
 * ksoftirqd or on another processor (receive packet steering).
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "base/foreign.h"
#include "compat/compat.h"
#include "layers/local_socket.h"

static bool is_local_ipv4(const struct sock *sock)
{
	__be32 other, own;

	if (get_kernel_nofault(other, &sock->sk_daddr) ||
	    get_kernel_nofault(own, &sock->sk_rcv_saddr))
		return false;
	return ipv4_is_loopback(other) || (other && other == own);
}

static bool is_local_ipv6(const struct sock *sock)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct in6_addr other, own;

	if (copy_from_kernel_nofault(&other, &sock->sk_v6_daddr,
				     sizeof(other)) ||
	    copy_from_kernel_nofault(&own, &sock->sk_v6_rcv_saddr, sizeof(own)))
		return false;
	return ipv6_addr_loopback(&other) ||
	       ipv6_addr_v4mapped_loopback(&other) ||
	       (!ipv6_addr_any(&other) && ipv6_addr_equal(&other, &own));
#else
	return false;
#endif
}

static bool is_local_network(const struct sock *sock, int family)
{
	switch (family) {
	case AF_INET:
		return is_local_ipv4(sock);
	case AF_INET6:
		return is_local_ipv6(sock);
	default:
		return false;
	}
}

static const struct sock *sock_of(const struct file *file,
				  unsigned short *family)
{
	const struct socket *socket;
	const struct sock *sock;

	socket = (const void *)fgio_kernel_word((u64)&file->private_data);
	sock = socket ? (const void *)fgio_kernel_word((u64)&socket->sk) : NULL;
	if (!sock || get_kernel_nofault(*family, &sock->sk_family))
		return NULL;
	return sock;
}

bool fgio_socket_is_local(const struct file *file)
{
	const struct sock *sock;
	unsigned short family;

	sock = sock_of(file, &family);
	return sock &&
	       (family == AF_UNIX || is_local_network(sock, family));
}

/* Return: the place of the socket's fd among the call's arguments, or -1. */
static int socket_argument(int call)
{
	switch (call) {
	case __NR_write:
	case __NR_writev:
	case __NR_sendto:
	case __NR_sendmsg:
	case __NR_sendmmsg:
	case __NR_sendfile:
	case __NR_read:
	case __NR_readv:
	case __NR_recvfrom:
	case __NR_recvmsg:
	case __NR_recvmmsg:
	case __NR_shutdown:
		return 0;
	case __NR_splice:
		return 2;
	default:
		return -1;
	}
}

static bool is_socket(const struct file *file)
{
	const struct inode *inode;
	umode_t mode;

	inode = (const void *)fgio_kernel_word((u64)&file->f_inode);
	return inode && !get_kernel_nofault(mode, &inode->i_mode) &&
	       S_ISSOCK(mode);
}

bool fgio_current_delivers_locally(void)
{
	struct pt_regs *registers = task_pt_regs(current);
	const struct file *file;
	const struct sock *sock;
	unsigned long arguments[6];
	unsigned short family;
	int argument;

	if (current->flags & PF_KTHREAD || fgio_is_compat_call(current))
		return false;
	argument = socket_argument(syscall_get_nr(current, registers));
	if (argument < 0)
		return false;
	syscall_get_arguments(current, registers, arguments);
	file = (const void *)fgio_file_at(current, arguments[argument]);
	if (!file || !is_socket(file))
		return false;
	sock = sock_of(file, &family);
	return sock && is_local_network(sock, family);
}
