// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Clients of a Redis server whose requests arrive whatever the server does.
 *
 *	redis-clients SOCKET RATE CONNECTIONS KEYS SECONDS SEED
 *
 * SETs of 1,000 bytes to random ones of KEYS keys arrive at random moments, RATE a second. One that
 * finds all connections busy waits for one. Prints a line for each, in
 * microseconds: when it was answered (wall clock), and how long that was after
 * it had arrived.
 */
#define _GNU_SOURCE
#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lab/guest/program.h"

#define CONNECTIONS_MAX 256
#define VALUE_BYTES 1000
#define US_PER_S 1e6

static const char answer[] = "+OK\r\n";
static char value[VALUE_BYTES];
static struct pollfd sockets[CONNECTIONS_MAX];
/* When the request arrived that a connection is busy with; 0: none. */
static double arrived_us[CONNECTIONS_MAX];
static int connections, busy;

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * US_PER_S + now.tv_nsec / 1e3;
}

static int connect_to(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(name.sun_path, path, sizeof(name.sun_path) - 1);
	if (server < 0 || connect(server, (struct sockaddr *)&name, sizeof(name)))
		stop(path);
	return server;
}

/* Intervals between arrivals that know nothing of each other. */
static double interval_us(double rate)
{
	return -log(1 - drand48()) * US_PER_S / rate;
}

static void send_request(int which, long keys)
{
	char request[VALUE_BYTES + 128], key[32];
	int key_length, length;

	key_length = snprintf(key, sizeof(key), "key:%ld", (long)(drand48() * keys));
	length = snprintf(request, sizeof(request),
			  "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%.*s\r\n", key_length, key,
			  VALUE_BYTES, VALUE_BYTES, value);
	if (write(sockets[which].fd, request, length) != length)
		stop("write to the server");
}

static void receive_answer(int which)
{
	char text[sizeof(answer) - 1];
	double now;

	if (recv(sockets[which].fd, text, sizeof(text), MSG_WAITALL) != sizeof(text) ||
	    memcmp(text, answer, sizeof(text))) {
		fprintf(stderr, "the server says %.*s\n", (int)sizeof(text), text);
		exit(1);
	}
	now = now_us();
	printf("%.0f %.0f\n", now, now - arrived_us[which]);
	arrived_us[which] = 0;
	busy--;
}

static void start_request(double due_us, long keys)
{
	int which = 0;

	while (arrived_us[which])
		which++;
	arrived_us[which] = due_us;
	busy++;
	send_request(which, keys);
}

static void wait_for_answers(double until_us)
{
	double left_us = until_us - now_us();
	struct timespec left = { 0 };

	if (left_us > 0) {
		left.tv_sec = left_us / US_PER_S;
		left.tv_nsec = (left_us - left.tv_sec * US_PER_S) * 1e3;
	}
	if (ppoll(sockets, connections, busy < connections ? &left : NULL, NULL) < 0)
		stop("ppoll");
	for (int i = 0; i < connections; i++)
		if (sockets[i].revents)
			receive_answer(i);
}

int main(int argc, char **argv)
{
	double rate, due_us, end_us;
	long keys;

	if (argc != 7) {
		fprintf(stderr, "redis-clients SOCKET RATE CONNECTIONS KEYS SECONDS SEED\n");
		return 2;
	}
	rate = atof(argv[2]);
	connections = atoi(argv[3]);
	keys = atol(argv[4]);
	srand48(atol(argv[6]));
	for (int i = 0; i < connections && i < CONNECTIONS_MAX; i++)
		sockets[i] = (struct pollfd){ .fd = connect_to(argv[1]), .events = POLLIN };
	for (int i = 0; i < VALUE_BYTES; i++)
		value[i] = 'a' + (char)(drand48() * 26);

	due_us = now_us();
	end_us = due_us + atof(argv[5]) * US_PER_S;
	while (due_us < end_us) {
		while (due_us <= now_us() && busy < connections) {
			start_request(due_us, keys);
			due_us += interval_us(rate);
		}
		wait_for_answers(due_us);
	}
	while (busy)
		wait_for_answers(due_us);
	return 0;
}
