// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "trust.h"

static bool ends_entry(char letter)
{
	return !letter || letter == ',' || letter == '\n';
}

static bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

static bool same(const char *one, const char *other, u32 length)
{
	u32 i;

	for (i = 0; i < length; i++) {
		if (one[i] != other[i])
			return false;
	}
	return true;
}

static u32 entry_length(const char *text)
{
	u32 length = 0;

	while (!ends_entry(text[length]))
		length++;
	return length;
}

/*
 * Cuts "=MAX" off the end of an entry, if it is there. Return: false for a
 * number that is no limit.
 */
static bool take_max(const char *entry, u32 *length, u32 *max)
{
	u32 at = *length;
	u64 value = 0;
	u32 i;

	*max = FGIO_TRUST_NO_LIMIT;
	while (at && is_digit(entry[at - 1]))
		at--;
	if (at == *length || !at || entry[at - 1] != '=')
		return true;
	for (i = at; i < *length; i++) {
		value = value * 10 + (u64)(entry[i] - '0');
		if (value >= FGIO_TRUST_NO_LIMIT)
			return false;
	}
	*max = (u32)value;
	*length = at - 1;
	return true;
}

/* Whether it may stand between slashes: not nothing, nor one or two dots. */
static bool is_component(const char *component, u32 length)
{
	u32 i;

	if (length <= 2 && same(component, "..", length))
		return false;
	for (i = 0; i < length; i++) {
		if ((unsigned char)component[i] <= ' ')
			return false;
	}
	return true;
}

static bool is_path(const char *path, u32 length)
{
	u32 begin = 1, end;

	if (length >= FGIO_TRUST_PATH_BYTES || !length || path[0] != '/')
		return false;
	if (length == 1)
		return true;
	while (begin <= length) {
		for (end = begin; end < length && path[end] != '/'; end++)
			;
		if (!is_component(path + begin, end - begin))
			return false;
		begin = end + 1;
	}
	return true;
}

static bool is_listed(const struct fgio_trust_list *list, const char *path,
		      u32 length)
{
	u32 i;

	for (i = 0; i < list->count; i++) {
		if (list->cgroup[i].length == length &&
		    same(list->cgroup[i].path, path, length))
			return true;
	}
	return false;
}

static bool add_entry(struct fgio_trust_list *list, const char *entry,
		      u32 length)
{
	struct fgio_trust_cgroup *cgroup;
	u32 max, i;

	if (list->count == FGIO_TRUST_CGROUPS_MAX ||
	    !take_max(entry, &length, &max) || !is_path(entry, length))
		return false;
	/* The root: every path begins with nothing and a slash. */
	if (length == 1)
		length = 0;
	if (is_listed(list, entry, length))
		return false;
	cgroup = &list->cgroup[list->count++];
	for (i = 0; i < length; i++)
		cgroup->path[i] = entry[i];
	cgroup->path[length] = 0;
	cgroup->length = length;
	cgroup->max = max;
	cgroup->foreground = 0;
	return true;
}

static bool is_any(const char *text)
{
	const u32 length = sizeof(FGIO_TRUST_ANY) - 1;

	return entry_length(text) == length &&
	       same(text, FGIO_TRUST_ANY, length) &&
	       (!text[length] || (text[length] == '\n' && !text[length + 1]));
}

bool fgio_trust_parse(struct fgio_trust_list *list, const char *text)
{
	u32 length;

	list->count = 0;
	if (is_any(text))
		return true;
	for (; *text; text += length) {
		length = entry_length(text);
		if (length && !add_entry(list, text, length))
			return false;
		if (text[length])
			length++;
	}
	return true;
}

static bool is_in_or_below(const struct fgio_trust_cgroup *cgroup,
			   const char *path)
{
	u32 i;

	for (i = 0; i < cgroup->length; i++) {
		if (path[i] != cgroup->path[i])
			return false;
	}
	return !path[i] || path[i] == '/';
}

u32 fgio_trust_match(const struct fgio_trust_list *list, const char *path)
{
	u32 cgroups = 0, i;

	for (i = 0; i < list->count; i++) {
		if (is_in_or_below(&list->cgroup[i], path))
			cgroups |= 1U << i;
	}
	return cgroups;
}

static bool cgroups_have_room(const struct fgio_trust_list *list, u32 cgroups)
{
	u32 i;

	for (i = 0; i < list->count; i++) {
		if (cgroups & 1U << i &&
		    list->cgroup[i].foreground >= list->cgroup[i].max)
			return false;
	}
	return true;
}

enum fgio_trust_verdict
fgio_trust_judge(const struct fgio_trust_list *list,
		 const struct fgio_trust_limits *limits,
		 const struct fgio_trust_user *user,
		 const struct fgio_trust_claim *claim)
{
	if (claim->privileged)
		return FGIO_TRUST_GRANTED;
	/*
	 * Also if it counts already: a claim of another task may be taken back.
	 */
	if (claim->foreground && list->count && !claim->cgroups)
		return FGIO_TRUST_NOT_LISTED;
	if (claim->adds_thread && user->threads >= limits->threads)
		return FGIO_TRUST_USER_LIMIT;
	if (claim->adds_declaring && user->declaring >= limits->foreground)
		return FGIO_TRUST_USER_LIMIT;
	if (!claim->adds_foreground)
		return FGIO_TRUST_GRANTED;
	if (user->foreground >= limits->foreground)
		return FGIO_TRUST_USER_LIMIT;
	return cgroups_have_room(list, claim->cgroups) ?
		       FGIO_TRUST_GRANTED :
		       FGIO_TRUST_CGROUP_LIMIT;
}

void fgio_trust_charge(struct fgio_trust_list *list,
		       struct fgio_trust_user *user, u32 cgroups)
{
	u32 i;

	user->foreground++;
	for (i = 0; i < list->count; i++)
		list->cgroup[i].foreground += cgroups >> i & 1;
}

void fgio_trust_release(struct fgio_trust_list *list,
			struct fgio_trust_user *user, u32 cgroups)
{
	u32 i;

	user->foreground--;
	for (i = 0; i < list->count; i++)
		list->cgroup[i].foreground -= cgroups >> i & 1;
}
