/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the parts of a hard disk's model share: the engine (simdisk_hdd.c), which
 * moves the arm; where sectors are (simdisk_hdd_geometry.c); and what is in its
 * memory (simdisk_hdd_cache.c).
 */
#ifndef FGIO_CORE_SIMDISK_HDD_H
#define FGIO_CORE_SIMDISK_HDD_H

#include "simdisk_internal.h"

#define HDD_MAX_ZONES 64u
#define HDD_MAX_QUEUE 32u
#define HDD_ROOTS 256u
#define HDD_BANDS 32768u	/* that are told apart */

struct hdd_zone {
	u64 first_sector;
	u64 first_track;
	u64 track_sectors;
};

/*
 * Where a sector is, worked out once: choosing looks at every candidate each
 * time.
 */
struct hdd_place {
	u64 sector;
	u64 track;
	u64 angle;		/* in ns of rotation */
};

struct hdd_waiting {
	struct hdd_place place;
	u32 slot;
};

struct hdd_segment {
	u64 start;
	u64 end;
};

struct hdd_extent {
	struct hdd_place place;	/* of the first sector */
	u64 time;		/* when its oldest data came */
	u64 sequence;		/* of its oldest data */
	u32 sectors;
	bool used;
	bool moving;		/* being destaged: new data needs another extent */
};

/* A shingled disk's log, the persistent cache, and its content by bands. */
struct hdd_log {
	u64 head;		/* where it goes on */
	u64 sectors;		/* in it... */
	u32 bands;		/* ...and the number of bands they are of */
	u32 next;		/* the band to look at for cleaning */
	u32 cleaning;		/* the band under way */
	u64 last_command;
	u64 last_end;		/* of the latest write's addresses, wherever it went */
	bool writing;		/* the write under way goes to the log */
	u32 band[];		/* sectors of each in the log; none of an ordinary disk */
};

/* The arm's current operation. */
enum hdd_work {
	HDD_COMMAND,
	HDD_DESTAGE,
	HDD_CLEAN,
};

struct hdd_state {
	struct hdd_zone zone[HDD_MAX_ZONES];
	u32 root[HDD_ROOTS + 1];	/* of n / HDD_ROOTS, in 1/65536; the first quarter unused */
	u64 zone_sectors;
	u64 tracks;
	u64 angle;		/* of the spindle at time 0, in ns of rotation */

	bool busy;
	enum hdd_work work;
	u32 current;		/* slot of a command, number of an extent */
	u64 head_sector;	/* where the last operation ended... */
	u64 head_time;		/* ...and when */
	bool head_reads;	/* it was a read: the head reads on */
	u64 consumed;		/* how far the host has read the active segment */
	bool active_lost;	/* a write overlapped the active segment while the arm reads */
	u64 last_read;
	bool idle_event;

	struct hdd_segment segment[SIMDISK_HDD_SEGMENTS];
	u32 active;		/* the segment the head reads into */

	struct hdd_waiting queue[HDD_MAX_QUEUE];	/* commands for the media */
	u32 queued;

	struct hdd_extent extent[SIMDISK_HDD_DIRTY];
	u32 extents;
	u32 dirty_sectors;
	u64 sequence;
	struct simdisk_line writers;	/* waiting for room in the cache */
	struct simdisk_list flushes;
	u64 link_free;
	struct hdd_log log;	/* last: its end depends on the drive */
};

/* ---- where sectors are ---- */

/* Of a rotation, in a zone; the outermost is 0. */
u64 hdd_track_sectors(const struct simdisk_hdd_parameters *hdd, u32 zone);

/* Zones, tracks, and the spindle's angle by chance. */
void hdd_lay_out(struct simdisk_model *model);

/* On which track, and at which angle. */
struct hdd_place hdd_place_of(const struct simdisk_model *model, u64 sector);

/* For @sectors from @sector to pass under the head. */
u64 hdd_media_ns(const struct simdisk_model *model, u64 sector, u64 sectors);

/* From one track to another, without the wait for the rotation. */
u64 hdd_seek_ns(const struct simdisk_model *model, u64 from, u64 to);

/* How long after @time the spindle's angle is right for @place. */
u64 hdd_rotation_wait_ns(const struct simdisk_model *model, u64 time,
			 const struct hdd_place *place);

/* From now, with the head on @track, until it can start on @place. */
u64 hdd_position_ns(const struct simdisk_model *model, u64 track,
		    const struct hdd_place *place, bool write);

/*
 * A reading head follows the spiral until it is read_ahead_sectors ahead of the
 * host.
 */
u64 hdd_read_limit(const struct simdisk_model *model);

/* The sector at which the head of an idle arm is now. */
u64 hdd_head(const struct simdisk_model *model);

/*
 * The reading head has not stopped, and is about to pass @sector or has just
 * read it.
 */
bool hdd_streams_into(const struct simdisk_model *model, u64 sector);

/* ---- what was read ---- */

/* Whether all that a read wants is in memory; the head may then read further. */
bool hdd_is_cached(struct simdisk_model *model, const struct simdisk_request *request);

/* The arm starts to read and does not continue the active segment. */
void hdd_begin_segment(struct simdisk_model *model, u64 sector);

/* It has read up to @sector. */
void hdd_end_segment(struct simdisk_model *model, u64 sector);

/* The arm leaves the place where it was reading ahead. */
void hdd_stop_reading(struct simdisk_model *model);

/* A write: what was read there is not what is there. */
void hdd_forget_segments(struct simdisk_model *model, u64 sector, u64 sectors);

/* ---- what is to be written ---- */

/*
 * Data is moved now, behind others' that is under way. Return: when it has gone over
 * the link, and the drive has said so.
 */
u64 hdd_over_link(struct simdisk_model *model, u32 sectors);

/* Return: whether there was room for a write; its completion is then due. */
bool hdd_cache_write(struct simdisk_model *model, u32 slot);

/* The write that has room next, or SIMDISK_NO_SLOT. */
u32 hdd_first_writer(const struct simdisk_model *model);

/* Room came free: those that waited for it. */
void hdd_admit_writers(struct simdisk_model *model);

/* Completes the flushes for which nothing is left to be written. */
void hdd_finish_flushes(struct simdisk_model *model);

#endif /* FGIO_CORE_SIMDISK_HDD_H */
