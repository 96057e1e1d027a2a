// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Locks and conditions in user space, held or signalled across an I/O. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/guest/loopback.h"
#include "lab/guest/ring.h"
#include "scenario.h"

#define OFF "boost,user"

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	pthread_rwlock_t rwlock;
	sem_t semaphore;
	unsigned int ready;
	_Atomic uint32_t words[2];
} *state;
static int sysv;
static int event;

static void make_mutex(int protocol, int robust, int process)
{
	pthread_mutexattr_t attributes;

	state = shared(sizeof(*state));
	NEED(!pthread_mutexattr_init(&attributes));
	NEED(!pthread_mutexattr_setprotocol(&attributes, protocol));
	NEED(!pthread_mutexattr_setrobust(&attributes, robust));
	NEED(!pthread_mutexattr_setpshared(&attributes, process));
	NEED(!pthread_mutex_init(&state->mutex, &attributes));
}

static void prepare_mutex(void)
{
	make_mutex(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
		   PTHREAD_PROCESS_PRIVATE);
}

static void prepare_mutex_pi(void)
{
	make_mutex(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED,
		   PTHREAD_PROCESS_PRIVATE);
}

static void prepare_mutex_robust(void)
{
	make_mutex(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST,
		   PTHREAD_PROCESS_PRIVATE);
}

static void prepare_mutex_shared(void)
{
	make_mutex(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
		   PTHREAD_PROCESS_SHARED);
}

static void prepare_mutex_robust_shared(void)
{
	make_mutex(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST,
		   PTHREAD_PROCESS_SHARED);
}

static void hold_mutex(unsigned int round)
{
	NEED(!pthread_mutex_lock(&state->mutex));
	read_disk(round);
	NEED(!pthread_mutex_unlock(&state->mutex));
}

/* A write, since a read would overtake the writes of the flood. */
static void hold_mutex_writing(unsigned int round)
{
	NEED(!pthread_mutex_lock(&state->mutex));
	write_disk(round);
	NEED(!pthread_mutex_unlock(&state->mutex));
}

static void take_mutex(unsigned int round)
{
	(void)round;
	NEED(!pthread_mutex_lock(&state->mutex));
	NEED(!pthread_mutex_unlock(&state->mutex));
}

/* The second thread waits for the first one's lock, and holds another. */
static struct {
	pthread_mutex_t first, second;
} chain = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

static void chain_first(unsigned int round)
{
	NEED(!pthread_mutex_lock(&chain.first));
	read_disk(round);
	NEED(!pthread_mutex_unlock(&chain.first));
}

static void chain_second(unsigned int round)
{
	(void)round;
	NEED(!pthread_mutex_lock(&chain.second));
	about_to_wait();
	NEED(!pthread_mutex_lock(&chain.first));
	NEED(!pthread_mutex_unlock(&chain.first));
	NEED(!pthread_mutex_unlock(&chain.second));
}

static void chain_take(unsigned int round)
{
	(void)round;
	NEED(!pthread_mutex_lock(&chain.second));
	NEED(!pthread_mutex_unlock(&chain.second));
}

static void prepare_rwlock(void)
{
	state = shared(sizeof(*state));
	NEED(!pthread_rwlock_init(&state->rwlock, NULL));
}

static void hold_rwlock(unsigned int round)
{
	NEED(!pthread_rwlock_wrlock(&state->rwlock));
	read_disk(round);
	NEED(!pthread_rwlock_unlock(&state->rwlock));
}

static void take_rwlock(unsigned int round)
{
	(void)round;
	NEED(!pthread_rwlock_rdlock(&state->rwlock));
	NEED(!pthread_rwlock_unlock(&state->rwlock));
}

static void share_rwlock(unsigned int place)
{
	NEED(!pthread_rwlock_rdlock(&state->rwlock));
	read_disk(place);
	NEED(!pthread_rwlock_unlock(&state->rwlock));
}

static void share_rwlock_first(unsigned int round)
{
	share_rwlock(2 * round);
}

static void share_rwlock_second(unsigned int round)
{
	share_rwlock(2 * round + 1);
}

static void take_rwlock_alone(unsigned int round)
{
	(void)round;
	NEED(!pthread_rwlock_wrlock(&state->rwlock));
	NEED(!pthread_rwlock_unlock(&state->rwlock));
}

static void prepare_condition(void)
{
	prepare_mutex();
	NEED(!pthread_cond_init(&state->condition, NULL));
}

static void signal_condition(unsigned int round)
{
	read_disk(round);
	NEED(!pthread_mutex_lock(&state->mutex));
	state->ready = round + 1;
	NEED(!pthread_cond_signal(&state->condition));
	NEED(!pthread_mutex_unlock(&state->mutex));
}

static void await_condition(unsigned int round)
{
	NEED(!pthread_mutex_lock(&state->mutex));
	while (state->ready <= round)
		NEED(!pthread_cond_wait(&state->condition, &state->mutex));
	NEED(!pthread_mutex_unlock(&state->mutex));
}

static void prepare_semaphore(void)
{
	state = shared(sizeof(*state));
	NEED(!sem_init(&state->semaphore, 1, 0));
}

static void post_semaphore(unsigned int round)
{
	read_disk(round);
	NEED(!sem_post(&state->semaphore));
}

static void await_semaphore(unsigned int round)
{
	(void)round;
	while (sem_wait(&state->semaphore))
		NEED(errno == EINTR);
}

static void change_sysv(int by)
{
	struct sembuf operation = { .sem_num = 0, .sem_op = by };

	while (semop(sysv, &operation, 1))
		NEED(errno == EINTR);
}

static void prepare_sysv(void)
{
	sysv = semget(IPC_PRIVATE, 1, 0600);
	NEED(sysv >= 0);
}

static void post_sysv(unsigned int round)
{
	read_disk(round);
	change_sysv(1);
}

static void await_sysv(unsigned int round)
{
	(void)round;
	change_sysv(-1);
}

static void prepare_words(void)
{
	state = shared(sizeof(*state));
}

static void wake_words(unsigned int round)
{
	read_disk(round);
	state->words[1] = round + 1;
	syscall(SYS_futex, &state->words[1], FUTEX_WAKE_PRIVATE, 1);
}

static void await_words(unsigned int round)
{
	struct futex_waitv waiters[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		waiters[i] = (struct futex_waitv){
			.uaddr = (uintptr_t)&state->words[i],
			.flags = FUTEX_32 | FUTEX_PRIVATE_FLAG,
		};
	for (;;) {
		waiters[1].val = state->words[1];
		if (waiters[1].val > round)
			return;
		syscall(SYS_futex_waitv, waiters, 2, 0, NULL, CLOCK_MONOTONIC);
	}
}

static void prepare_event(void)
{
	event = eventfd(0, EFD_CLOEXEC);
	NEED(event >= 0);
}

static void send_event(unsigned int round)
{
	uint64_t one = 1;

	read_disk(round);
	NEED(write(event, &one, sizeof(one)) == sizeof(one));
}

static void await_event(unsigned int round)
{
	uint64_t count;

	(void)round;
	hint_begin(0);
	NEED(read(event, &count, sizeof(count)) == sizeof(count));
	hint_end();
}

/* ---- replies ---- */

static int reply[2];
static int watch;

static void prepare_pipe(void)
{
	NEED(!pipe(reply));
}

static void prepare_socket(void)
{
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, reply));
}

static void prepare_tcp(void)
{
	loopback_connect(reply);
}

static void prepare_watched_tcp(void)
{
	prepare_tcp();
	watch = watch_for_input(reply[0]);
}

static void prepare_watched_event(void)
{
	prepare_event();
	watch = watch_for_input(event);
}

static void answer(unsigned int round)
{
	read_disk(round);
	NEED(write(reply[1], "", 1) == 1);
}

static void await_answer(unsigned int round)
{
	char byte;

	(void)round;
	NEED(read(reply[0], &byte, 1) == 1);
}

static void await_answer_by_poll(unsigned int round)
{
	struct pollfd wanted = { .fd = reply[0], .events = POLLIN };

	NEED(poll(&wanted, 1, -1) == 1);
	await_answer(round);
}

static void await_answer_by_ring(unsigned int round)
{
	(void)round;
	ring_do(IORING_OP_RECV, reply[0], buffer(BLOCK), 1, 0);
}

static void await_watched_answer(unsigned int round)
{
	struct epoll_event found;

	NEED(epoll_wait(watch, &found, 1, -1) == 1);
	await_answer(round);
}

static void await_watched_event(unsigned int round)
{
	struct epoll_event found;
	uint64_t count;

	(void)round;
	NEED(epoll_wait(watch, &found, 1, -1) == 1);
	NEED(read(event, &count, sizeof(count)) == sizeof(count));
}

static int signals;

static void prepare_signal(void)
{
	sigset_t wanted;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	NEED(!sigprocmask(SIG_BLOCK, &wanted, NULL));
	signals = signalfd(-1, &wanted, SFD_CLOEXEC);
	NEED(signals >= 0);
}

static void send_signal(unsigned int round)
{
	read_disk(round);
	NEED(!kill(getpid(), SIGUSR1));
}

static void await_signal(unsigned int round)
{
	struct signalfd_siginfo found;

	(void)round;
	NEED(read(signals, &found, sizeof(found)) == sizeof(found));
}

static void ignore_signal(int number)
{
	(void)number;
}

static void prepare_handler(void)
{
	struct sigaction action = { .sa_handler = ignore_signal };

	prepare_signal();
	NEED(!sigaction(SIGUSR1, &action, NULL));
}

/* Blocked before and after it: a signal that comes early is not lost. */
static void suspend(unsigned int round)
{
	sigset_t none;

	(void)round;
	sigemptyset(&none);
	NEED(sigsuspend(&none) < 0 && errno == EINTR);
}

static int nowhere;

static void prepare_splice(void)
{
	prepare_pipe();
	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	NEED(nowhere >= 0);
}

static void await_splice(unsigned int round)
{
	(void)round;
	NEED(splice(reply[0], NULL, nowhere, NULL, 1, 0) == 1);
}

static int message_queue;

struct message {
	long type;
	char text;
};

static void prepare_queue(void)
{
	message_queue = msgget(IPC_PRIVATE, 0600);
	NEED(message_queue >= 0);
}

static void send_message(unsigned int round)
{
	struct message message = { .type = 1 };

	read_disk(round);
	NEED(!msgsnd(message_queue, &message, sizeof(message.text), 0));
}

static void await_message(unsigned int round)
{
	struct message message;

	(void)round;
	NEED(msgrcv(message_queue, &message, sizeof(message.text), 0, 0) == 1);
}

/* A client that asks less often than once in helper_window_ms. */
static void wait_for_long(unsigned int round)
{
	(void)round;
	pause_us(1500 * 1000);
}

/*
 * A client whose each question is the first one over its connection. The earlier
 * ones stay open: where memory is used again, history would tell as well.
 */
static void connect_anew(unsigned int round)
{
	(void)round;
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, reply));
}

static void connect_tcp_anew(unsigned int round)
{
	(void)round;
	loopback_connect(reply);
}

static void take_byte(int fd)
{
	char byte;

	about_to_wait();
	NEED(read(fd, &byte, 1) == 1);
}

static void answer_question(unsigned int round)
{
	take_byte(reply[1]);
	answer(round);
}

static void ask(unsigned int round)
{
	NEED(write(reply[0], "", 1) == 1);
	await_answer(round);
}

static void ask_by_message(unsigned int round)
{
	NEED(send(reply[0], "", 1, 0) == 1);
	await_answer(round);
}

/* By a pipe each, which are new in each round. */
static int question[2];

static void make_pipes_anew(unsigned int round)
{
	(void)round;
	NEED(!pipe(question));
	NEED(!pipe(reply));
}

static void answer_by_pipe(unsigned int round)
{
	take_byte(question[0]);
	answer(round);
}

static void ask_by_pipe(unsigned int round)
{
	NEED(write(question[1], "", 1) == 1);
	await_answer(round);
}

static void connect_and_watch_anew(unsigned int round)
{
	connect_anew(round);
	watch = watch_for_input(reply[0]);
}

static void ask_under_epoll(unsigned int round)
{
	NEED(write(reply[0], "", 1) == 1);
	await_watched_answer(round);
}

/* A job that one thread gives another, with a place of its own for the result. */
struct job {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	bool done;
};

#define POOL_THREADS 8

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	struct job *job;
} queue = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL };

/* The memory of earlier ones is not used again. */
static struct job *new_job(void)
{
	struct job *job = shared(sizeof(*job));

	NEED(!pthread_mutex_init(&job->mutex, NULL));
	NEED(!pthread_cond_init(&job->condition, NULL));
	return job;
}

static void give_job(struct job *job)
{
	NEED(!pthread_mutex_lock(&queue.mutex));
	queue.job = job;
	NEED(!pthread_cond_signal(&queue.condition));
	NEED(!pthread_mutex_unlock(&queue.mutex));
}

static struct job *take_job(void)
{
	struct job *job;

	NEED(!pthread_mutex_lock(&queue.mutex));
	while (!queue.job)
		NEED(!pthread_cond_wait(&queue.condition, &queue.mutex));
	job = queue.job;
	queue.job = NULL;
	NEED(!pthread_mutex_unlock(&queue.mutex));
	return job;
}

static void end_job(struct job *job)
{
	NEED(!pthread_mutex_lock(&job->mutex));
	job->done = true;
	NEED(!pthread_cond_signal(&job->condition));
	NEED(!pthread_mutex_unlock(&job->mutex));
}

static void await_job(struct job *job)
{
	NEED(!pthread_mutex_lock(&job->mutex));
	while (!job->done)
		NEED(!pthread_cond_wait(&job->condition, &job->mutex));
	NEED(!pthread_mutex_unlock(&job->mutex));
}

static void do_job(unsigned int round)
{
	struct job *job;

	about_to_wait();
	job = take_job();
	read_disk(round);
	end_job(job);
}

static void have_job_done(unsigned int round)
{
	struct job *job = new_job();

	(void)round;
	give_job(job);
	await_job(job);
}

static void *pool_thread(void *argument)
{
	static _Atomic unsigned int taken;

	(void)argument;
	for (;;) {
		free(take_job());
		answer(taken++);
	}
	return NULL;
}

/* The thread that has slept for longest takes the next job. */
static void prepare_pool(void)
{
	pthread_t thread;
	unsigned int i;

	prepare_pipe();
	for (i = 0; i < POOL_THREADS; i++)
		NEED(!pthread_create(&thread, NULL, pool_thread, NULL));
}

static void ask_pool(unsigned int round)
{
	give_job(calloc(1, sizeof(struct job)));
	await_answer(round);
}

/* The second thread waits for the answer of the first. */
static int inner_reply[2];

static void prepare_two_pipes(void)
{
	prepare_mutex();
	NEED(!pipe(reply));
	NEED(!pipe(inner_reply));
}

static void answer_inside(unsigned int round)
{
	read_disk(round);
	NEED(write(inner_reply[1], "", 1) == 1);
}

static void answer_after_answer(unsigned int round)
{
	(void)round;
	take_byte(inner_reply[0]);
	NEED(write(reply[1], "", 1) == 1);
}

static void hold_mutex_until_answer(unsigned int round)
{
	(void)round;
	NEED(!pthread_mutex_lock(&state->mutex));
	take_byte(inner_reply[0]);
	NEED(!pthread_mutex_unlock(&state->mutex));
}

/* ---- children of the waiting task, which read ---- */

static pid_t reading_child(unsigned int round)
{
	pid_t child = fork();

	NEED(child >= 0);
	if (!child) {
		read_disk(round);
		_exit(0);
	}
	return child;
}

static void await_end_of(pid_t child)
{
	while (waitpid(child, NULL, 0) < 0)
		NEED(errno == EINTR);
}

static void await_child(unsigned int round)
{
	await_end_of(reading_child(round));
}

static void await_any_child(unsigned int round)
{
	reading_child(round);
	await_end_of(-1);
}

/* Two foreground processes wait for their only child each. */
static void await_only_children(unsigned int round)
{
	pid_t parents[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		parents[i] = fork();
		NEED(parents[i] >= 0);
		if (parents[i])
			continue;
		become_foreground();
		await_any_child(2 * round + i);
		_exit(0);
	}
	await_end_of(parents[0]);
	await_end_of(parents[1]);
}

static void await_children(unsigned int round)
{
	reading_child(2 * round);
	reading_child(2 * round + 1);
	await_end_of(-1);
	await_end_of(-1);
}

/* As posix_spawn() and system() do. */
static void await_vforked(unsigned int round)
{
	pid_t child = vfork();

	NEED(child >= 0);
	if (!child) {
		read_disk(round);
		_exit(0);
	}
	await_end_of(child);
}

static int file_of(pid_t child)
{
	int file = syscall(SYS_pidfd_open, child, 0);

	NEED(file >= 0);
	return file;
}

static void await_pidfd(unsigned int round)
{
	int file = file_of(reading_child(round));
	siginfo_t found;

	while (waitid(P_PIDFD, file, &found, WEXITED))
		NEED(errno == EINTR);
	close(file);
}

static void await_pidfd_by_poll(unsigned int round)
{
	pid_t child = reading_child(round);
	struct pollfd wanted = { .fd = file_of(child), .events = POLLIN };

	NEED(poll(&wanted, 1, -1) == 1);
	await_end_of(child);
	close(wanted.fd);
}

/*
 * A task takes a place in the log, writes and syncs it, while all committing tasks
 * wait, as in databases. In each round they wait on a new semaphore, so that no
 * history has its waker.
 */
#define LOG_ROUNDS 64

static struct {
	int file;
	sem_t written[LOG_ROUNDS];
} *log_state;

static void prepare_log(void)
{
	unsigned int i;

	log_state = shared(sizeof(*log_state));
	log_state->file = written_file("log", 16);
	for (i = 0; i < LOG_ROUNDS; i++)
		NEED(!sem_init(&log_state->written[i], 1, 0));
}

static void sync_log(unsigned int block)
{
	write_block(log_state->file, block % 16, BLOCK);
	NEED(!fdatasync(log_state->file));
}

static void write_log_for_all(unsigned int round)
{
	NEED(round < LOG_ROUNDS);
	sync_log(round);
	NEED(!sem_post(&log_state->written[round]));
}

static void commit(unsigned int round)
{
	while (sem_wait(&log_state->written[round]))
		NEED(errno == EINTR);
	sync_log(round + 8);
}

#define USER(_name, _title, _prepare, _background, _foreground, ...)  \
	{                                                             \
		.name = _name, .group = "user", .title = _title,      \
		.off = OFF, .prepare = _prepare,                      \
		.background = { _background },                        \
		.foreground = _foreground, __VA_ARGS__                \
	}

#define REPLY(_name, _title, _prepare, _background, _foreground)     \
	{                                                             \
		.name = _name, .group = "user", .title = _title,      \
		.off = "boost,replies", .prepare = _prepare,          \
		.background = { _background },                        \
		.foreground = _foreground,                            \
	}

#define FIRST(_name, _title, _before, _background, _foreground)      \
	{                                                             \
		.name = _name, .group = "user", .title = _title,      \
		.off = "boost,replies", .before = _before,            \
		.background = { _background },                        \
		.foreground = _foreground,                            \
	}

const struct scenario user_scenarios[] = {
	USER("admission", "the holder of a mutex sleeps in admission",
	     prepare_mutex, hold_mutex, take_mutex, ),
	USER("queued", "the holder of a mutex has its I/O in the queue",
	     prepare_mutex, hold_mutex_writing, take_mutex,
	     .flood = FLOOD_QUEUED),
	USER("mutex-pi", "pthread mutex with priority inheritance",
	     prepare_mutex_pi, hold_mutex, take_mutex, ),
	USER("mutex-robust", "robust pthread mutex", prepare_mutex_robust,
	     hold_mutex, take_mutex, ),
	USER("mutex-shared", "pthread mutex between processes",
	     prepare_mutex_shared, hold_mutex, take_mutex, .processes = true),
	USER("mutex-robust-shared", "robust pthread mutex between processes",
	     prepare_mutex_robust_shared, hold_mutex, take_mutex,
	     .processes = true),
	{
		.name = "mutex-chain",
		.group = "user",
		.title = "pthread mutex, whose holder waits for another",
		.off = OFF,
		.background = { chain_first, chain_second },
		.foreground = chain_take,
	},
	USER("rwlock", "pthread rwlock, held by a writer", prepare_rwlock,
	     hold_rwlock, take_rwlock, ),
	{
		.name = "rwlock-readers",
		.group = "user",
		.title = "pthread rwlock, held by two readers",
		.off = OFF,
		.prepare = prepare_rwlock,
		.background = { share_rwlock_first, share_rwlock_second },
		.foreground = take_rwlock_alone,
	},
	USER("condition", "condition variable, signalled after an I/O",
	     prepare_condition, signal_condition, await_condition, ),
	USER("posix-semaphore", "POSIX semaphore, posted after an I/O",
	     prepare_semaphore, post_semaphore, await_semaphore, ),
	USER("sysv-semaphore", "System V semaphore, raised after an I/O",
	     prepare_sysv, post_sysv, await_sysv, ),
	USER("futex-waitv", "futex_waitv on two words, one woken after an I/O",
	     prepare_words, wake_words, await_words, ),
	{
		.name = "log",
		.group = "user",
		.title = "POSIX semaphore, posted by the task that syncs the log that the "
			 "foreground syncs, too",
		.off = "boost,commits",
		.prepare = prepare_log,
		.processes = true,
		.background = { write_log_for_all },
		.foreground = commit,
	},
	REPLY("reply-pipe", "byte from a pipe, written after an I/O",
	      prepare_pipe, answer, await_answer),
	REPLY("reply-socket", "byte from a UNIX socket, sent after an I/O",
	      prepare_socket, answer, await_answer),
	REPLY("reply-poll", "byte from a UNIX socket under poll",
	      prepare_socket, answer, await_answer_by_poll),
	REPLY("reply-tcp", "byte from a TCP socket of this host, sent after an I/O",
	      prepare_tcp, answer, await_answer),
	REPLY("reply-tcp-epoll", "byte from a TCP socket of this host under epoll",
	      prepare_watched_tcp, answer, await_watched_answer),
	REPLY("reply-uring", "io_uring: byte from a UNIX socket, sent after an I/O",
	      prepare_socket, answer, await_answer_by_ring),
	REPLY("reply-uring-tcp",
	      "io_uring: byte from a TCP socket of this host, sent after an I/O",
	      prepare_tcp, answer, await_answer_by_ring),
	REPLY("reply-epoll", "eventfd under epoll, raised after an I/O",
	      prepare_watched_event, send_event, await_watched_event),
	REPLY("reply-signalfd", "signal from a signalfd, sent after an I/O",
	      prepare_signal, send_signal, await_signal),
	REPLY("reply-suspend", "signal in sigsuspend, sent after an I/O",
	      prepare_handler, send_signal, suspend),
	REPLY("reply-splice", "byte from a pipe by splice, written after an I/O",
	      prepare_splice, answer, await_splice),
	REPLY("reply-message", "System V message, sent after an I/O",
	      prepare_queue, send_message, await_message),
	{
		.name = "reply-rare",
		.group = "user",
		.title = "byte from a pipe, long after the one before",
		.off = "boost,replies",
		.rounds = 6,
		.prepare = prepare_pipe,
		.before = wait_for_long,
		.background = { answer },
		.foreground = await_answer,
	},
	{
		.name = "condition-rare",
		.group = "user",
		.title = "condition variable, signalled long after the last time",
		.off = OFF,
		.rounds = 6,
		.prepare = prepare_condition,
		.before = wait_for_long,
		.background = { signal_condition },
		.foreground = await_condition,
	},
	FIRST("reply-first",
	      "first byte from a UNIX socket, asked for and sent after an I/O",
	      connect_anew, answer_question, ask),
	FIRST("reply-first-tcp", "the same from a TCP socket of this host",
	      connect_tcp_anew, answer_question, ask_by_message),
	FIRST("reply-first-pipe", "the same over a pipe each", make_pipes_anew,
	      answer_by_pipe, ask_by_pipe),
	FIRST("reply-first-epoll", "the same from a UNIX socket under epoll",
	      connect_and_watch_anew, answer_question, ask_under_epoll),
	FIRST("condition-first", "result of a job, given to a thread by a "
	      "condition variable, by that of the job", NULL, do_job,
	      have_job_done),
	REPLY("reply-pool", "byte from a pipe, of one of eight threads in turn",
	      prepare_pool, NULL, ask_pool),
	{
		.name = "reply-chain-rare",
		.group = "user",
		.title = "byte from a pipe, of a thread that waits for a byte of "
			 "another, long after the last time",
		.off = "boost,replies",
		.rounds = 6,
		.prepare = prepare_two_pipes,
		.before = wait_for_long,
		.background = { answer_inside, answer_after_answer },
		.foreground = await_answer,
	},
	{
		.name = "reply-chain",
		.group = "user",
		.title = "byte from a pipe, of a thread that waits for a byte of "
			 "another",
		.off = "boost,replies",
		.prepare = prepare_two_pipes,
		.background = { answer_inside, answer_after_answer },
		.foreground = await_answer,
	},
	{
		.name = "reply-held",
		.group = "user",
		.title = "mutex, held by a thread that waits for a byte of another",
		.off = "boost,replies",
		.prepare = prepare_two_pipes,
		.background = { answer_inside, hold_mutex_until_answer },
		.foreground = take_mutex,
	},
	REPLY("child", "end of a child that reads", NULL, NULL, await_child),
	REPLY("child-any", "end of any child, beside the load's processes", NULL,
	      NULL, await_any_child),
	REPLY("child-only", "end of any child, in two processes of one each",
	      NULL, NULL, await_only_children),
	REPLY("child-both", "end of two children, in any order", NULL, NULL,
	      await_children),
	REPLY("child-vfork", "vfork, until the child has read", NULL, NULL,
	      await_vforked),
	REPLY("child-pidfd", "end of a child, by its pidfd", NULL, NULL,
	      await_pidfd),
	REPLY("child-poll", "end of a child, by its pidfd under poll", NULL,
	      NULL, await_pidfd_by_poll),
	USER("hint", "eventfd, with a declared wait", prepare_event, send_event,
	     await_event, ),
	{ 0 },
};
