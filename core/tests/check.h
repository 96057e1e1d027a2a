/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks that hold with and without NDEBUG, for models that also run under
 * libFuzzer, where a failure must end the process.
 */
#ifndef FGIO_CORE_TESTS_CHECK_H
#define FGIO_CORE_TESTS_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(condition)                                                  \
	do {                                                              \
		if (!(condition)) {                                       \
			fprintf(stderr, "%s:%d: %s does not hold\n",      \
				__FILE__, __LINE__, #condition);          \
			abort();                                          \
		}                                                         \
	} while (0)

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* A number that no run before had, printed so that SEED=... repeats the run. */
static inline uint64_t fresh_seed(const char *what)
{
	const char *chosen = getenv("SEED");
	struct timespec now;
	uint64_t seed;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	if (chosen)
		seed = strtoull(chosen, NULL, 0);
	printf("    %s: SEED=%llu\n", what, (unsigned long long)seed);
	/* A check that fails aborts. */
	fflush(stdout);
	return seed;
}

/* splitmix64: a new well-mixed number from each state. */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t value = (*state += 0x9e3779b97f4a7c15ULL);

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
	return value ^ (value >> 31);
}

/* From 0 to 1. */
static inline double next_fraction(uint64_t *state)
{
	return (double)(next_random(state) % 1000000) / 1e6;
}

/* About normal, of mean 0 and deviation 1. */
static inline double next_deviation(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += next_fraction(state);
	return sum;
}

static inline int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Sorts the values. Return: the middle one. */
static inline double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

static inline void fill_random(uint64_t *state, uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)next_random(state);
}

#endif
