/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The requests that a real sharded database had, as lab/run sharded records
 * them: when each was due, and what its parts did but for the time in drives.
 */
#ifndef FGIO_CORE_TESTS_MODEL_FLEET_LOAD_H
#define FGIO_CORE_TESTS_MODEL_FLEET_LOAD_H

#include "../types.h"

/**
 * struct fleet_load_part - of a request, on one shard
 * @begin_ns: from the time that a client took the request to the first read, or to
 *	the part's end without one
 * @reads: one after the other
 * @think_ns: between the end of a read and the next one
 * @end_ns: from the last read's end to the part's
 */
struct fleet_load_part {
	u64 begin_ns;
	u64 think_ns;
	u64 end_ns;
	u32 reads;
};

/**
 * struct fleet_load_request - of a user
 * @due_ns: from the beginning of the recording
 * @tail_ns: from the end of its last part to its own
 * @part: one for each shard
 */
struct fleet_load_request {
	u64 due_ns;
	u64 tail_ns;
	struct fleet_load_part *part;
};

/**
 * struct fleet_load_io - of a shard's background, that no request waits for
 * @gap_ns: from the end of all earlier ones of its stream, or (@beside) from the
 *	beginning of the one before; of the first one: from that of the recording
 * @sector: where it begins
 * @sectors: of 512 bytes
 * @shard: whose drive it is for
 * @write: or it reads
 * @beside: earlier ones may be under way
 */
struct fleet_load_io {
	u64 gap_ns;
	u64 sector;
	u32 sectors;
	u32 shard;
	bool write;
	bool beside;
};

/* What one thread of the background did. */
struct fleet_load_stream {
	struct fleet_load_io *io;
	u32 count;
};

/**
 * struct fleet_load - all of a recording
 * @request: in the order in which they were due
 * @count: of them
 * @shards: parts of each
 * @stream: of the background
 * @streams: of them
 */
struct fleet_load {
	struct fleet_load_request *request;
	u32 count;
	u32 shards;
	struct fleet_load_stream *stream;
	u32 streams;
};

/**
 * fleet_load_read - reads a recording
 * @load: filled; fleet_load_free() it
 * @path: a line for each request, numbers of us with blanks between: due, tail,
 *	and for each shard begin, reads, think, end. Besides, a line for each I/O of
 *	the background: read or write, after or beside, stream, gap, shard, sector,
 *	sectors. Lines that begin with # are for the reader
 *
 * Return: NULL, or what is wrong with the file, to be shown to the user.
 */
const char *fleet_load_read(struct fleet_load *load, const char *path);

void fleet_load_free(struct fleet_load *load);

#endif
