// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The limits on foreground tasks, case by case: trust CASE [ARGUMENT...], as
 * root. Exit status 0 when all is as uapi/fgio.h and docs/trust.md say; else the
 * first difference is printed.
 *
 * Actors are processes of users: each reads commands, a letter each, and answers
 * with an error number.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "device_calls.h"

#define SECOND_USER 1234
#define PAGE 4096
#define PARAMETERS "/sys/module/fgio/parameters/"
#define COUNTS "/sys/kernel/debug/fgio/trust"
#define CGROUPS "/sys/fs/cgroup"

struct actor {
	pid_t pid;
	int asks, answers;
};

/* The commands of an actor. */
enum {
	FOREGROUND = 'f',
	BACKGROUND = 'b',
	NO_TAG = 'n',
	WORD = 'w',
	NO_WORD = 'W',
	UNMAP = 'm',
	BECOME_FIRST_USER = 'u',
	FORK = 'k',
	DECLARE = 'd',
	EXEC = 'e',
	WAIT = 'l',
};

/* --- the administrator --- */

static void write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY);

	CHECK(path, file >= 0);
	CHECK(path, write(file, text, strlen(text)) == (ssize_t)strlen(text));
	close(file);
}

static void set_parameter(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	write_file(path, value);
}

static bool takes_list(const char *list)
{
	int file = open(PARAMETERS "foreground_cgroups", O_WRONLY);
	bool taken;

	CHECK("parameter", file >= 0);
	taken = write(file, list, strlen(list)) == (ssize_t)strlen(list);
	CHECK("a list that is none", taken || errno == EINVAL);
	close(file);
	return taken;
}

static bool list_is(const char *wanted)
{
	FILE *file = fopen(PARAMETERS "foreground_cgroups", "r");
	char line[4096] = "";

	CHECK("parameter", file && fgets(line, sizeof(line), file));
	fclose(file);
	line[strcspn(line, "\n")] = 0;
	return !strcmp(line, wanted);
}

/* The number after a key in the line with this beginning; 0 without one. */
static unsigned int count(const char *begin, const char *word)
{
	FILE *file = fopen(COUNTS, "r");
	char line[512], *at;
	unsigned int found = 0;

	CHECK(COUNTS, file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, begin, strlen(begin)))
			continue;
		at = strstr(line + strlen(begin), word);
		CHECK("a line of counts", at);
		found = (unsigned int)atoi(at + strlen(word));
	}
	fclose(file);
	return found;
}

static unsigned int threads_of(uid_t uid)
{
	char begin[32];

	snprintf(begin, sizeof(begin), "user %u ", uid);
	return count(begin, "threads ");
}

static unsigned int foreground_of(uid_t uid)
{
	char begin[32];

	snprintf(begin, sizeof(begin), "user %u ", uid);
	return count(begin, "foreground ");
}

static unsigned int declaring_of(uid_t uid)
{
	char begin[32];

	snprintf(begin, sizeof(begin), "user %u ", uid);
	return count(begin, "declaring ");
}

static unsigned int foreground_in(const char *cgroup)
{
	char begin[128];

	snprintf(begin, sizeof(begin), "cgroup %s ", cgroup);
	return count(begin, "foreground ");
}

static void nothing_is_left(void)
{
	FILE *file;
	char line[512];

	wait_for_tags(0);
	file = fopen(COUNTS, "r");
	CHECK(COUNTS, file);
	while (fgets(line, sizeof(line), file))
		CHECK(line, !strncmp(line, "cgroup ", 7) && strstr(line, " foreground 0\n"));
	fclose(file);
}

/* --- actors --- */

static struct fgio_word *words;

static int tie(void)
{
	struct fgio_word_slot slot = {};

	if (!words || words == MAP_FAILED)
		words = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, device, 0);
	return words == MAP_FAILED ? -1 : ioctl(device, FGIO_IOC_SET_WORD, &slot);
}

static int untie(void)
{
	struct fgio_word_slot slot = { .flags = FGIO_WORD_CLEAR };

	return ioctl(device, FGIO_IOC_SET_WORD, &slot);
}

static int unmap_words(void)
{
	struct fgio_word *mapped = words;

	words = NULL;
	return munmap(mapped, PAGE);
}

static pid_t declared_for;

static int declare(void)
{
	struct fgio_wait_for wait = { .tid = declared_for };

	return ioctl(device, FGIO_IOC_WAIT_FOR, &wait);
}

static int leave_a_child(void)
{
	pid_t parent = getpid();

	if (fork())
		return 0;
	end_with(parent);
	for (;;)
		pause();
}

/* In memory of all actors: the next wait, for the actor that is told to wait. */
static struct {
	uint32_t words[8];
	int operation;
	uint32_t value;
	uint32_t at;
	volatile bool over;
} *lock;

/* No task wakes it. */
static int wait_for_lock(void)
{
	struct timespec time = { .tv_nsec = 300000000 };

	while (!lock->over) {
		if (lock->operation == FUTEX_LOCK_PI) {
			clock_gettime(CLOCK_REALTIME, &time);
			time.tv_sec++;
		}
		if (!syscall(SYS_futex, &lock->words[lock->at], lock->operation, lock->value,
			     &time, NULL, 0) ||
		    errno != ETIMEDOUT)
			return -1;
	}
	return 0;
}

static int act(char asked)
{
	switch (asked) {
	case FOREGROUND:
		return set_tag(0, FGIO_TAG_FOREGROUND);
	case BACKGROUND:
		return set_tag(0, FGIO_TAG_BACKGROUND);
	case NO_TAG:
		return set_tag(0, FGIO_TAG_NONE);
	case WORD:
		return tie();
	case NO_WORD:
		return untie();
	case UNMAP:
		return unmap_words();
	case BECOME_FIRST_USER:
		return setresuid(FIRST_USER, FIRST_USER, FIRST_USER);
	case DECLARE:
		return declare();
	case FORK:
		return leave_a_child();
	case WAIT:
		return wait_for_lock();
	case EXEC:
		return execl("/proc/self/exe", "trust", "go_on", NULL);
	default:
		_exit(3);
	}
}

static void answer(int error)
{
	if (write(STDOUT_FILENO, &error, sizeof(error)) != sizeof(error))
		_exit(4);
}

/* Executes the commands on its input until that ends. */
static void play(void)
{
	char asked;

	while (read(STDIN_FILENO, &asked, 1) == 1) {
		errno = 0;
		answer(act(asked) ? errno : 0);
	}
	_exit(0);
}

/* An actor after execve(): the answer to EXEC. */
static void case_go_on(char **arguments)
{
	(void)arguments;
	answer(0);
	play();
}

static int hear(const struct actor *actor)
{
	int error;

	CHECK("an answer", read(actor->answers, &error, sizeof(error)) == sizeof(error));
	return error;
}

/* Return: 0, or the error that the actor met. */
static int ask(const struct actor *actor, char what)
{
	CHECK("ask", write(actor->asks, &what, 1) == 1);
	return hear(actor);
}

static void begin_to_play(const int *asks, const int *answers, pid_t parent)
{
	end_with(parent);
	dup2(asks[0], STDIN_FILENO);
	dup2(answers[1], STDOUT_FILENO);
	/* The parent alone holds the other ends. */
	close_range(3, ~0U, 0);
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
}

/* Starts an actor, which runs its preparation first, as root. */
static struct actor actor_with(void (*prepare)(const void *), const void *data)
{
	int asks[2], answers[2];
	struct actor actor;
	pid_t self = getpid();

	CHECK("pipes", !pipe2(asks, O_CLOEXEC) && !pipe2(answers, O_CLOEXEC));
	fflush(stdout);
	actor.pid = fork();
	CHECK("fork", actor.pid >= 0);
	if (!actor.pid) {
		begin_to_play(asks, answers, self);
		prepare(data);
		answer(0);
		play();
	}
	close(asks[0]);
	close(answers[1]);
	actor.asks = asks[1];
	actor.answers = answers[0];
	CHECK("begins", !hear(&actor));
	return actor;
}

static void become_user(const void *uid)
{
	become(*(const uid_t *)uid);
}

static struct actor actor_of(uid_t uid)
{
	return actor_with(become_user, &uid);
}

static void end(const struct actor *actor)
{
	close(actor->asks);
	close(actor->answers);
	CHECK("ends", waitpid(actor->pid, NULL, 0) == actor->pid);
}

static void slay(const struct actor *actor)
{
	kill(actor->pid, SIGKILL);
	end(actor);
}

/* --- limit of a user --- */

static void case_user_limit(char **arguments)
{
	struct actor other = actor_of(SECOND_USER), first[4];
	int i;

	(void)arguments;
	set_parameter("user_foreground_max", "3");
	for (i = 0; i < 4; i++)
		first[i] = actor_of(FIRST_USER);
	for (i = 0; i < 3; i++)
		CHECK("within the limit", !ask(&first[i], FOREGROUND));
	CHECK("as before", !ask(&first[0], FOREGROUND));
	CHECK("beyond it", ask(&first[3], FOREGROUND) == EDQUOT);
	CHECK("by a word", ask(&first[3], WORD) == EDQUOT);
	CHECK("no trace", get_tag(first[3].pid) == FGIO_TAG_NONE && threads_of(FIRST_USER) == 3);
	CHECK("background is free", !ask(&first[3], BACKGROUND));
	CHECK("and no way in", ask(&first[3], FOREGROUND) == EDQUOT);
	CHECK("another user's limit", !ask(&other, FOREGROUND));
	CHECK("counts", foreground_of(FIRST_USER) == 3 && threads_of(FIRST_USER) == 4);

	CHECK("gives its place up", !ask(&first[0], BACKGROUND));
	CHECK("room", !ask(&first[3], FOREGROUND));
	CHECK("no room", ask(&first[0], FOREGROUND) == EDQUOT);
	CHECK("gives its place up", !ask(&first[3], NO_TAG));
	CHECK("room", !ask(&first[0], FOREGROUND));
	slay(&first[0]);
	CHECK("room of ended threads", !ask(&first[3], FOREGROUND));
	first[0] = actor_of(FIRST_USER);
	CHECK("no room", ask(&first[0], FOREGROUND) == EDQUOT);
	/* The control: it is the limit that refuses. */
	set_parameter("user_foreground_max", "4");
	CHECK("room", !ask(&first[0], FOREGROUND));
	set_parameter("user_foreground_max", "0");
	CHECK("foreground threads stay", get_tag(first[0].pid) == FGIO_TAG_FOREGROUND);
	CHECK("no new ones", !ask(&first[0], NO_TAG) && ask(&first[0], WORD) == EDQUOT);
	for (i = 0; i < 4; i++)
		end(&first[i]);
	end(&other);
	nothing_is_left();
}

static void case_words_count(char **arguments)
{
	struct actor one = actor_of(FIRST_USER), two = actor_of(FIRST_USER);

	(void)arguments;
	set_parameter("user_foreground_max", "1");
	CHECK("a word", !ask(&one, WORD));
	CHECK("counts as foreground", ask(&two, FOREGROUND) == EDQUOT);
	CHECK("with a tag no more", !ask(&one, FOREGROUND) && foreground_of(FIRST_USER) == 1);
	CHECK("the tag alone", !ask(&one, NO_WORD) && ask(&two, WORD) == EDQUOT);
	CHECK("the word alone", !ask(&one, WORD) && !ask(&one, NO_TAG));
	CHECK("still one", ask(&two, WORD) == EDQUOT);
	CHECK("background with a word", !ask(&one, BACKGROUND) && ask(&two, WORD) == EDQUOT);
	CHECK("gone with its memory", !ask(&one, UNMAP) && foreground_of(FIRST_USER) == 0);
	CHECK("room", !ask(&two, WORD));
	CHECK("no room", ask(&one, WORD) == EDQUOT && ask(&one, FOREGROUND) == EDQUOT);
	end(&two);
	CHECK("room", !ask(&one, WORD));
	CHECK("execve unties", !ask(&one, EXEC) && foreground_of(FIRST_USER) == 0);
	end(&one);
	nothing_is_left();
}

static void become_nice_user(const void *unused)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		[0] = { .effective = 1U << CAP_SYS_NICE,
			.permitted = 1U << CAP_SYS_NICE },
	};

	(void)unused;
	CHECK("keep", !prctl(PR_SET_KEEPCAPS, 1));
	become(SECOND_USER);
	CHECK("capabilities", !syscall(SYS_capset, &header, data));
}

/* No limit holds for privileged callers, but their threads count. */
static void case_privileged(char **arguments)
{
	struct actor nice = actor_with(become_nice_user, NULL);
	struct actor one = actor_of(FIRST_USER), two = actor_of(FIRST_USER), three = actor_of(FIRST_USER);

	(void)arguments;
	set_parameter("user_foreground_max", "1");
	set_parameter("foreground_cgroups", "/not/there");
	CHECK("CAP_SYS_NICE", !ask(&nice, FOREGROUND) && !ask(&nice, WORD));
	CHECK("root tags", !set_tag(one.pid, FGIO_TAG_FOREGROUND));
	CHECK("beyond the limit", !set_tag(two.pid, FGIO_TAG_FOREGROUND));
	CHECK("they count", foreground_of(FIRST_USER) == 2);
	CHECK("no word on top, as it would stay", ask(&one, WORD) == EACCES);
	set_parameter("foreground_cgroups", "any");
	CHECK("a word on top", !ask(&one, WORD) && foreground_of(FIRST_USER) == 2);
	CHECK("not for another", ask(&three, FOREGROUND) == EDQUOT);
	CHECK("root clears", !set_tag(one.pid, FGIO_TAG_NONE));
	CHECK("the word still counts", foreground_of(FIRST_USER) == 2);
	CHECK("root clears", !set_tag(two.pid, FGIO_TAG_NONE));
	CHECK("not for another", ask(&three, FOREGROUND) == EDQUOT);
	end(&one);
	CHECK("room", !ask(&three, FOREGROUND));
	end(&two);
	end(&three);
	end(&nice);
	nothing_is_left();
}

/* A user takes half of the table at most; MAX is the module's tags_max. */
static void case_table_has_room(char **arguments)
{
	unsigned int max = (unsigned int)atoi(arguments[0]), i;
	struct actor first[16], other = actor_of(SECOND_USER);

	CHECK("tags_max", info().tags_max == max && max < 16);
	for (i = 0; i < max; i++) {
		first[i] = actor_of(FIRST_USER);
		CHECK("half", ask(&first[i], BACKGROUND) == (i < max / 2 ? 0 : EDQUOT));
	}
	CHECK("another user", !ask(&other, FOREGROUND));
	for (i = max / 2; i < max - 1; i++)
		CHECK("root", !set_tag(first[i].pid, FGIO_TAG_BACKGROUND));
	CHECK("all of it", info().tags == max);
	for (i = 0; i < max; i++)
		end(&first[i]);
	end(&other);
	nothing_is_left();
}

/* --- the life of a thread --- */

static void case_setuid(char **arguments)
{
	const uid_t root = 0;
	struct actor one = actor_of(root), two = actor_of(root);

	(void)arguments;
	CHECK("root's", !ask(&one, FOREGROUND) && foreground_of(root) == 1);
	CHECK("setuid", !ask(&one, BECOME_FIRST_USER));
	CHECK("still root's", foreground_of(root) == 1 && foreground_of(FIRST_USER) == 0);
	CHECK("given back to root", !ask(&one, NO_TAG) && foreground_of(root) == 0);
	CHECK("the user's", !ask(&one, FOREGROUND) && foreground_of(FIRST_USER) == 1);
	CHECK("not root's", threads_of(root) == 0);

	CHECK("root's", !ask(&two, BACKGROUND) && threads_of(root) == 1);
	CHECK("setuid", !ask(&two, BECOME_FIRST_USER) && threads_of(root) == 1);
	set_parameter("user_foreground_max", "1");
	CHECK("by the new user's limit", ask(&two, FOREGROUND) == EDQUOT);
	CHECK("nothing moved", threads_of(root) == 1 && threads_of(FIRST_USER) == 1);
	set_parameter("user_foreground_max", "2");
	CHECK("room", !ask(&two, FOREGROUND));
	CHECK("all moved", threads_of(root) == 0 && threads_of(FIRST_USER) == 2);
	slay(&one);
	slay(&two);
	nothing_is_left();
}

static void case_fork_and_execve(char **arguments)
{
	struct actor one = actor_of(FIRST_USER);

	(void)arguments;
	CHECK("tag", !ask(&one, FOREGROUND));
	CHECK("a child has none", !ask(&one, FORK) && threads_of(FIRST_USER) == 1);
	CHECK("execve keeps it", !ask(&one, EXEC) && foreground_of(FIRST_USER) == 1);
	CHECK("once", !ask(&one, FOREGROUND) && foreground_of(FIRST_USER) == 1);
	end(&one);
	nothing_is_left();
}

/* --- user namespaces --- */

/* A namespace of the first user, in which the actor is root, with all capabilities. */
static void enter_own_namespace(const void *unused)
{
	char line[64];

	(void)unused;
	become(FIRST_USER);
	/* A process that changed its user id is not dumpable: its maps cannot be set. */
	CHECK("dumpable", !prctl(PR_SET_DUMPABLE, 1));
	CHECK("unshare", !unshare(CLONE_NEWUSER));
	snprintf(line, sizeof(line), "0 %d 1\n", FIRST_USER);
	write_file("/proc/self/uid_map", line);
}

/* Waits for a map of ten users, which an administrator sets, and becomes the fifth. */
static void enter_wide_namespace(const void *unused)
{
	int tries;

	(void)unused;
	become(FIRST_USER);
	CHECK("dumpable", !prctl(PR_SET_DUMPABLE, 1));
	CHECK("unshare", !unshare(CLONE_NEWUSER));
	answer(0);
	for (tries = 0; tries < 1000 && setresuid(5, 5, 5); tries++)
		usleep(10000);
	CHECK("another user", getuid() == 5);
}

static void case_user_namespace(char **arguments)
{
	struct actor inside = actor_with(enter_own_namespace, NULL);
	struct actor wide = actor_with(enter_wide_namespace, NULL);
	char path[64];

	(void)arguments;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", wide.pid);
	write_file(path, "0 100000 10\n");
	CHECK("another user", !hear(&wide));
	set_parameter("user_foreground_max", "1");
	CHECK("root there", !ask(&inside, FOREGROUND) && foreground_of(FIRST_USER) == 1);
	CHECK("another user, the same account", ask(&wide, FOREGROUND) == EDQUOT);
	CHECK("a word", ask(&wide, WORD) == EDQUOT);
	CHECK("room", !ask(&inside, NO_TAG) && !ask(&wide, FOREGROUND));
	CHECK("not its own", foreground_of(100005) == 0 && foreground_of(FIRST_USER) == 1);
	CHECK("no capability of ours", ask(&inside, FOREGROUND) == EDQUOT);
	set_parameter("foreground_cgroups", "/not/there");
	CHECK("nor here", ask(&inside, FOREGROUND) == EACCES);
	end(&inside);
	end(&wide);
	nothing_is_left();
}

/* --- cgroups --- */

static void move(pid_t pid, const char *cgroup)
{
	char path[256], text[16];

	snprintf(path, sizeof(path), CGROUPS "%s/cgroup.procs", cgroup);
	snprintf(text, sizeof(text), "%d", pid);
	write_file(path, text);
}

static struct actor actor_in(const char *cgroup)
{
	struct actor actor = actor_of(FIRST_USER);

	move(actor.pid, cgroup);
	return actor;
}

static void case_cgroup_list(char **arguments)
{
	struct actor in = actor_in("/trust/one"), below = actor_in("/trust/one/below");
	struct actor out = actor_in("/trust/two"), like = actor_in("/trust/one.more");
	struct actor root = actor_of(0);

	(void)arguments;
	move(root.pid, "/trust/two");
	/* The control: it is the list that refuses. */
	CHECK("without a list", !ask(&out, FOREGROUND) && !ask(&out, NO_TAG));
	set_parameter("foreground_cgroups", "/trust/one");
	CHECK("listed", !ask(&in, FOREGROUND) && !ask(&in, WORD));
	CHECK("below", !ask(&below, FOREGROUND));
	CHECK("not listed", ask(&out, FOREGROUND) == EACCES);
	CHECK("by a word", ask(&out, WORD) == EACCES);
	CHECK("a longer name", ask(&like, FOREGROUND) == EACCES);
	CHECK("background", !ask(&out, BACKGROUND) && ask(&out, FOREGROUND) == EACCES);
	CHECK("background has a way out", !ask(&out, NO_TAG));
	CHECK("root", !ask(&root, FOREGROUND));
	CHECK("counts", foreground_in("/trust/one") == 2);
	move(out.pid, "/trust/one");
	CHECK("moved in", !ask(&out, WORD));
	move(out.pid, "/trust/two");
	CHECK("what it has stays", get_tag(out.pid) == FGIO_TAG_NONE);
	CHECK("and counts where it was taken", foreground_in("/trust/one") == 3);
	CHECK("nothing new", ask(&out, FOREGROUND) == EACCES && !ask(&out, NO_WORD));
	CHECK("given back", foreground_in("/trust/one") == 2);
	CHECK("nothing new", ask(&out, WORD) == EACCES);
	end(&in);
	end(&below);
	end(&out);
	end(&like);
	end(&root);
	nothing_is_left();
}

static void case_cgroup_limit(char **arguments)
{
	struct actor one = actor_in("/trust/one"), below = actor_in("/trust/one/below");
	struct actor more = actor_in("/trust/one/below"), two = actor_in("/trust/two");

	(void)arguments;
	set_parameter("foreground_cgroups", "/trust/one=2,/trust/one/below=1\n/=100");
	CHECK("as it was set", list_is("/trust/one=2,/trust/one/below=1,/=100"));
	CHECK("one", !ask(&below, FOREGROUND));
	CHECK("the limit below", ask(&more, FOREGROUND) == EDQUOT && ask(&more, WORD) == EDQUOT);
	CHECK("the limit above", !ask(&one, WORD) && foreground_in("/trust/one") == 2);
	CHECK("elsewhere", !ask(&two, FOREGROUND) && foreground_in("/") == 3);
	CHECK("given back", !ask(&below, NO_TAG) && foreground_in("/trust/one") == 1);
	CHECK("room", !ask(&more, FOREGROUND) && ask(&below, FOREGROUND) == EDQUOT);
	/* A new list counts the threads that exist. */
	set_parameter("foreground_cgroups", "/trust/two,/trust/one=3");
	CHECK("counted anew", foreground_in("/trust/one") == 2 && foreground_in("/trust/two") == 1);
	CHECK("room", !ask(&below, FOREGROUND) && foreground_in("/trust/one") == 3);
	set_parameter("foreground_cgroups", "any");
	CHECK("no list", list_is("any") && !ask(&below, NO_TAG) && !ask(&below, FOREGROUND));
	set_parameter("foreground_cgroups", "/trust/one");
	CHECK("counted anew", foreground_in("/trust/one") == 3);
	slay(&more);
	slay(&below);
	CHECK("given back", foreground_in("/trust/one") == 1);
	end(&one);
	end(&two);
	nothing_is_left();
}

/* A service that restarts gets a cgroup of the same name, which is still listed. */
static void case_cgroup_made_again(char **arguments)
{
	struct actor one;

	(void)arguments;
	set_parameter("foreground_cgroups", "/trust/again");
	CHECK("make", !mkdir(CGROUPS "/trust/again", 0755));
	one = actor_in("/trust/again");
	CHECK("listed", !ask(&one, FOREGROUND));
	end(&one);
	CHECK("remove", !rmdir(CGROUPS "/trust/again") && !mkdir(CGROUPS "/trust/again", 0755));
	one = actor_in("/trust/again");
	CHECK("listed", !ask(&one, FOREGROUND) && foreground_in("/trust/again") == 1);
	end(&one);
	CHECK("remove", !rmdir(CGROUPS "/trust/again"));
	nothing_is_left();
}

/* At any depth, a cgroup is below its listed ancestor. */
static void case_deep_cgroup(char **arguments)
{
	struct actor deep = actor_of(FIRST_USER);
	char pid[16];
	int i;

	(void)arguments;
	CHECK("there", !chdir(CGROUPS "/trust/one"));
	for (i = 0; i < 100; i++)
		CHECK("deeper", !mkdir("cgroup.of.some.depth", 0755) &&
				!chdir("cgroup.of.some.depth"));
	snprintf(pid, sizeof(pid), "%d", deep.pid);
	write_file("cgroup.procs", pid);
	set_parameter("foreground_cgroups", "/trust/two,/trust/one=1");
	CHECK("below", !ask(&deep, FOREGROUND) && foreground_in("/trust/one") == 1);
	set_parameter("foreground_cgroups", "/trust/two");
	CHECK("not below", ask(&deep, WORD) == EACCES);
	end(&deep);
	for (i = 0; i < 100; i++)
		CHECK("remove", !chdir("..") && !rmdir("cgroup.of.some.depth"));
	nothing_is_left();
}

static void case_wrong_lists(char **arguments)
{
	static const char *const wrong[] = {
		"one", "/one,two", "/one/", "/one//two", "/one,/one", "/../one", "/one two",
		"/one=4294967295", "=3", "any,/one",
	};
	char many[4096] = "";
	unsigned int i;

	(void)arguments;
	set_parameter("foreground_cgroups", "/stays=7");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(wrong[i], !takes_list(wrong[i]));
	for (i = 0; i < 33; i++)
		sprintf(many + strlen(many), "/%u,", i);
	CHECK("33", !takes_list(many));
	CHECK("unchanged", list_is("/stays=7"));
	many[strlen(many) - 4] = 0;
	CHECK("32", takes_list(many));
	CHECK("a line end alone", takes_list("\n") && list_is("any"));
}

/* --- all at once --- */

static volatile int may_end;
/* Mapped, to be shared across fork(): refusals and grants. */
static unsigned long *outcomes;

static void *come_and_go(void *seed)
{
	unsigned int random = (unsigned int)(uintptr_t)seed;
	int result;

	switch (rand_r(&random) % 3) {
	case 0:
		result = set_tag(0, FGIO_TAG_FOREGROUND);
		break;
	case 1:
		result = set_tag(0, FGIO_TAG_BACKGROUND) ?:
			 set_tag(0, FGIO_TAG_FOREGROUND);
		break;
	default:
		result = tie();
	}
	CHECK("no other error", !result || errno == EDQUOT || errno == EACCES);
	__atomic_add_fetch(&outcomes[!result], 1, __ATOMIC_RELAXED);
	if (rand_r(&random) % 4 == 0)
		set_tag(0, FGIO_TAG_NONE);
	return NULL;
}

static void threads_come_and_go(uid_t uid, pid_t parent)
{
	pthread_t threads[8];
	unsigned int i, seed = uid;

	become(uid);
	end_with(parent);
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	words = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, device, 0);
	CHECK("map", words != MAP_FAILED);
	for (;;) {
		for (i = 0; i < 8; i++)
			CHECK("thread", !pthread_create(&threads[i], NULL, come_and_go,
							(void *)(uintptr_t)seed++));
		for (i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
	}
}

static void *change_lists(void *unused)
{
	static const char *const lists[] = { "any", "/trust/one=3,/trust/two", "/trust=5", "/trust/two" };
	unsigned int i = 0;

	(void)unused;
	while (!may_end) {
		set_parameter("foreground_cgroups", lists[i++ % 4]);
		CHECK("the limit holds", foreground_of(FIRST_USER) <= 4);
		usleep(1000);
	}
	return NULL;
}

/* SECONDS: threads and processes are tagged and exit, lists change; then all counts are zero. */
static void case_all_at_once(char **arguments)
{
	pid_t self = getpid(), children[4];
	pthread_t changer;
	int i, round;

	outcomes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK("memory", outcomes != MAP_FAILED);
	set_parameter("user_foreground_max", "4");
	CHECK("thread", !pthread_create(&changer, NULL, change_lists, NULL));
	for (round = 0; round < atoi(arguments[0]); round++) {
		for (i = 0; i < 4; i++) {
			children[i] = fork();
			if (!children[i])
				threads_come_and_go(i % 2 ? FIRST_USER : SECOND_USER, self);
			move(children[i], i < 2 ? "/trust/one" : "/trust/two");
		}
		sleep(1);
		for (i = 0; i < 4; i++)
			kill(children[i], SIGKILL);
		for (i = 0; i < 4; i++)
			CHECK("wait", waitpid(children[i], NULL, 0) == children[i]);
	}
	may_end = 1;
	pthread_join(changer, NULL);
	printf("%lu refused, %lu granted\n", outcomes[0], outcomes[1]);
	CHECK("both happened", outcomes[0] && outcomes[1]);
	nothing_is_left();
}

/* --- threads that declare waits --- */

static void case_declared(char **arguments)
{
	struct actor target = actor_of(FIRST_USER), first[4], nice, other;
	int i;

	(void)arguments;
	declared_for = target.pid;
	nice = actor_with(become_nice_user, NULL);
	other = actor_of(SECOND_USER);
	set_parameter("user_foreground_max", "3");
	for (i = 0; i < 4; i++)
		first[i] = actor_of(FIRST_USER);
	CHECK("without foreground tasks", !ask(&first[0], DECLARE) && !declaring_of(FIRST_USER));
	CHECK("now there is one", !set_tag(0, FGIO_TAG_FOREGROUND));
	for (i = 0; i < 3; i++)
		CHECK("within the limit", !ask(&first[i], DECLARE));
	CHECK("as before", !ask(&first[0], DECLARE) && declaring_of(FIRST_USER) == 3);
	CHECK("beyond it", ask(&first[3], DECLARE) == EDQUOT && threads_of(FIRST_USER) == 3);
	CHECK("another user's thread", ask(&other, DECLARE) == EPERM);
	CHECK("CAP_SYS_NICE", !ask(&nice, DECLARE) && declaring_of(SECOND_USER) == 1);
	CHECK("as foreground", !ask(&first[0], FOREGROUND) && foreground_of(FIRST_USER) == 1);
	CHECK("no more", !ask(&first[0], NO_TAG) && declaring_of(FIRST_USER) == 3);
	slay(&first[1]);
	CHECK("room of ended threads", !ask(&first[3], DECLARE));
	first[1] = actor_of(FIRST_USER);
	CHECK("no room", ask(&first[1], DECLARE) == EDQUOT);
	/* The control: it is the limit that refuses. */
	set_parameter("user_foreground_max", "4");
	CHECK("room", !ask(&first[1], DECLARE) && declaring_of(FIRST_USER) == 4);
	CHECK("no more", !set_tag(0, FGIO_TAG_NONE));
	for (i = 0; i < 4; i++)
		end(&first[i]);
	end(&other);
	end(&nice);
	end(&target);
	nothing_is_left();
}

/* --- threads that end as they are tagged --- */

#define STRETCH_NS 2000000ULL

static volatile pid_t ending;
static volatile int may_exit;

static void *end_when_told(void *unused)
{
	(void)unused;
	ending = gettid();
	while (!may_exit)
		;
	return NULL;
}

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

/* Return: whether the thread was alive when the module looked first, and not after. */
static bool tag_ending_thread(unsigned int spin)
{
	unsigned long long began_ns;
	volatile unsigned int turns;
	pthread_t thread;
	bool late;

	ending = 0;
	may_exit = 0;
	CHECK("thread", !pthread_create(&thread, NULL, end_when_told, NULL));
	while (!ending)
		;
	may_exit = 1;
	for (turns = 0; turns < spin; turns++)
		;
	began_ns = now_ns();
	late = set_tag(ending, FGIO_TAG_FOREGROUND) && now_ns() - began_ns >= STRETCH_NS;
	CHECK("an end", !late || errno == ESRCH);
	CHECK("join", !pthread_join(thread, NULL));
	return late;
}

/*
 * SECONDS, as the first user, with fgio_trust_claim() stretched by STRETCH_NS: the module
 * checks whether the thread exits, claims its place, and makes its entry. The control: some
 * threads ended in between, which a late answer with an error shows.
 */
static void case_tagged_while_ending(char **arguments)
{
	unsigned long long end_ns = now_ns() + (unsigned long long)atoi(arguments[0]) * 1000000000;
	unsigned int rounds, late = 0;

	become(FIRST_USER);
	for (rounds = 0; now_ns() < end_ns; rounds++)
		late += tag_ending_thread((unsigned int)rand() % 3000);
	printf("%u threads, %u ended in between\n", rounds, late);
	wait_for_tags(0);
	CHECK("some ended in between", late);
}

/* --- owners that a shared word names --- */

enum { MUTEX, RWLOCK, ROBUST_MUTEX, PI_MUTEX, SHAPES };

/* glibc's locks, as a thread leaves them after it took them while others wait. */
static void forge_lock(int shape, pid_t owner)
{
	memset(lock, 0, sizeof(*lock));
	lock->operation = FUTEX_WAIT;
	switch (shape) {
	case MUTEX:
		lock->value = lock->words[0] = 2;
		lock->words[2] = (uint32_t)owner;
		lock->words[3] = 1;
		lock->words[4] = 0x80;
		break;
	case RWLOCK:
		lock->at = 2;
		lock->words[0] = 2;
		lock->value = lock->words[2] = 3;
		lock->words[6] = (uint32_t)owner;
		lock->words[7] = 1;
		break;
	case ROBUST_MUTEX:
		lock->value = lock->words[0] = (uint32_t)owner | FUTEX_WAITERS;
		break;
	default:
		lock->operation = FUTEX_LOCK_PI;
		lock->words[0] = (uint32_t)owner;
	}
}

static struct fgio_state state(void)
{
	struct fgio_state state;

	CHECK("state", !ioctl(device, FGIO_IOC_STATE, &state));
	return state;
}

/* Whether a thread is boosted by the first few walks of another one's wait for such a lock. */
static bool is_boosted(const struct actor *waiter, const struct actor *owner, int shape)
{
	struct fgio_state before = state(), now;
	const char what = WAIT;

	forge_lock(shape, owner->pid);
	CHECK("ask", write(waiter->asks, &what, 1) == 1);
	do {
		usleep(1000);
		now = state();
	} while (now.boosts == before.boosts && now.walks < before.walks + 10);
	lock->over = true;
	CHECK("waited", !hear(waiter));
	return now.boosts > before.boosts;
}

static void case_shared_words(char **arguments)
{
	const uid_t root = 0;
	struct actor mine, waiter, strangers, privileged;
	int shape;

	(void)arguments;
	lock = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK("memory", lock != MAP_FAILED);
	mine = actor_of(SECOND_USER);
	waiter = actor_of(SECOND_USER);
	strangers = actor_of(FIRST_USER);
	privileged = actor_with(become_user, &root);
	CHECK("tag", !ask(&waiter, FOREGROUND) && !ask(&privileged, FOREGROUND));
	for (shape = 0; shape < SHAPES; shape++) {
		printf("shape %d\n", shape);
		CHECK("its own user's", is_boosted(&waiter, &mine, shape));
		CHECK("another user's", !is_boosted(&waiter, &strangers, shape));
		CHECK("root's", !is_boosted(&waiter, &privileged, shape));
		CHECK("for root", is_boosted(&privileged, &strangers, shape));
	}
	end(&privileged);
	end(&strangers);
	end(&waiter);
	end(&mine);
	nothing_is_left();
}

/* --- I/O priorities --- */

/* UID PRIORITY COMMAND: runs it as this user with this raw I/O priority. */
static void case_with_priority(char **arguments)
{
	const int process = 1;

	become((uid_t)atoi(arguments[0]));
	CHECK("ioprio_set", !syscall(SYS_ioprio_set, process, 0, strtol(arguments[1], NULL, 0)));
	execl("/bin/sh", "sh", "-c", arguments[2], NULL);
	CHECK("execl", 0);
}

static const struct device_case cases[] = {
	{ "go_on", case_go_on, 0 },
	{ "user_limit", case_user_limit, 0 },
	{ "words_count", case_words_count, 0 },
	{ "privileged", case_privileged, 0 },
	{ "table_has_room", case_table_has_room, 1 },
	{ "setuid", case_setuid, 0 },
	{ "fork_and_execve", case_fork_and_execve, 0 },
	{ "user_namespace", case_user_namespace, 0 },
	{ "cgroup_list", case_cgroup_list, 0 },
	{ "cgroup_limit", case_cgroup_limit, 0 },
	{ "cgroup_made_again", case_cgroup_made_again, 0 },
	{ "deep_cgroup", case_deep_cgroup, 0 },
	{ "wrong_lists", case_wrong_lists, 0 },
	{ "all_at_once", case_all_at_once, 1 },
	{ "declared", case_declared, 0 },
	{ "tagged_while_ending", case_tagged_while_ending, 1 },
	{ "shared_words", case_shared_words, 0 },
	{ "with_priority", case_with_priority, 3 },
};

int main(int argc, char **argv)
{
	device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	CHECK(FGIO_DEVICE_PATH, device >= 0);
	return RUN_CASE(cases, argc, argv);
}
