// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_fleet_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECOND 1000ULL
#define NUMBERS_OF_REQUEST 2
#define NUMBERS_OF_PART 4
#define MOST_SHARDS 1024
#define MOST_NUMBERS (NUMBERS_OF_REQUEST + NUMBERS_OF_PART * MOST_SHARDS)
/* An hour: nothing in a recording of minutes is later. */
#define MOST_US 3600000000ULL

/* The numbers of a line; -1: something in it is none, or one is too large. */
static int numbers_of(const char *line, u64 *number)
{
	int count = 0;

	for (;;) {
		char *end;

		line += strspn(line, " \t\r\n");
		if (!*line)
			return count;
		if (*line < '0' || *line > '9' || count == MOST_NUMBERS)
			return -1;
		number[count] = strtoull(line, &end, 10);
		if (number[count++] > MOST_US)
			return -1;
		line = end;
	}
}

static const char *add_request(struct fleet_load *load, const u64 *number,
			       int count)
{
	u32 shards = (u32)(count - NUMBERS_OF_REQUEST) / NUMBERS_OF_PART;
	struct fleet_load_request *request, *all;

	if (count <= NUMBERS_OF_REQUEST ||
	    (count - NUMBERS_OF_REQUEST) % NUMBERS_OF_PART)
		return "a line that is not a request: it has two numbers, and four for each shard";
	if (load->count && shards != load->shards)
		return "requests with different numbers of shards";
	if (load->count &&
	    number[0] * MICROSECOND < load->request[load->count - 1].due_ns)
		return "requests that are not in the order in which they were due";
	all = realloc(load->request, (load->count + 1) * sizeof(*all));
	if (!all)
		return strerror(ENOMEM);
	load->request = all;
	load->shards = shards;
	request = &all[load->count];
	*request = (struct fleet_load_request){
		.due_ns = number[0] * MICROSECOND,
		.tail_ns = number[1] * MICROSECOND,
		.part = calloc(shards, sizeof(*request->part)),
	};
	if (!request->part)
		return strerror(ENOMEM);
	load->count++;
	for (u32 i = 0; i < shards; i++) {
		const u64 *part =
			number + NUMBERS_OF_REQUEST + NUMBERS_OF_PART * i;

		request->part[i] = (struct fleet_load_part){
			.begin_ns = part[0] * MICROSECOND,
			.reads = (u32)part[1],
			.think_ns = part[2] * MICROSECOND,
			.end_ns = part[3] * MICROSECOND,
		};
	}
	return NULL;
}

static const char *read_lines(struct fleet_load *load, FILE *file, u64 *number)
{
	const char *wrong = NULL;
	char *line = NULL;
	size_t room = 0;

	while (!wrong && getline(&line, &room, file) >= 0) {
		int count = numbers_of(line + (*line == '#' ? strlen(line) : 0),
				       number);

		if (count < 0)
			wrong = "a line with something else than numbers of us up to an hour";
		else if (count)
			wrong = add_request(load, number, count);
	}
	free(line);
	if (!wrong && ferror(file))
		wrong = strerror(EIO);
	return wrong || load->count ? wrong : "no request";
}

const char *fleet_load_read(struct fleet_load *load, const char *path)
{
	u64 *number = calloc(MOST_NUMBERS, sizeof(*number));
	const char *wrong;
	FILE *file;

	*load = (struct fleet_load){ 0 };
	if (!number)
		return strerror(ENOMEM);
	file = fopen(path, "r");
	if (file) {
		wrong = read_lines(load, file, number);
		fclose(file);
	} else {
		wrong = strerror(errno);
	}
	free(number);
	if (wrong)
		fleet_load_free(load);
	return wrong;
}

void fleet_load_free(struct fleet_load *load)
{
	for (u32 i = 0; i < load->count; i++)
		free(load->request[i].part);
	free(load->request);
	*load = (struct fleet_load){ 0 };
}
