/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Trust: which threads may become foreground tasks, and how many.
 *
 * Four rules bind users without privilege. A user has a limited number of
 * foreground threads, at most as many threads that declare waits, and a limited
 * number of threads of any kind in the table of tags. If the administrator
 * lists cgroups, only threads in these and in cgroups below them become
 * foreground tasks. A listed cgroup, with all below it, may have a limit of its
 * own.
 *
 * Every foreground thread counts, whichever way it was tagged: privileged users
 * are not limited, but use up what the others may have. So a tag that another
 * user gives and takes away again gains nothing.
 *
 * Cgroups are known by their paths, since services come and go: a cgroup that
 * is made again is the same to the administrator, and users can only make
 * cgroups below those delegated to them.
 *
 * Locking: the caller serialises all calls. Nothing here sleeps or allocates.
 */
#ifndef FGIO_CORE_TRUST_H
#define FGIO_CORE_TRUST_H

#include "types.h"

#define FGIO_TRUST_CGROUPS_MAX 32
/* With the NUL at the end. */
#define FGIO_TRUST_PATH_BYTES 256
#define FGIO_TRUST_NO_LIMIT 0xffffffffU
/* Stands for the empty list. */
#define FGIO_TRUST_ANY "any"

/**
 * struct fgio_trust_cgroup - a cgroup whose threads may be foreground tasks
 * @path: from the root of the hierarchy; ends with a NUL
 * @length: of @path; 0 for the root, which is above all
 * @max: foreground threads in it and below, or FGIO_TRUST_NO_LIMIT
 * @foreground: their present number
 */
struct fgio_trust_cgroup {
	char path[FGIO_TRUST_PATH_BYTES];
	u32 length;
	u32 max;
	u32 foreground;
};

/**
 * struct fgio_trust_list - the listed cgroups
 * @count: length of @cgroup; 0 when threads of any cgroup may
 * @cgroup: the cgroups, in the administrator's order
 */
struct fgio_trust_list {
	u32 count;
	struct fgio_trust_cgroup cgroup[FGIO_TRUST_CGROUPS_MAX];
};

/**
 * struct fgio_trust_user - a user's threads in the table of tags
 * @threads: threads in it
 * @foreground: the foreground threads among them
 * @declaring: the threads among them that declared a wait
 */
struct fgio_trust_user {
	u32 threads;
	u32 foreground;
	u32 declaring;
};

/**
 * struct fgio_trust_limits - limits of one user
 * @threads: threads in the table of tags
 * @foreground: foreground threads; also the limit of threads that declare waits
 */
struct fgio_trust_limits {
	u32 threads;
	u32 foreground;
};

/**
 * struct fgio_trust_claim - a thread asks for a tag or a thread flag, or
 *	declares a wait
 * @privileged: the asking task is bound by no rule
 * @foreground: if granted, the thread may be a foreground task
 * @adds_thread: it is not in the table, or counts for another user there
 * @adds_foreground: it does not count as a foreground thread of this user yet
 * @adds_declaring: it declares a wait for the first time
 * @cgroups: listed cgroups that the thread is in or below, by
 *	fgio_trust_match()
 */
struct fgio_trust_claim {
	bool privileged;
	bool foreground;
	bool adds_thread;
	bool adds_foreground;
	bool adds_declaring;
	u32 cgroups;
};

enum fgio_trust_verdict {
	FGIO_TRUST_GRANTED,
	FGIO_TRUST_NOT_LISTED,
	FGIO_TRUST_USER_LIMIT,
	FGIO_TRUST_CGROUP_LIMIT,
};

/**
 * fgio_trust_parse() - read a list of cgroups
 * @list: out: the list, with no thread counted; undefined when @text is no list
 * @text: paths, each followed by "=MAX" if it has a limit, separated by commas
 *	or line ends; nothing or "any" for the empty list
 *
 * Return: whether @text is such a list. A path begins with a slash, does not
 * end with one, has no empty, "." or ".." component and no blank, and occurs
 * once.
 */
bool fgio_trust_parse(struct fgio_trust_list *list, const char *text);

/**
 * fgio_trust_match() - the listed cgroups that a cgroup is, or is below
 * @list: the list
 * @path: of the cgroup; of a longer one, the first FGIO_TRUST_PATH_BYTES - 1
 *	characters
 *
 * Return: a bit for each, by its place in the list.
 */
u32 fgio_trust_match(const struct fgio_trust_list *list, const char *path);

/* Whether a claim may be granted to a user; if not, the first reason. */
enum fgio_trust_verdict
fgio_trust_judge(const struct fgio_trust_list *list,
		 const struct fgio_trust_limits *limits,
		 const struct fgio_trust_user *user,
		 const struct fgio_trust_claim *claim);

/*
 * Counts a foreground thread of the user and of the cgroups in @cgroups, or
 * stops counting it.
 */
void fgio_trust_charge(struct fgio_trust_list *list,
		       struct fgio_trust_user *user, u32 cgroups);
void fgio_trust_release(struct fgio_trust_list *list,
			struct fgio_trust_user *user, u32 cgroups);

#endif /* FGIO_CORE_TRUST_H */
