// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_fleet_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECOND 1000ULL
#define NUMBERS_OF_REQUEST 2
#define NUMBERS_OF_PART 4
#define NUMBERS_OF_IO 4
/* The kernel splits larger ones (max_sectors_kb is 1,280). */
#define MOST_SECTORS 2560
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

static const char *add_background(struct fleet_load *load, const u64 *number,
				  int count, bool write)
{
	struct fleet_load_io *all;

	if (count != NUMBERS_OF_IO || number[1] >= MOST_SHARDS || !number[3] ||
	    number[3] > MOST_SECTORS)
		return "an I/O that is none: it has a time, a shard, a sector and up to 2560 sectors";
	if (load->background_count &&
	    number[0] * MICROSECOND <
		    load->background[load->background_count - 1].at_ns)
		return "I/O that is not in the order of time";
	all = realloc(load->background,
		      (load->background_count + 1) * sizeof(*all));
	if (!all)
		return strerror(ENOMEM);
	load->background = all;
	all[load->background_count++] = (struct fleet_load_io){
		.at_ns = number[0] * MICROSECOND,
		.shard = (u32)number[1],
		.sector = number[2],
		.sectors = (u32)number[3],
		.write = write,
	};
	return NULL;
}

static bool has_word(const char **line, const char *word)
{
	if (strncmp(*line, word, strlen(word)))
		return false;
	*line += strlen(word);
	return true;
}

static const char *add_line(struct fleet_load *load, const char *line,
			    u64 *number)
{
	bool write = has_word(&line, "write ");
	bool is_io = write || has_word(&line, "read ");
	int count;

	if (*line == '#')
		return NULL;
	count = numbers_of(line, number);
	if (count < 0)
		return "a line with something else than numbers, or with more than an hour";
	if (is_io)
		return add_background(load, number, count, write);
	return count ? add_request(load, number, count) : NULL;
}

/* What can only be seen at the end. */
static const char *check_whole(const struct fleet_load *load)
{
	if (!load->count)
		return "no request";
	for (u32 i = 0; i < load->background_count; i++)
		if (load->background[i].shard >= load->shards)
			return "I/O of a shard that no request has";
	return NULL;
}

static const char *read_lines(struct fleet_load *load, FILE *file, u64 *number)
{
	const char *wrong = NULL;
	char *line = NULL;
	size_t room = 0;

	while (!wrong && getline(&line, &room, file) >= 0)
		wrong = add_line(load, line, number);
	free(line);
	if (!wrong && ferror(file))
		wrong = strerror(EIO);
	return wrong ? wrong : check_whole(load);
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
	free(load->background);
	*load = (struct fleet_load){ 0 };
}
