/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The lab's disk: timing models of a hard disk, a SATA SSD, a cloud volume, an
 * NVMe drive, arrays of the first two, and a drive known by measurement.
 *
 * A model holds no data and no clock. The caller tells it which commands arrive
 * when, and the model answers which of them are complete when. The same
 * parameters, seed and submissions always give the same completions.
 *
 * All times are nanoseconds of one clock that never goes back, all addresses
 * and lengths are sectors of 512 bytes, unless a name says otherwise. Priority
 * is that of NCQ (the PRIO field of ACS), of which the standard only says that
 * a drive should serve high before normal. Here it decides at each point where
 * commands wait for their turn, the arm, the controller, the dies, and room in
 * the write cache: high goes first, and no operation is interrupted. A
 * normal command that has waited for priority_age_ns counts as high, lest it
 * starve; no vendor publishes its own figure. Destaging, programs and flushes
 * compete as ever: they have no priority.
 *
 * Nothing here locks, sleeps or allocates: the caller serialises all calls on
 * one model and may make them in any context.
 */
#ifndef FGIO_CORE_SIMDISK_H
#define FGIO_CORE_SIMDISK_H

#include "types.h"

#define SIMDISK_SECTOR_BYTES 512u
#define SIMDISK_NEVER ((u64)-1)
#define SIMDISK_NO_SLOT ((u32)-1)
#define SIMDISK_MAX_HW_QUEUES 64u
#define SIMDISK_MAX_DIES 256u

enum simdisk_kind {
	SIMDISK_HDD,
	SIMDISK_SSD,
	SIMDISK_VOLUME,
	SIMDISK_NVME,
	SIMDISK_HDD_RAID,
	SIMDISK_SSD_RAID,
	SIMDISK_MEASURED,
	SIMDISK_KINDS,
};

enum simdisk_operation {
	SIMDISK_READ,
	SIMDISK_WRITE,
	SIMDISK_FLUSH,
	SIMDISK_DISCARD,
	SIMDISK_OPERATIONS,
};

/*
 * A 7200 rpm desktop or nearline drive (datasheets of the 1 to 4 TB drives of
 * that class). The whole capacity spans the full stroke, whatever the capacity:
 * a small disk in guest memory keeps the seek times of a full drive.
 */
struct simdisk_hdd_parameters {
	u32 rotation_ns;		/* 60 s / 7200 */
	u32 seek_settle_ns;		/* to the next track: datasheet "track-to-track" about 1 ms */
	u32 seek_stroke_ns;		/* added at full stroke, by the square root of the distance */
	u32 write_settle_ns;		/* writes tolerate less off-track error: 0.5 to 1 ms */
	u32 zones;			/* zones of equal capacity, outer first */
	u64 outer_bytes_per_s;		/* sustained rate of the outermost zone */
	u64 inner_bytes_per_s;		/* sustained rate of the innermost zone */
	u64 link_bytes_per_s;		/* SATA 6 Gbit/s after coding and framing */
	u32 overhead_ns;		/* command handling outside seek and rotation */
	u32 read_ahead_sectors;		/* how far the idle head reads on after a read */
	u32 read_segments;		/* read cache segments, at most SIMDISK_HDD_SEGMENTS */
	u32 cache_sectors;		/* dirty data the volatile cache may hold */
	u32 cache_entries;		/* dirty extents it may hold, at most SIMDISK_HDD_DIRTY */
	u32 destage_entries;		/* with more dirty extents, destaging competes with reads */
	u32 destage_idle_ns;		/* with fewer, it waits for this time without a read */
	u32 destage_age_ns;		/* but an extent older than this competes */
	u32 destage_penalty_ns;		/* how much costlier a read may be and still go first */
	u32 ageing;			/* each ns of waiting cuts 1/ageing ns from a command's cost */
	/*
	 * Drive-managed shingled recording: writes that do not continue one
	 * another go to a log, the persistent cache, and a band that has data
	 * there is read and written again as a whole, when the log is full or
	 * the drive idle.
	 */
	u32 smr_band_sectors;		/* 0: not shingled */
	u32 smr_cache_sectors;		/* of the log */
	u32 smr_idle_ns;		/* pause without a command after which cleaning begins */
};
#define SIMDISK_HDD_SEGMENTS 16u
#define SIMDISK_HDD_DIRTY 256u

/*
 * A drive made of NAND flash: pages on dies (or channels) that do one thing at
 * a time, behind a controller, a link, and a write cache that either is
 * volatile or survives power loss.
 */
struct simdisk_flash_parameters {
	u32 dies;			/* units that work independently, at most SIMDISK_MAX_DIES */
	u32 sense_ns;			/* array read of one NAND page: 40 to 60 us for TLC */
	u32 sense_jitter_ns;		/* uniform, plus or minus */
	u32 die_transfer_ns;		/* 4 KiB over the die's bus: ONFI at 400 to 1200 MB/s */
	u32 nand_page_sectors;		/* read by one sense operation: 16 KiB */
	u32 program_ns;			/* one program operation: TLC, 600 us and more */
	u32 program_pages;		/* 4 KiB pages per program: 4 planes of 16 KiB */
	u32 program_delay_ns;		/* a partial program starts when its data is this old */
	u32 program_defer;		/* reads a die serves before a waiting program gets its turn */
	u32 random_amplification;	/* pages programmed per page randomly overwritten, steady state */
	u32 cache_pages;		/* 4 KiB pages the write cache holds */
	u64 link_bytes_per_s;		/* payload rate of the link */
	bool link_full_duplex;		/* PCIe yes, SATA no */
	u32 controller_ns;		/* serial command handling: bounds the command rate */
	u32 read_overhead_ns;		/* latency of a read beside flash and transfers */
	u32 write_overhead_ns;		/* latency of a cached write beside the transfer */
	u32 discard_ns;			/* a discard changes mappings only */
	u32 flush_ns;			/* a flush with nothing to do */
	u32 flush_metadata_ns;		/* added when data was programmed: the mapping journal */
	/* The rest is off when 0. */
	u32 erase_ns;			/* time a die takes to erase a block... */
	u32 erase_pages;		/* ...and pages that it programs between two erases */
	u32 suspends;			/* how often a program or an erase gives way to reads */
	u32 suspend_ns;			/* added by each suspension */
	u32 gc_ns;			/* collection stops dies for this time, reads too */
	u32 gc_pages;			/* pages that the drive programs between two collections */
	u32 gc_dies;			/* dies that one collection stops */
	u32 slc_pages;			/* programmed at slc_program_ns until it is full... */
	u32 slc_program_ns;
	u64 slc_fold_bytes_per_s;	/* ...and emptied at this rate while the drive has no command */
};

/*
 * A network volume like a small AWS gp3 volume: 3,000 IOPS and 125 MB/s, I/Os
 * of up to 256 KiB count as one, single-digit millisecond latency (measured
 * around 0.6 ms, p99 about 1 ms).
 *
 * Throttling: each cap is a token bucket in the form of a theoretical arrival
 * time (GCRA). A command starts when both buckets allow it, in arrival order.
 * The bucket holds burst_ns worth of the cap: 25 ms are 75 I/Os or 3.1 MB. So a
 * single stream below the cap, even one that submits in small batches, sees the
 * base latency only, while any second that begins with empty buckets gets
 * exactly the cap, and one that begins with full ones at most 2.5 % more.
 */
struct simdisk_volume_parameters {
	u32 iops;			/* cap; baseline of gp3 */
	u64 bytes_per_s;		/* cap; baseline of gp3 */
	u32 io_bytes;			/* an I/O counts once per this many bytes begun */
	u32 burst_ns;			/* size of both buckets */
	u32 latency_ns;			/* shortest latency of a command that need not wait */
	u32 jitter_mean_ns;		/* exponential, added to it: 0.5 + 0.1 ms has its p99 at 0.96 ms */
	u32 jitter_max_ns;		/* bound of the jitter */
	u64 network_bytes_per_s;	/* adds the transfer's own time: 10 Gbit/s */
	/*
	 * Credits, as burstable volumes have them: a higher cap while a balance
	 * lasts that refills at the cap's rate.
	 */
	u32 burst_iops;			/* 0: no such cap */
	u64 credits;			/* I/Os that a full balance holds */
	u64 burst_bytes_per_s;		/* 0: no such cap */
	u64 byte_credits;
	u32 credits_left_ppm;		/* of both balances at the first command */
	/*
	 * A quota instead of buckets: each period's share of the caps, then
	 * nothing until the next.
	 */
	u32 quota_ns;			/* 0: buckets */
	/*
	 * Cold blocks, as of a volume restored from a snapshot: the first I/O
	 * to one fetches it from slow storage.
	 */
	u32 cold_ppm;			/* of all blocks are cold at first */
	u32 cold_block_sectors;
	u32 cold_ns;			/* mean latency of a fetch: half fixed, half exponential */
	u64 cold_bytes_per_s;		/* of all fetches together */
};

/*
 * Hard disks or SSDs behind one controller; their own parameters are hdd's or
 * flash's, and every member varies by itself. A write to RAID-5 that does not
 * cover a row of chunks reads old data and parity first. With array_cache_rows
 * the controller has a protected write cache.
 */
struct simdisk_raid_parameters {
	u32 level;			/* 0, 5 or 10 */
	u32 members;			/* at most SIMDISK_RAID_MEMBERS */
	u32 chunk_sectors;
	u32 overhead_ns;		/* the controller's own part of each command */
	u32 cache_rows;			/* of chunks, that the write cache holds; 0: none */
	u32 cache_ns;			/* latency of a write that finds room in it */
	u32 destage_ns;			/* a row goes to the members when it is full or this old */
	u64 link_bytes_per_s;		/* between controller and host */
};
#define SIMDISK_RAID_MEMBERS 16u
#define SIMDISK_RAID_ROWS 4096u

/* A drive as it was measured: docs/drives.md says how. */
#define SIMDISK_QUANTILES 10u	/* at 0, 10, 25, 50, 75, 90, 95, 99, 99.9 and 100 % */
#define SIMDISK_SIZES 3u	/* of 4, 32 and 256 KiB */
#define SIMDISK_DEPTHS 7u	/* 2, 4, 8, 16, 32, 64 and 128 commands */

struct simdisk_measured_parameters {
	/*
	 * Service times in ns; reads, then writes. Between sizes, and beyond,
	 * in proportion.
	 */
	u32 service_ns[2][SIMDISK_SIZES][SIMDISK_QUANTILES];
	/*
	 * How much more commands deliver together than one alone, in
	 * millionths; reads, then writes. Between depths in proportion, beyond
	 * the last no more. 0 in the first: as many times.
	 */
	u32 scaling_ppm[2][SIMDISK_DEPTHS];
	u32 parallel;			/* commands in service at once */
	u32 iops;			/* caps, kept over 10 ms; 0: none */
	u64 bytes_per_s;
	u32 side_iops[2];		/* the same of reads alone, and of writes */
	u64 side_bytes_per_s[2];
	u64 stream_bytes_per_s[2];	/* of commands that go on where one ended; 0: as others */
	u32 flush_ns;
	u32 flush_quantile_ns[SIMDISK_QUANTILES];	/* instead; all 0: none */
};

/*
 * Variation of service times, on top of the model's own. All zero: none, and no
 * random number is drawn for it. Shares and factors are in millionths.
 *
 * sigma multiplies each service time by a lognormal factor whose mean is 1, so
 * that rates stay what they are: its median is exp(-sigma^2 / 2), its p99
 * exp(2.326 sigma) medians. A tail multiplies by tail_factor; its mean is not
 * made good, so a share of 3 % of ten times as long takes 27 % more time in
 * all. A swing divides by a speed that is drawn anew, evenly from 1 - swing to
 * 1 + swing, in each period of swing_ms. A turn divides by another speed from a
 * time on.
 *
 * Service means different things by model. Hard disk: positioning and media
 * transfer, with the arm busy for that long. Flash: each operation of a die,
 * which is busy for that long. Volume: the latency, jitter included; swing and
 * turn move its caps instead. Measured drive: the time drawn from its table;
 * swing and turn move its caps, too. An array varies in each of its members.
 */
struct simdisk_variation {
	u32 sigma_ppm;			/* 0 to SIMDISK_SIGMA_MAX_PPM */
	u32 tail_share_ppm;
	u32 tail_factor_ppm;
	u32 swing_ppm;			/* up to SIMDISK_SWING_MAX_PPM: a drive never stands still */
	u32 swing_ms;
	u64 turn_ns;			/* since the drive's begin; 0: never */
	u32 turn_speed_ppm;		/* SIMDISK_TURN_MIN_PPM to SIMDISK_TURN_MAX_PPM */
};
#define SIMDISK_PPM 1000000u
#define SIMDISK_SIGMA_MAX_PPM 1500000u
#define SIMDISK_SWING_MAX_PPM 950000u
#define SIMDISK_TURN_MIN_PPM 1000u
#define SIMDISK_TURN_MAX_PPM 1000000000u

struct simdisk_parameters {
	enum simdisk_kind kind;
	u32 hw_queues;			/* submission queues, at most SIMDISK_MAX_HW_QUEUES */
	u32 queue_depth;		/* commands per queue */
	u32 max_sectors;		/* longest read or write of the driver */
	u32 max_segments;		/* scatter-gather entries of the driver */
	u32 physical_block_bytes;
	bool rotational;
	bool volatile_cache;		/* completed writes need a flush to be durable */
	bool fua;			/* offered to the host */
	bool discard;			/* offered to the host */
	bool priority_command;		/* NCQ priority; offered to the host, which need not use it */
	u32 priority_age_ns;		/* a normal command waits this long behind those with priority */
	struct simdisk_variation variation;
	union {
		struct simdisk_hdd_parameters hdd;
		struct simdisk_flash_parameters flash;
		struct simdisk_volume_parameters volume;
		struct simdisk_measured_parameters measured;
	};
	struct simdisk_raid_parameters raid;	/* of arrays */
};

struct simdisk_request {
	enum simdisk_operation operation;
	u64 sector;
	u32 sectors;
	bool fua;			/* a write that is durable when complete */
	u16 hw_queue;
	bool priority;			/* goes first; means nothing without priority_command */
};

struct simdisk_completion {
	u64 time_ns;			/* when the command completed, at most the time asked for */
	u32 slot;
};

struct simdisk_model;

/* "hdd", "ssd", "volume", "nvme", "hdd-raid", "ssd-raid" or "measured". */
const char *simdisk_name(enum simdisk_kind kind);

/* A drive of the family: a spec with a name. */
struct simdisk_preset {
	const char *name;
	const char *spec;
	const char *what;	/* one line */
	const char *source;	/* where its figures are from */
};

/* Preset @number, counted from 0; NULL beyond the last. */
const struct simdisk_preset *simdisk_preset(u32 number);

#define SIMDISK_TEXT_BYTES 256u

/*
 * Fills @parameters from KIND[:NAME=VALUE[,NAME=VALUE...]], for example
 * "volume:iops=16000,sigma=0.5". KIND is a model's name or a preset's; all else
 * keeps the model's or the preset's figure. On failure returns false and writes
 * a message to @error, @bytes long, that names the mistake and the accepted
 * values; @parameters are then undefined.
 */
bool simdisk_parse(struct simdisk_parameters *parameters, const char *spec, char *error,
		   size_t bytes);

/*
 * Writes line @number, counted from 0, of the help on specs to @text, @bytes
 * long. False beyond the last.
 */
bool simdisk_help(u32 number, char *text, size_t bytes);

/* Fills @parameters with the documented figures of @kind. */
void simdisk_defaults(struct simdisk_parameters *parameters, enum simdisk_kind kind);

/*
 * Says what is wrong with @parameters for a disk of @capacity sectors, or NULL.
 * The text names the parameter and what it accepts.
 */
const char *simdisk_check(const struct simdisk_parameters *parameters, u64 capacity);

/* Bytes of memory a model with these (checked) parameters needs. */
size_t simdisk_bytes(const struct simdisk_parameters *parameters);

/*
 * Builds a model in @memory: simdisk_bytes() bytes, zeroed, aligned to 8. The
 * parameters must have passed simdisk_check(). The model lives inside @memory
 * and needs no teardown.
 */
struct simdisk_model *simdisk_create(void *memory, const struct simdisk_parameters *parameters,
				     u64 capacity, u64 seed);

/*
 * Hands a command to the disk at @now. @slot names it until simdisk_advance()
 * returns it: 0 to hw_queues * queue_depth - 1, any free one. Returns false,
 * and changes nothing, when the slot is taken or out of range, the queue does
 * not exist, or the sectors are not on the disk.
 */
bool simdisk_submit(struct simdisk_model *model, u64 now, u32 slot,
		    const struct simdisk_request *request);

/*
 * The time at which simdisk_advance() is worth calling next; SIMDISK_NEVER when
 * the disk has nothing to do. May be in the past. An advance to that time need
 * not yield a completion.
 */
u64 simdisk_next_event(const struct simdisk_model *model);

/*
 * Lets time pass until @now and writes up to @capacity completions, in order of
 * time, to
 * @completions. Returns how many; when it equals @capacity there may be more:
 * call again.
 */
u32 simdisk_advance(struct simdisk_model *model, u64 now, struct simdisk_completion *completions,
		    u32 capacity);

/* Commands submitted and not yet returned by simdisk_advance(). */
u32 simdisk_outstanding(const struct simdisk_model *model);

/*
 * Sectors in the write cache that a loss of power would lose now. 0 without a
 * volatile cache.
 */
u64 simdisk_volatile_sectors(const struct simdisk_model *model);

#endif /* FGIO_CORE_SIMDISK_H */
