// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * YCSB's clients of a Redis server.
 *
 *	redis-clients SOCKET RATE CONNECTIONS UPDATE_SHARE KEYS SECONDS SEED
 *
 * GETs and SETs of 1,000 bytes, RATE a second (ycsb.h); the keys are those of DEBUG POPULATE. A
 * request that finds all connections busy waits for one. Prints a line for each that was answered.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lab/guest/program.h"
#include "lab/guest/ycsb.h"

#define CONNECTIONS_MAX 256
#define US_PER_S 1e6

static const char set_answer[] = "+OK\r\n";
static const char get_answer[] = "$1000\r\n";
static char value[YCSB_VALUE_BYTES];
static struct pollfd sockets[CONNECTIONS_MAX];
static struct ycsb_request requests[CONNECTIONS_MAX];
static bool is_busy[CONNECTIONS_MAX];
static int connections, busy;

static int connect_to(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(name.sun_path, path, sizeof(name.sun_path) - 1);
	if (server < 0 || connect(server, (struct sockaddr *)&name, sizeof(name)))
		stop(path);
	return server;
}

static int compose(char *text, size_t room, const struct ycsb_request *request)
{
	char key[32];
	int length = snprintf(key, sizeof(key), "key:%llu", (unsigned long long)request->key);

	if (!request->is_update)
		return snprintf(text, room, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", length, key);
	return snprintf(text, room, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%.*s\r\n", length, key,
			YCSB_VALUE_BYTES, YCSB_VALUE_BYTES, value);
}

static void start_request(struct ycsb_request request)
{
	char text[YCSB_VALUE_BYTES + 128];
	int length = compose(text, sizeof(text), &request);
	int which = 0;

	while (is_busy[which])
		which++;
	ycsb_begin(&request);
	requests[which] = request;
	is_busy[which] = true;
	busy++;
	if (write(sockets[which].fd, text, length) != length)
		stop("write to the server");
}

static void receive_answer(int which)
{
	char text[sizeof(get_answer) - 1 + YCSB_VALUE_BYTES + 2];
	bool is_update = requests[which].is_update;
	const char *expected = is_update ? set_answer : get_answer;
	ssize_t length = is_update ? sizeof(set_answer) - 1 : sizeof(text);

	if (recv(sockets[which].fd, text, length, MSG_WAITALL) != length ||
	    memcmp(text, expected, strlen(expected))) {
		fprintf(stderr, "the server says %.*s\n", (int)strlen(expected), text);
		exit(1);
	}
	ycsb_answered(&requests[which]);
	is_busy[which] = false;
	busy--;
}

/* For a request that was sent, or until a time; 0: for however long it takes. */
static void wait_for_answers(double until_us)
{
	double left_us = until_us - ycsb_now_us();
	struct timespec left = { 0 };

	if (left_us > 0) {
		left.tv_sec = left_us / US_PER_S;
		left.tv_nsec = (left_us - left.tv_sec * US_PER_S) * 1e3;
	}
	if (ppoll(sockets, connections, until_us ? &left : NULL, NULL) < 0)
		stop("ppoll");
	for (int i = 0; i < connections; i++)
		if (sockets[i].revents)
			receive_answer(i);
}

int main(int argc, char **argv)
{
	struct ycsb_request next;
	struct ycsb load;
	double end_us;

	if (argc != 8) {
		fprintf(stderr, "redis-clients SOCKET RATE CONNECTIONS UPDATE_SHARE KEYS SECONDS SEED\n");
		return 2;
	}
	connections = atoi(argv[3]);
	for (int i = 0; i < connections && i < CONNECTIONS_MAX; i++)
		sockets[i] = (struct pollfd){ .fd = connect_to(argv[1]), .events = POLLIN };
	ycsb_fill(value, atol(argv[7]));
	load = ycsb_start(atof(argv[2]), atof(argv[4]), atol(argv[5]), atol(argv[7]));
	end_us = ycsb_now_us() + atof(argv[6]) * US_PER_S;

	next = ycsb_next(&load);
	while (ycsb_now_us() < end_us) {
		while (next.due_us <= ycsb_now_us() && busy < connections) {
			start_request(next);
			next = ycsb_next(&load);
		}
		wait_for_answers(busy < connections ? next.due_us : 0);
	}
	while (busy)
		wait_for_answers(0);
	return 0;
}
