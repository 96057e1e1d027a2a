// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "model_fleet_load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECOND 1000ULL
#define NUMBERS_OF_REQUEST 2
#define NUMBERS_OF_PART 4
#define NUMBERS_OF_IO 5
#define MOST_STREAMS 65536
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

/* Return: whether there is room for one more of @stream. */
static bool make_room(struct fleet_load *load, u32 stream)
{
	struct fleet_load_stream *all = load->stream, *own;
	struct fleet_load_io *io;

	if (stream >= load->streams) {
		all = realloc(all, (stream + 1) * sizeof(*all));
		if (!all)
			return false;
		memset(all + load->streams, 0,
		       (stream + 1 - load->streams) * sizeof(*all));
		load->stream = all;
		load->streams = stream + 1;
	}
	own = &all[stream];
	io = realloc(own->io, (own->count + 1) * sizeof(*io));
	if (io)
		own->io = io;
	return io;
}

static const char *add_background(struct fleet_load *load, const u64 *number,
				  int count, struct fleet_load_io io)
{
	struct fleet_load_stream *stream;

	if (count != NUMBERS_OF_IO || number[0] >= MOST_STREAMS ||
	    number[2] >= MOST_SHARDS || !number[4] || number[4] > MOST_SECTORS)
		return "an I/O that is none: it has a stream, a gap, a shard, a sector and up to 2560 sectors";
	if (!make_room(load, (u32)number[0]))
		return strerror(ENOMEM);
	stream = &load->stream[number[0]];
	io.gap_ns = number[1] * MICROSECOND;
	io.shard = (u32)number[2];
	io.sector = number[3];
	io.sectors = (u32)number[4];
	/* Nothing is before the first one. */
	io.beside = io.beside && stream->count;
	stream->io[stream->count++] = io;
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
	struct fleet_load_io io = { .write = has_word(&line, "write ") };
	bool is_io = io.write || has_word(&line, "read ");
	int count;

	if (*line == '#')
		return NULL;
	if (is_io) {
		io.beside = has_word(&line, "beside ");
		if (!io.beside && !has_word(&line, "after "))
			return "an I/O that is neither after nor beside others";
	}
	count = numbers_of(line, number);
	if (count < 0)
		return "a line with something else than numbers, or with more than an hour";
	if (is_io)
		return add_background(load, number, count, io);
	return count ? add_request(load, number, count) : NULL;
}

/* What can only be seen at the end. */
static const char *check_whole(const struct fleet_load *load)
{
	if (!load->count)
		return "no request";
	for (u32 i = 0; i < load->streams; i++)
		for (u32 j = 0; j < load->stream[i].count; j++)
			if (load->stream[i].io[j].shard >= load->shards)
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
	for (u32 i = 0; i < load->streams; i++)
		free(load->stream[i].io);
	free(load->stream);
	*load = (struct fleet_load){ 0 };
}
