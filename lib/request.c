// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Request ids: a hybrid logical clock for each process, and ids as text.
 *
 * The clock is one number in memory that a child of fork() finds as zero, so
 * that parent and child have origins of their own: servers fork a process for
 * each connection.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* Of a stamp, which is an id without its origin. */
#define STAMPS_PER_MS (1ULL << (FGIO_REQUEST_MS_SHIFT - FGIO_REQUEST_COUNTER_SHIFT))
#define STAMP_MASK (~0ULL >> FGIO_REQUEST_COUNTER_SHIFT)

#define DIGITS 16

/**
 * struct clock - the process's clock
 * @last: stamp of its last id
 * @origin: its origin and one; 0: not set up
 */
struct clock {
	uint64_t last;
	uint32_t origin;
};

/* Stands in where no memory can be had; a child has its parent's origin then. */
static struct clock spare;
static struct clock *wiped;

static struct clock *map_clock(void)
{
	struct clock *none = NULL;
	struct clock *clock;

	clock = mmap(NULL, sizeof(*clock), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (clock == MAP_FAILED)
		return &spare;
	madvise(clock, sizeof(*clock), MADV_WIPEONFORK);
	if (__atomic_compare_exchange_n(&wiped, &none, clock, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return clock;
	munmap(clock, sizeof(*clock));
	return none;
}

static struct clock *find_clock(void)
{
	struct clock *clock = __atomic_load_n(&wiped, __ATOMIC_ACQUIRE);
	int kept = errno;

	if (LIKELY(clock))
		return clock;
	clock = map_clock();
	errno = kept;
	return clock;
}

static uint32_t any_origin(void)
{
	int kept = errno;
	uint32_t number;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint32_t)getpid() * 2654435761u >> 8;
	errno = kept;
	return number % FGIO_REQUEST_ORIGINS;
}

/* Set up by the first thread that needs it. */
static uint32_t origin_of(struct clock *clock)
{
	uint32_t origin = __atomic_load_n(&clock->origin, __ATOMIC_RELAXED);
	uint32_t chosen;

	if (LIKELY(origin))
		return origin - 1;
	chosen = any_origin() + 1;
	if (__atomic_compare_exchange_n(&clock->origin, &origin, chosen, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		return chosen - 1;
	return origin - 1;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t (*fgio_now_ms)(void) = now_ms;

static uint64_t stamp_now(void)
{
	return fgio_now_ms() * STAMPS_PER_MS & STAMP_MASK;
}

/* By how much a stamp is ahead of another; negative: behind. They wrap. */
static int64_t ahead_of(uint64_t stamp, uint64_t other)
{
	return (int64_t)((stamp - other) << FGIO_REQUEST_COUNTER_SHIFT) >>
	       FGIO_REQUEST_COUNTER_SHIFT;
}

/* Unless another thread was first; then @last is what that set. */
static bool move(struct clock *clock, uint64_t *last, uint64_t stamp)
{
	return __atomic_compare_exchange_n(&clock->last, last, stamp, true, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/*
 * A stamp that is ahead of time by more than others accept: the system's clock
 * was set back, or that of another host is wrong.
 */
static bool ran_away(uint64_t last, uint64_t now)
{
	return ahead_of(last, now) > (int64_t)(FGIO_REQUEST_AHEAD_MS * STAMPS_PER_MS);
}

PUBLIC uint64_t fgio_request_new(void)
{
	struct clock *clock = find_clock();
	uint64_t last = __atomic_load_n(&clock->last, __ATOMIC_RELAXED);
	uint64_t now = stamp_now(), stamp;
	uint32_t origin = origin_of(clock);

	do {
		stamp = now;
		if (last && ahead_of(last, now) >= 0 && !ran_away(last, now))
			stamp = (last + 1) & STAMP_MASK;
		/* 0 is no id, and a clock that was not used yet. */
		if (!stamp)
			stamp = 1;
	} while (!move(clock, &last, stamp));
	return stamp << FGIO_REQUEST_COUNTER_SHIFT | origin;
}

PUBLIC int fgio_request_origin(uint32_t origin)
{
	if (origin >= FGIO_REQUEST_ORIGINS)
		return -EINVAL;
	__atomic_store_n(&find_clock()->origin, origin + 1, __ATOMIC_RELAXED);
	return 0;
}

PUBLIC void fgio_request_seen(uint64_t id)
{
	struct clock *clock = find_clock();
	uint64_t last = __atomic_load_n(&clock->last, __ATOMIC_RELAXED);
	uint64_t stamp = id >> FGIO_REQUEST_COUNTER_SHIFT, now = stamp_now();

	/* A clock far ahead of this one would take it along. */
	if (!id || !stamp || ran_away(stamp, now))
		return;
	/* The next id is later than the time in any case. */
	while (ahead_of(stamp, now) >= 0 && (!last || ahead_of(stamp, last) > 0))
		if (move(clock, &last, stamp))
			break;
}

/* --- text --- */

PUBLIC int fgio_request_format(const struct fgio_user_request *request, char *text, size_t bytes)
{
	int length;

	if (!request->id)
		return -EINVAL;
	if (request->parts)
		length = snprintf(text, bytes, "fgio:%016llx-%u-%u", (unsigned long long)request->id,
				  request->deadline_ms, request->parts);
	else if (request->deadline_ms)
		length = snprintf(text, bytes, "fgio:%016llx-%u", (unsigned long long)request->id,
				  request->deadline_ms);
	else
		length = snprintf(text, bytes, "fgio:%016llx", (unsigned long long)request->id);
	return (size_t)length < bytes ? length : -ENOSPC;
}

/* Not of the locale. */
static bool is_word(char character)
{
	return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'z') ||
	       (character >= 'A' && character <= 'Z') || character == '_';
}

static int digit(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	if (character >= 'a' && character <= 'f')
		return character - 'a' + 10;
	if (character >= 'A' && character <= 'F')
		return character - 'A' + 10;
	return -1;
}

/* Reads "-NUMBER", if it is there. Return: whether there is no mistake. */
static bool read_number(const char **text, uint32_t *number)
{
	const char *at = *text;
	uint64_t value = 0;

	*number = 0;
	if (*at != '-')
		return true;
	if (*++at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (uint64_t)(*at - '0');
		if (value > UINT32_MAX)
			return false;
	}
	*number = (uint32_t)value;
	*text = at;
	return true;
}

static bool read_value(const char *text, struct fgio_user_request *request)
{
	struct fgio_user_request found = { 0 };
	unsigned int i;

	for (i = 0; i < DIGITS; i++, text++) {
		int value = digit(*text);

		if (value < 0)
			return false;
		found.id = found.id << 4 | (unsigned int)value;
	}
	if (!found.id || !read_number(&text, &found.deadline_ms) ||
	    !read_number(&text, &found.parts) || is_word(*text) || *text == '-')
		return false;
	*request = found;
	return true;
}

/* Whether a character is encoded here, as in a URL. */
static bool is_encoded(const char *text)
{
	return text[0] == '%' && digit(text[1]) >= 0 && digit(text[2]) >= 0;
}

/* Return: what follows a ":" or "=", also an encoded one; NULL: neither is there. */
static const char *after_separator(const char *text)
{
	if (*text == ':' || *text == '=')
		return text + 1;
	if (is_encoded(text) && text[1] == '3' && (digit(text[2]) == 10 || digit(text[2]) == 13))
		return text + 3;
	return NULL;
}

/* Return: whether a request begins here. */
static bool read_request(const char *text, struct fgio_user_request *request)
{
	static const char name[] = "fgio";
	const char *value;
	size_t i;

	for (i = 0; name[i] && text[i] == name[i];)
		i++;
	value = name[i] ? NULL : after_separator(text + i);
	return value && read_value(value, request);
}

PUBLIC int fgio_request_parse(const char *text, struct fgio_user_request *request)
{
	bool within = false;

	while (*text) {
		if (is_encoded(text)) {
			within = false;
			text += 3;
			continue;
		}
		if (!within && read_request(text, request))
			return 0;
		within = is_word(*text++);
	}
	return -ENOENT;
}
