// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Drives by name: the table of every parameter, and the reader of specs. */
#include "simdisk_internal.h"

/* How a value is written, and the unit it is kept in. */
enum unit {
	UNIT_COUNT,
	UNIT_TIME,	/* kept in ns */
	UNIT_BYTES,
	UNIT_SECTORS,	/* written in bytes */
	UNIT_PAGES,	/* written in bytes, kept in 4 KiB */
	UNIT_SHARE,	/* a decimal, kept in millionths */
	UNIT_SWITCH,
	UNIT_QUANTILES,	/* times, with a / between them */
	UNIT_SCALING,	/* decimals, likewise, kept in millionths */
	UNITS,
};

struct suffix {
	const char *name;
	u64 factor;
};

#define SUFFIXES 8u

/* Of each unit, largest first, since the largest that fits prints a bound. */
static const struct suffix suffixes[UNITS][SUFFIXES] = {
	[UNIT_COUNT] = { { "M", 1000000 }, { "k", 1000 }, { "", 1 } },
	[UNIT_TIME] = { { "s", SIMDISK_NS_PER_S }, { "ms", 1000000 },
			{ "us", 1000 }, { "ns", 1 } },
	[UNIT_BYTES] = { { "Gi", 1 << 30 }, { "G", 1000000000 },
			 { "Mi", 1 << 20 }, { "M", 1000000 },
			 { "Ki", 1 << 10 }, { "k", 1000 }, { "", 1 } },
	[UNIT_SHARE] = { { "", SIMDISK_PPM }, { "%", SIMDISK_PPM / 100 } },
};

struct parameter {
	const char *name;
	const char *what;
	size_t offset;
	u32 bytes;
	u32 kinds;	/* a bit each */
	enum unit unit;
	u64 least;	/* as kept */
	u64 most;
};

#define BIT_OF(kind) (1u << (kind))
#define ALL (BIT_OF(SIMDISK_KINDS) - 1)
#define RAID (BIT_OF(SIMDISK_HDD_RAID) | BIT_OF(SIMDISK_SSD_RAID))
/* Arrays take their members' parameters, too. */
#define HDD (BIT_OF(SIMDISK_HDD) | BIT_OF(SIMDISK_HDD_RAID))
#define FLASH \
	(BIT_OF(SIMDISK_SSD) | BIT_OF(SIMDISK_NVME) | BIT_OF(SIMDISK_SSD_RAID))
#define MEASURED BIT_OF(SIMDISK_MEASURED)
#define VOLUME BIT_OF(SIMDISK_VOLUME)
#define MS 1000000ull
#define S SIMDISK_NS_PER_S
#define LONG (4 * S)	/* fits 32 bits */
/* Of rates: so that a transfer of 8 GiB still counts in 64 bits. */
#define RATE_MOST (1ull << 40)

#define P(name, kinds, field, unit, least, most, what)			\
	{ name, what, offsetof(struct simdisk_parameters, field),	\
	  sizeof(((struct simdisk_parameters *)NULL)->field),		\
	  kinds, UNIT_##unit, least, most }

/* By kinds, since help has a part for each set of them. */
static const struct parameter table[] = {
	P("sigma", ALL, variation.sigma_ppm, SHARE, 0, SIMDISK_SIGMA_MAX_PPM,
	  "spread of service times: sigma of a lognormal factor, mean kept"),
	P("tail_share", ALL, variation.tail_share_ppm, SHARE, 0, SIMDISK_PPM,
	  "share of service times that are tail_factor as long; mean not kept"),
	P("tail_factor", ALL, variation.tail_factor_ppm, SHARE, 0,
	  1000 * SIMDISK_PPM, "how many times as long those are"),
	P("swing", ALL, variation.swing_ppm, SHARE, 0, SIMDISK_SWING_MAX_PPM,
	  "in each period, speed is drawn from 1 - swing to 1 + swing"),
	P("swing_ms", ALL, variation.swing_ms, COUNT, 1, 3600000,
	  "length of a period, in ms"),
	P("turn", ALL, variation.turn_ns, TIME, 0, 3600 * SIMDISK_NS_PER_S,
	  "time from which on speed is another; 0: never"),
	P("turn_speed", ALL, variation.turn_speed_ppm, SHARE,
	  SIMDISK_TURN_MIN_PPM, SIMDISK_TURN_MAX_PPM,
	  "that speed, in parts of what it is before"),
	P("hw_queues", ALL, hw_queues, COUNT, 1, SIMDISK_MAX_HW_QUEUES,
	  "submission queues"),
	P("queue_depth", ALL, queue_depth, COUNT, 1, 1024,
	  "commands per queue"),
	P("max_io", ALL, max_sectors, SECTORS, 8, 65536,
	  "longest read or write"),
	P("max_segments", ALL, max_segments, COUNT, 1, 65535,
	  "scatter-gather entries"),
	P("physical_block", ALL, physical_block_bytes, BYTES, 512, 65536,
	  "physical block size"),
	P("rotational", ALL, rotational, SWITCH, 0, 1,
	  "as announced to the kernel"),
	P("volatile_cache", ALL, volatile_cache, SWITCH, 0, 1,
	  "completed writes need a flush to be durable"),
	P("fua", ALL, fua, SWITCH, 0, 1, "offers forced unit access"),
	P("discard", ALL, discard, SWITCH, 0, 1, "offers discards"),
	P("priority", ALL, priority_command, SWITCH, 0, 1,
	  "offers NCQ priority"),
	P("priority_age", ALL, priority_age_ns, TIME, 0, LONG,
	  "how long priority may hold up a command without"),

	P("rotation", HDD, hdd.rotation_ns, TIME, MS, S,
	  "one turn of the disk"),
	P("seek_settle", HDD, hdd.seek_settle_ns, TIME, 0, S,
	  "seek to the next track"),
	P("seek_stroke", HDD, hdd.seek_stroke_ns, TIME, 0, S,
	  "added at full stroke"),
	P("write_settle", HDD, hdd.write_settle_ns, TIME, 0, S,
	  "added for a write"),
	P("zones", HDD, hdd.zones, COUNT, 1, 64, "zones of equal capacity"),
	P("outer_bytes_per_s", HDD, hdd.outer_bytes_per_s, BYTES, 1000000,
	  RATE_MOST, "sustained rate of the outermost zone"),
	P("inner_bytes_per_s", HDD, hdd.inner_bytes_per_s, BYTES, 1000000,
	  RATE_MOST, "sustained rate of the innermost zone"),
	P("link_bytes_per_s", HDD, hdd.link_bytes_per_s, BYTES, 1000000,
	  RATE_MOST, "payload rate of the link"),
	P("overhead", HDD, hdd.overhead_ns, TIME, 0, S, "command handling"),
	P("read_ahead", HDD, hdd.read_ahead_sectors, SECTORS, 0, 1 << 20,
	  "how far the idle head reads on"),
	P("read_segments", HDD, hdd.read_segments, COUNT, 1,
	  SIMDISK_HDD_SEGMENTS, "segments of the read cache"),
	P("cache", HDD, hdd.cache_sectors, SECTORS, 0, 1 << 22,
	  "dirty data in the write cache"),
	P("cache_entries", HDD, hdd.cache_entries, COUNT, 0, SIMDISK_HDD_DIRTY,
	  "dirty extents in it; 0: no write cache"),
	P("destage_entries", HDD, hdd.destage_entries, COUNT, 0,
	  SIMDISK_HDD_DIRTY,
	  "extents above which destaging competes with reads"),
	P("destage_idle", HDD, hdd.destage_idle_ns, TIME, 0, LONG,
	  "below, it waits for a pause"),
	P("destage_age", HDD, hdd.destage_age_ns, TIME, 0, LONG,
	  "older extents compete"),
	P("destage_penalty", HDD, hdd.destage_penalty_ns, TIME, 0, LONG,
	  "how much costlier a read may be and still go first"),
	P("ageing", HDD, hdd.ageing, COUNT, 1, 1000000,
	  "waiting cuts a command's cost by 1/ageing"),

	P("smr_band", HDD, hdd.smr_band_sectors, SECTORS, 0, 1 << 20,
	  "a shingled band, rewritten as a whole; 0: not shingled"),
	P("smr_cache", HDD, hdd.smr_cache_sectors, SECTORS, 0, 1 << 30,
	  "the log that takes scattered writes"),
	P("smr_idle", HDD, hdd.smr_idle_ns, TIME, 0, LONG,
	  "pause after which it is emptied"),

	P("dies", FLASH, flash.dies, COUNT, 1, SIMDISK_MAX_DIES,
	  "units that work independently"),
	P("sense", FLASH, flash.sense_ns, TIME, 0, S,
	  "array read of one NAND page"),
	P("sense_jitter", FLASH, flash.sense_jitter_ns, TIME, 0, S,
	  "plus or minus, uniform"),
	P("die_transfer", FLASH, flash.die_transfer_ns, TIME, 0, S,
	  "4 KiB over the die's bus"),
	P("nand_page", FLASH, flash.nand_page_sectors, SECTORS, 8, 2048,
	  "read by one sense operation; a multiple of 4 KiB"),
	P("program", FLASH, flash.program_ns, TIME, 1, S,
	  "one program operation"),
	P("program_size", FLASH, flash.program_pages, PAGES, 1, 4096,
	  "data of one program"),
	P("program_delay", FLASH, flash.program_delay_ns, TIME, 0, LONG,
	  "age at which a partial program starts"),
	P("program_defer", FLASH, flash.program_defer, COUNT, 0, 1000000,
	  "reads that go before a waiting program"),
	P("random_amplification", FLASH, flash.random_amplification, COUNT, 1,
	  100, "pages programmed per page randomly overwritten"),
	P("cache", FLASH, flash.cache_pages, PAGES, 0, 1 << 20, "write cache"),
	P("link_bytes_per_s", FLASH, flash.link_bytes_per_s, BYTES, 1000000,
	  RATE_MOST, "payload rate of the link"),
	P("link_full_duplex", FLASH, flash.link_full_duplex, SWITCH, 0, 1,
	  "PCIe yes, SATA no"),
	P("controller", FLASH, flash.controller_ns, TIME, 0, S,
	  "serial handling of a command"),
	P("read_overhead", FLASH, flash.read_overhead_ns, TIME, 0, S,
	  "latency of a read beside flash"),
	P("write_overhead", FLASH, flash.write_overhead_ns, TIME, 0, S,
	  "latency of a cached write"),
	P("discard_time", FLASH, flash.discard_ns, TIME, 0, S, "a discard"),
	P("flush", FLASH, flash.flush_ns, TIME, 0, S,
	  "a flush with nothing to do"),
	P("flush_metadata", FLASH, flash.flush_metadata_ns, TIME, 0, S,
	  "added when data was programmed"),

	P("erase", FLASH, flash.erase_ns, TIME, 0, S,
	  "time to erase a block; 0: no erases"),
	P("erase_every", FLASH, flash.erase_pages, PAGES, 0, 1 << 20,
	  "data a die programs between erases"),
	P("suspends", FLASH, flash.suspends, COUNT, 0, 1000,
	  "how often a program or an erase gives way to reads; 0: not"),
	P("suspend", FLASH, flash.suspend_ns, TIME, 0, S,
	  "added by each suspension"),
	P("gc", FLASH, flash.gc_ns, TIME, 0, LONG,
	  "time that a collection stops dies; 0: no collection"),
	P("gc_every", FLASH, flash.gc_pages, PAGES, 0, 1 << 24,
	  "data the drive programs between collections"),
	P("gc_dies", FLASH, flash.gc_dies, COUNT, 0, SIMDISK_MAX_DIES,
	  "dies that stop at once"),
	P("slc", FLASH, flash.slc_pages, PAGES, 0, 1 << 28,
	  "SLC cache; 0: none"),
	P("slc_program", FLASH, flash.slc_program_ns, TIME, 0, S,
	  "a program into it"),
	P("slc_fold_bytes_per_s", FLASH, flash.slc_fold_bytes_per_s, BYTES, 0,
	  RATE_MOST, "how fast it empties in a pause"),

	P("iops", VOLUME, volume.iops, COUNT, 1, 100000000, "cap on I/Os"),
	P("bytes_per_s", VOLUME, volume.bytes_per_s, BYTES, 1000, RATE_MOST,
	  "cap on bytes"),
	P("io_size", VOLUME, volume.io_bytes, BYTES, 512, 1 << 30,
	  "an I/O counts once per this size begun"),
	P("burst", VOLUME, volume.burst_ns, TIME, 0, LONG,
	  "size of both buckets"),
	P("latency", VOLUME, volume.latency_ns, TIME, 0, LONG,
	  "shortest latency"),
	P("jitter_mean", VOLUME, volume.jitter_mean_ns, TIME, 0, S,
	  "exponential, added to it"),
	P("jitter_max", VOLUME, volume.jitter_max_ns, TIME, 0, LONG,
	  "bound of the jitter"),
	P("network_bytes_per_s", VOLUME, volume.network_bytes_per_s, BYTES,
	  1000000, RATE_MOST, "adds the transfer's own time"),

	P("burst_iops", VOLUME, volume.burst_iops, COUNT, 0, 100000000,
	  "cap on I/Os while credits last; 0: no credits"),
	P("credits", VOLUME, volume.credits, COUNT, 0, 1000000000,
	  "I/Os that a full balance holds"),
	P("burst_bytes_per_s", VOLUME, volume.burst_bytes_per_s, BYTES, 0,
	  RATE_MOST, "cap on bytes while credits last; 0: no credits"),
	P("byte_credits", VOLUME, volume.byte_credits, BYTES, 0, 1ull << 44,
	  "bytes that a full balance holds"),
	P("credits_left", VOLUME, volume.credits_left_ppm, SHARE, 0,
	  SIMDISK_PPM, "of the balances at the start"),
	P("quota", VOLUME, volume.quota_ns, TIME, 0, LONG,
	  "period in which the caps are used up, then nothing; 0: buckets"),
	P("cold_share", VOLUME, volume.cold_ppm, SHARE, 0, SIMDISK_PPM,
	  "blocks whose first I/O is slow"),
	P("cold_block", VOLUME, volume.cold_block_sectors, SECTORS, 8, 65536,
	  "size of such a block"),
	P("cold_latency", VOLUME, volume.cold_ns, TIME, 0, LONG,
	  "mean time to fetch one"),
	P("cold_bytes_per_s", VOLUME, volume.cold_bytes_per_s, BYTES, 1000000,
	  RATE_MOST, "rate of all fetches"),

	P("level", RAID, raid.level, COUNT, 0, 10, "0, 5 or 10"),
	P("members", RAID, raid.members, COUNT, 2, SIMDISK_RAID_MEMBERS,
	  "disks"),
	P("chunk", RAID, raid.chunk_sectors, SECTORS, 8, 8192,
	  "a disk's share of a row"),
	P("array_overhead", RAID, raid.overhead_ns, TIME, 0, S,
	  "the controller's part of a command"),
	P("array_cache", RAID, raid.cache_rows, COUNT, 0, SIMDISK_RAID_ROWS,
	  "rows in the protected write cache; 0: none (volatile_cache=off goes with it)"),
	P("array_cache_time", RAID, raid.cache_ns, TIME, 0, S,
	  "latency of a cached write"),
	P("array_destage", RAID, raid.destage_ns, TIME, 0, LONG,
	  "age at which a row is written"),
	P("array_link", RAID, raid.link_bytes_per_s, BYTES, 1000000, RATE_MOST,
	  "payload rate to the host"),

	P("parallel", MEASURED, measured.parallel, COUNT, 1, 1024,
	  "commands served at once"),
	P("iops", MEASURED, measured.iops, COUNT, 0, 100000000,
	  "cap on I/Os; 0: none"),
	P("bytes_per_s", MEASURED, measured.bytes_per_s, BYTES, 0, RATE_MOST,
	  "cap on bytes; 0: none"),
	P("read_iops", MEASURED, measured.side_iops[0], COUNT, 0, 100000000,
	  "cap on reads; 0: none"),
	P("write_iops", MEASURED, measured.side_iops[1], COUNT, 0, 100000000,
	  "cap on writes; 0: none"),
	P("read_bytes_per_s", MEASURED, measured.side_bytes_per_s[0], BYTES, 0,
	  RATE_MOST, "cap on bytes read; 0: none"),
	P("write_bytes_per_s", MEASURED, measured.side_bytes_per_s[1], BYTES,
	  0, RATE_MOST, "cap on bytes written; 0: none"),
	P("read_stream", MEASURED, measured.stream_bytes_per_s[0], BYTES, 0,
	  RATE_MOST,
	  "bytes a second of reads that go on where one ended; 0: as others"),
	P("write_stream", MEASURED, measured.stream_bytes_per_s[1], BYTES, 0,
	  RATE_MOST, "the same of writes"),
	P("read_scaling", MEASURED, measured.scaling_ppm[0], SCALING, 10000,
	  1000 * SIMDISK_PPM,
	  "how much more several reads deliver than one"),
	P("write_scaling", MEASURED, measured.scaling_ppm[1], SCALING, 10000,
	  1000 * SIMDISK_PPM, "the same of writes"),
	P("flush", MEASURED, measured.flush_ns, TIME, 0, LONG, "a flush"),
	P("flush_times", MEASURED, measured.flush_quantile_ns, QUANTILES, 0,
	  LONG, "a flush; instead of that"),
	P("read_4k", MEASURED, measured.service_ns[0][0], QUANTILES, 0, LONG,
	  "service of reads of 4 KiB"),
	P("read_32k", MEASURED, measured.service_ns[0][1], QUANTILES, 0, LONG,
	  "of 32 KiB"),
	P("read_256k", MEASURED, measured.service_ns[0][2], QUANTILES, 0, LONG,
	  "of 256 KiB"),
	P("write_4k", MEASURED, measured.service_ns[1][0], QUANTILES, 0, LONG,
	  "service of writes of 4 KiB"),
	P("write_32k", MEASURED, measured.service_ns[1][1], QUANTILES, 0, LONG,
	  "of 32 KiB"),
	P("write_256k", MEASURED, measured.service_ns[1][2], QUANTILES, 0, LONG,
	  "of 256 KiB"),

	{ .name = NULL },
};

/* ---- text ---- */

struct text {
	char *at;
	size_t left;	/* with the terminating zero */
};

static struct text text_in(char *buffer, size_t bytes)
{
	if (bytes)
		*buffer = '\0';
	return (struct text) { buffer, bytes };
}

static void put_some(struct text *text, const char *what, size_t length)
{
	for (; length && text->left > 1; length--, text->left--)
		*text->at++ = *what++;
	if (text->left)
		*text->at = '\0';
}

static size_t length_of(const char *string)
{
	size_t length = 0;

	while (string[length])
		length++;
	return length;
}

static void put(struct text *text, const char *what)
{
	put_some(text, what, length_of(what));
}

static void put_number(struct text *text, u64 value)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put_some(text, digits + i, sizeof(digits) - i);
}

static void put_padded(struct text *text, const char *what, size_t width)
{
	size_t length = length_of(what);

	put(text, what);
	for (; length < width; length++)
		put(text, " ");
}

static void put_kinds(struct text *text, u32 kinds)
{
	enum simdisk_kind kind;

	for (kind = 0; kind < SIMDISK_KINDS; kind++) {
		if (!(kinds & BIT_OF(kind)))
			continue;
		put(text, " ");
		put(text, simdisk_name(kind));
	}
}

/* ---- values ---- */

/*
 * Bytes, or the unit that values are written in, per unit that they are kept
 * in.
 */
static u64 kept_in(enum unit unit)
{
	if (unit == UNIT_SECTORS)
		return SIMDISK_SECTOR_BYTES;
	if (unit == UNIT_PAGES)
		return SIMDISK_PAGE_SECTORS * SIMDISK_SECTOR_BYTES;
	return 1;
}

static const struct suffix *suffixes_of(enum unit unit)
{
	if (unit == UNIT_SECTORS || unit == UNIT_PAGES)
		unit = UNIT_BYTES;
	if (unit == UNIT_QUANTILES)
		unit = UNIT_TIME;
	if (unit == UNIT_SCALING)
		unit = UNIT_SHARE;
	return suffixes[unit];
}

static void put_value(struct text *text, enum unit unit, u64 value)
{
	const struct suffix *suffix = suffixes_of(unit);

	value *= kept_in(unit);
	if (unit == UNIT_SHARE || unit == UNIT_SCALING) {
		put_number(text, value / SIMDISK_PPM);
		if (value % SIMDISK_PPM) {
			put(text, ".");
			/* No bound has more than two decimals. */
			put_number(text, value % SIMDISK_PPM / 10000 / 10);
			if (value / 10000 % 10)
				put_number(text, value / 10000 % 10);
		}
		return;
	}
	while (suffix[1].name &&
	       (value < suffix->factor || value % suffix->factor))
		suffix++;
	put_number(text, value / suffix->factor);
	put(text, suffix->name);
}

static bool same(const char *one, size_t length, const char *other)
{
	size_t i;

	for (i = 0; i < length; i++) {
		if (!other[i] || one[i] != other[i])
			return false;
	}
	return !other[length];
}

/* Digits, at most nine of them behind the point. False when there are none. */
static bool read_decimal(const char **at, const char *end, u64 *whole,
			 u64 *part, u64 *scale)
{
	const char *begin = *at;

	*whole = *part = 0;
	*scale = 1;
	for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
		if (*whole > (1ull << 60) / 10)
			return false;
		*whole = *whole * 10 + (u64)(**at - '0');
	}
	if (*at == begin)
		return false;
	if (*at == end || **at != '.')
		return true;
	for ((*at)++; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
		if (*scale >= SIMDISK_NS_PER_S)
			return false;
		*scale *= 10;
		*part = *part * 10 + (u64)(**at - '0');
	}
	return *scale > 1;
}

static bool read_switch(const char *at, size_t length, u64 *value)
{
	*value = same(at, length, "on") || same(at, length, "1");
	return *value || same(at, length, "off") || same(at, length, "0");
}

static bool read_value(enum unit unit, const char *at, size_t length,
		       u64 *value)
{
	const struct suffix *suffix = suffixes_of(unit);
	const char *end = at + length;
	u64 whole, part, scale;

	if (unit == UNIT_SWITCH)
		return read_switch(at, length, value);
	if (!read_decimal(&at, end, &whole, &part, &scale))
		return false;
	/* Nothing takes no time in any unit. */
	if (unit == UNIT_TIME && at == end && !whole && !part) {
		*value = 0;
		return true;
	}
	for (; suffix->name; suffix++) {
		if (!same(at, (size_t)(end - at), suffix->name))
			continue;
		if (whole > (1ull << 60) / suffix->factor)
			return false;
		*value = whole * suffix->factor + part * suffix->factor / scale;
		if (*value % kept_in(unit))
			return false;
		*value /= kept_in(unit);
		return true;
	}
	return false;
}

static void store(struct simdisk_parameters *parameters,
		  const struct parameter *parameter, u64 value)
{
	void *field = (u8 *)parameters + parameter->offset;

	if (parameter->bytes == sizeof(u64))
		*(u64 *)field = value;
	else if (parameter->bytes == sizeof(u32))
		*(u32 *)field = (u32)value;
	else
		*(bool *)field = value;
}

/* ---- messages ---- */

static const char *const written[UNITS] = {
	[UNIT_COUNT] = "a number",
	[UNIT_TIME] = "a time in ns, us, ms or s",
	[UNIT_BYTES] = "bytes (k, M, G, Ki, Mi, Gi)",
	[UNIT_SECTORS] = "bytes (Ki, Mi, Gi), a multiple of 512",
	[UNIT_PAGES] = "bytes (Ki, Mi, Gi), a multiple of 4Ki",
	[UNIT_SHARE] = "a decimal number or %",
	[UNIT_SWITCH] = "on or off",
	[UNIT_QUANTILES] = "ten times with / between, of 0, 10, 25, 50, 75, 90, 95, 99, 99.9 and 100 %",
	[UNIT_SCALING] = "seven numbers with / between, of 2, 4, 8, 16, 32, 64 and 128 at once",
};

static void put_range(struct text *text, const struct parameter *parameter)
{
	if (parameter->unit == UNIT_SWITCH)
		return;
	put(text, ", ");
	put_value(text, parameter->unit, parameter->least);
	put(text, " to ");
	put_value(text, parameter->unit, parameter->most);
}

static bool refuse_value(struct text *text, const struct parameter *parameter,
			 const char *value, size_t length)
{
	put(text, parameter->name);
	put(text, "=");
	put_some(text, value, length);
	put(text, " is not accepted; give ");
	put(text, written[parameter->unit]);
	put_range(text, parameter);
	return false;
}

static bool refuse_name(struct text *text, enum simdisk_kind kind,
			const char *name, size_t length)
{
	u32 i;

	put_some(text, name, length);
	put(text, " is no parameter of ");
	put(text, simdisk_name(kind));
	put(text, "; there are:");
	for (i = 0; table[i].name; i++) {
		if (!(table[i].kinds & BIT_OF(kind)))
			continue;
		put(text, " ");
		put(text, table[i].name);
	}
	return false;
}

static bool refuse_kind(struct text *text, const char *name, size_t length)
{
	const struct simdisk_preset *preset;
	u32 i;

	put_some(text, name, length);
	put(text, " is no drive; there are:");
	put_kinds(text, ALL);
	for (i = 0; (preset = simdisk_preset(i)); i++) {
		put(text, " ");
		put(text, preset->name);
	}
	return false;
}

/* ---- specs ---- */

static const struct parameter *find_parameter(enum simdisk_kind kind,
					      const char *name, size_t length)
{
	u32 i;

	for (i = 0; table[i].name; i++) {
		if (table[i].kinds & BIT_OF(kind) &&
		    same(name, length, table[i].name))
			return &table[i];
	}
	return NULL;
}

static bool within_range(const struct parameter *parameter, const char *at,
			 size_t length, u64 *value)
{
	return read_value(parameter->unit, at, length, value) &&
	       *value >= parameter->least && *value <= parameter->most;
}

/* All numbers of a field that holds several. */
static bool read_list(struct simdisk_parameters *parameters,
		      const struct parameter *parameter, const char *at,
		      size_t length)
{
	u32 *numbers = (u32 *)(void *)((u8 *)parameters + parameter->offset);
	u32 count = parameter->bytes / sizeof(*numbers);
	const char *end = at + length;
	u32 i;

	for (i = 0; i < count; i++) {
		u64 value;

		for (length = 0; at + length < end && at[length] != '/';)
			length++;
		if (!within_range(parameter, at, length, &value))
			return false;
		numbers[i] = (u32)value;
		at += length;
		if (at == end)
			return i == count - 1;
		at++;
	}
	return false;
}

static bool read_one(struct simdisk_parameters *parameters,
		     const struct parameter *parameter, const char *at,
		     size_t length)
{
	u64 value;

	if (parameter->unit == UNIT_QUANTILES ||
	    parameter->unit == UNIT_SCALING)
		return read_list(parameters, parameter, at, length);
	if (!within_range(parameter, at, length, &value))
		return false;
	store(parameters, parameter, value);
	return true;
}

/* One NAME=VALUE of @length characters. */
static bool read_setting(struct simdisk_parameters *parameters, const char *at,
			 size_t length, struct text *text)
{
	const struct parameter *parameter;
	size_t name = 0;

	while (name < length && at[name] != '=')
		name++;
	parameter = find_parameter(parameters->kind, at, name);
	if (!parameter)
		return refuse_name(text, parameters->kind, at, name);
	if (name == length)
		return refuse_value(text, parameter, "", 0);
	at += name + 1;
	length -= name + 1;
	if (!read_one(parameters, parameter, at, length))
		return refuse_value(text, parameter, at, length);
	return true;
}

static bool read_settings(struct simdisk_parameters *parameters,
			  const char *at, struct text *text)
{
	for (;;) {
		size_t length = 0;

		while (at[length] && at[length] != ',')
			length++;
		if (!read_setting(parameters, at, length, text))
			return false;
		if (!at[length])
			return true;
		at += length + 1;
	}
}

static bool read_kind(struct simdisk_parameters *parameters, const char *name,
		      size_t length)
{
	enum simdisk_kind kind;

	for (kind = 0; kind < SIMDISK_KINDS; kind++) {
		if (!same(name, length, simdisk_name(kind)))
			continue;
		simdisk_defaults(parameters, kind);
		return true;
	}
	return false;
}

static size_t until_colon(const char *spec)
{
	size_t length = 0;

	while (spec[length] && spec[length] != ':')
		length++;
	return length;
}

/* A preset's spec names a kind, so this goes no deeper. */
static bool read_preset(struct simdisk_parameters *parameters,
			const char *name, size_t length, struct text *text)
{
	const struct simdisk_preset *preset;
	u32 i;

	for (i = 0; (preset = simdisk_preset(i)); i++) {
		size_t kind = until_colon(preset->spec);

		if (!same(name, length, preset->name))
			continue;
		if (!read_kind(parameters, preset->spec, kind))
			return false;
		if (!preset->spec[kind])
			return true;
		return read_settings(parameters, preset->spec + kind + 1, text);
	}
	return refuse_kind(text, name, length);
}

bool simdisk_parse(struct simdisk_parameters *parameters, const char *spec,
		   char *error, size_t bytes)
{
	struct text text = text_in(error, bytes);
	size_t length = until_colon(spec);
	const char *wrong;

	if (!read_kind(parameters, spec, length) &&
	    !read_preset(parameters, spec, length, &text))
		return false;
	if (spec[length] &&
	    !read_settings(parameters, spec + length + 1, &text))
		return false;
	/* Of 1 GiB: checks that depend on the size are made again with it. */
	wrong = simdisk_check(parameters, 1ull << 21);
	if (wrong)
		put(&text, wrong);
	return !wrong;
}

/* ---- help ---- */

static void help_parameter(struct text *text,
			   const struct parameter *parameter)
{
	put(text, "  ");
	put_padded(text, parameter->name, 22);
	put(text, parameter->what);
	put(text, ": ");
	put(text, written[parameter->unit]);
	put_range(text, parameter);
}

static void help_preset(struct text *text,
			const struct simdisk_preset *preset)
{
	put(text, "  ");
	put_padded(text, preset->name, 22);
	put(text, preset->what);
}

/* True when line @number is in a part of @lines; else takes these off it. */
static bool within(u32 *number, u32 lines)
{
	if (*number < lines)
		return true;
	*number -= lines;
	return false;
}

static void help_kinds(struct text *text, u32 kinds)
{
	put(text, "Parameters of");
	if (kinds == ALL)
		put(text, " all kinds");
	else
		put_kinds(text, kinds);
	put(text, ":");
}

static bool help_table(u32 number, struct text *text)
{
	u32 i;

	for (i = 0; table[i].name; i++) {
		bool heads = !i || table[i].kinds != table[i - 1].kinds;

		if (heads && within(&number, 1)) {
			help_kinds(text, table[i].kinds);
			return true;
		}
		if (within(&number, 1)) {
			help_parameter(text, &table[i]);
			return true;
		}
	}
	return false;
}

bool simdisk_help(u32 number, char *line, size_t bytes)
{
	struct text text = text_in(line, bytes);
	u32 presets = 0;

	while (simdisk_preset(presets))
		presets++;
	if (within(&number, 1)) {
		put(&text, "A drive is KIND[:NAME=VALUE[,NAME=VALUE...]], ");
		put(&text, "as in volume:iops=16000,sigma=0.5.");
	} else if (within(&number, 1)) {
		put(&text, "KIND is");
		put_kinds(&text, ALL);
		put(&text, ", or one of these:");
	} else if (within(&number, presets)) {
		help_preset(&text, simdisk_preset(number));
	} else {
		return help_table(number, &text);
	}
	return true;
}
