/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A TCP connection of the guest with itself, for programs that run in guests.
 * When something fails, the program ends with a message.
 */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static inline void loopback_need(int result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	_exit(1);
}

/* The guest has no ip(8). */
static inline void loopback_raise(int socket)
{
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	loopback_need(ioctl(socket, SIOCSIFFLAGS, &up), "lo");
}

/* @ends: out: what is written to one is read from the other. */
static inline void loopback_connect(int ends[2])
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	loopback_need(listener, "socket");
	loopback_raise(listener);
	loopback_need(bind(listener, (void *)&address, length), "bind");
	loopback_need(listen(listener, 1), "listen");
	loopback_need(getsockname(listener, (void *)&address, &length),
		      "getsockname");
	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	loopback_need(ends[1], "socket");
	loopback_need(connect(ends[1], (void *)&address, length), "connect");
	ends[0] = accept(listener, NULL, NULL);
	loopback_need(ends[0], "accept");
	close(listener);
}

#endif /* LOOPBACK_H */
