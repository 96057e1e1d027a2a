// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Calls that sleep until another task makes room, connects, opens, signals or sends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/guest/loopback.h"
#include "scenario.h"

static int ends[2];

static void answer(unsigned int round)
{
	read_disk(round);
	NEED(write(ends[1], "", 1) == 1);
}

static void await_answer(unsigned int round)
{
	char byte;

	(void)round;
	NEED(read(ends[0], &byte, 1) == 1);
}

/* Both ends are bound and one is connected; the one that receives is not. */
static void prepare_datagrams(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ends[1] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	NEED(ends[0] >= 0 && ends[1] >= 0);
	loopback_raise(ends[0]);
	NEED(!bind(ends[0], (struct sockaddr *)&address, length));
	NEED(!getsockname(ends[0], (struct sockaddr *)&address, &length));
	NEED(!connect(ends[1], (struct sockaddr *)&address, length));
}

/* ---- room ---- */

static char page[BLOCK];

static void prepare_pipe(void)
{
	NEED(!pipe(ends));
}

static void prepare_socket(void)
{
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

/* Until it would have to wait. */
static void repeat(ssize_t (*transfer)(int file), int file)
{
	NEED(!fcntl(file, F_SETFL, O_NONBLOCK));
	while (transfer(file) > 0)
		;
	NEED(errno == EAGAIN);
	NEED(!fcntl(file, F_SETFL, 0));
}

static ssize_t write_page(int file)
{
	return write(file, page, sizeof(page));
}

static ssize_t read_page(int file)
{
	return read(file, page, sizeof(page));
}

static void fill(unsigned int round)
{
	(void)round;
	repeat(write_page, ends[1]);
}

static void make_room(unsigned int round)
{
	read_disk(round);
	repeat(read_page, ends[0]);
}

static void await_room(unsigned int round)
{
	(void)round;
	NEED(write_page(ends[1]) == sizeof(page));
}

/* ---- messages of POSIX ---- */

static mqd_t messages;

static void prepare_messages(void)
{
	struct mq_attr size = { .mq_maxmsg = 1, .mq_msgsize = 1 };

	messages = mq_open("/scenario", O_RDWR | O_CREAT | O_CLOEXEC, 0600,
			   &size);
	NEED(messages >= 0);
}

static void send_message(unsigned int round)
{
	read_disk(round);
	NEED(!mq_send(messages, "", 1, 0));
}

static void await_message(unsigned int round)
{
	char text;

	(void)round;
	NEED(mq_receive(messages, &text, 1, NULL) == 1);
}

/* ---- signals ---- */

static sigset_t wanted;

static void prepare_signal(void)
{
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	NEED(!sigprocmask(SIG_BLOCK, &wanted, NULL));
}

static void send_signal(unsigned int round)
{
	read_disk(round);
	NEED(!kill(getpid(), SIGUSR1));
}

static void await_signal(unsigned int round)
{
	(void)round;
	NEED(sigwaitinfo(&wanted, NULL) == SIGUSR1);
}

/* ---- connections, and names of pipes ---- */

static int listener;

static const struct sockaddr_un place = {
	.sun_family = AF_UNIX,
	.sun_path = "\0fgio-scenario",
};

static int unix_socket(void)
{
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	NEED(file >= 0);
	return file;
}

static void prepare_listener(void)
{
	listener = unix_socket();
	NEED(!bind(listener, (const struct sockaddr *)&place, sizeof(place)));
	NEED(!listen(listener, 0));
}

static void connect_anew(unsigned int round)
{
	(void)round;
	NEED(!connect(unix_socket(), (const struct sockaddr *)&place,
		      sizeof(place)));
}

static void connect_after_read(unsigned int round)
{
	read_disk(round);
	connect_anew(round);
}

static void await_connection(unsigned int round)
{
	(void)round;
	NEED(accept(listener, NULL, NULL) >= 0);
}

/* Each round takes one of those that wait to be accepted, and adds one. */
static void prepare_full_listener(void)
{
	prepare_listener();
	connect_anew(0);
}

static void accept_after_read(unsigned int round)
{
	read_disk(round);
	await_connection(round);
}

static void prepare_fifo(void)
{
	NEED(!mkfifo("fifo", 0600));
}

static void open_fifo(int mode)
{
	int file = open("fifo", mode | O_CLOEXEC);

	NEED(file >= 0);
	close(file);
}

static void open_after_read(unsigned int round)
{
	read_disk(round);
	open_fifo(O_WRONLY);
}

static void await_open(unsigned int round)
{
	(void)round;
	open_fifo(O_RDONLY);
}

/* ---- threads and children ---- */

static unsigned int joined_round;

static void *read_and_end(void *unused)
{
	(void)unused;
	read_disk(joined_round);
	return NULL;
}

static void await_thread(unsigned int round)
{
	pthread_t thread;

	joined_round = round;
	NEED(!pthread_create(&thread, NULL, read_and_end, NULL));
	NEED(!pthread_join(thread, NULL));
}

static void await_group(unsigned int round)
{
	pid_t child = fork();

	NEED(child >= 0);
	if (!child) {
		setpgid(0, 0);
		read_disk(round);
		_exit(0);
	}
	setpgid(child, child);
	NEED(waitpid(-child, NULL, 0) == child);
}

/* As of popen(3): nothing was sent over it before. */
static void await_output(unsigned int round)
{
	pid_t child;

	NEED(!pipe(ends));
	child = fork();
	NEED(child >= 0);
	if (!child) {
		answer(round);
		_exit(0);
	}
	await_answer(round);
	NEED(waitpid(child, NULL, 0) == child);
	close(ends[0]);
	close(ends[1]);
}

/* ---- a set in a set ---- */

static int event;
static int watch;

static void prepare_nested(void)
{
	event = eventfd(0, EFD_CLOEXEC);
	NEED(event >= 0);
	watch = watch_for_input(watch_for_input(event));
}

static void raise_event(unsigned int round)
{
	uint64_t one = 1;

	read_disk(round);
	NEED(write(event, &one, sizeof(one)) == sizeof(one));
}

static void await_nested(unsigned int round)
{
	struct epoll_event found;
	uint64_t count;

	(void)round;
	NEED(epoll_wait(watch, &found, 1, -1) == 1);
	NEED(read(event, &count, sizeof(count)) == sizeof(count));
}

#define MESSAGE(_name, _title, _prepare, _background, _foreground, ...) \
	{                                                               \
		.name = _name, .group = "user", .title = _title,        \
		.off = "boost,replies", .prepare = _prepare,            \
		.background = { _background },                          \
		.foreground = _foreground, __VA_ARGS__                  \
	}

const struct scenario message_scenarios[] = {
	MESSAGE("reply-udp", "datagram of this host, sent after an I/O",
		prepare_datagrams, answer, await_answer, ),
	MESSAGE("reply-posix", "POSIX message, sent after an I/O",
		prepare_messages, send_message, await_message, ),
	MESSAGE("reply-sigwait", "signal in sigwaitinfo, sent after an I/O",
		prepare_signal, send_signal, await_signal, ),
	MESSAGE("reply-nested",
		"eventfd under epoll under epoll, raised after an I/O",
		prepare_nested, raise_event, await_nested, ),
	MESSAGE("reply-output", "first byte of a child's output over a pipe",
		NULL, NULL, await_output, ),
	MESSAGE("room-pipe", "room in a pipe, read after an I/O", prepare_pipe,
		make_room, await_room, .before = fill),
	MESSAGE("room-socket", "room in a UNIX socket, read after an I/O",
		prepare_socket, make_room, await_room, .before = fill),
	MESSAGE("connect",
		"connection to a UNIX socket, which is accepted after an I/O",
		prepare_full_listener, accept_after_read, connect_anew, ),
	MESSAGE("accept", "connection to be accepted, made after an I/O",
		prepare_listener, connect_after_read, await_connection, ),
	MESSAGE("open-fifo",
		"the other end of a named pipe, opened after an I/O",
		prepare_fifo, open_after_read, await_open, ),
	{
		.name = "join",
		.group = "user",
		.title = "end of a thread that reads",
		.off = "boost,user",
		.foreground = await_thread,
	},
	MESSAGE("child-group", "end of a child, by its process group", NULL,
		NULL, await_group, ),
	{ 0 },
};
