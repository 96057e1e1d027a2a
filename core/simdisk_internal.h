/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Common to the timing models: slots, an event queue, a random source. A model
 * (an engine) sees a command once in submit() and then its own events, each at
 * its time; model->clock is the current time in both.
 */
#ifndef FGIO_CORE_SIMDISK_INTERNAL_H
#define FGIO_CORE_SIMDISK_INTERNAL_H

#include "number.h"
#include "simdisk.h"

#define SIMDISK_NS_PER_S 1000000000ull
#define SIMDISK_PAGE_SECTORS 8u

/*
 * Event kind of the common part; an engine's own kinds start at
 * SIMDISK_EVENT_ENGINE.
 */
#define SIMDISK_EVENT_COMPLETE 0u
#define SIMDISK_EVENT_ENGINE 1u

struct simdisk_event {
	u64 time;
	u64 sequence;		/* events of one time happen in the order they were added */
	u32 kind;
	u32 index;
};

struct simdisk_slot {
	struct simdisk_request request;
	u64 submitted;
	u64 completed;
	u64 mark;		/* the engine's own */
	u32 remaining;		/* the engine's own */
	u32 next;		/* in one list at most */
	bool taken;
};

/* A first-in first-out list of slots, linked through simdisk_slot.next. */
struct simdisk_list {
	u32 head;
	u32 tail;
};

/*
 * Commands that wait for their turn: those with priority first, each class in
 * order of arrival.
 */
struct simdisk_line {
	struct simdisk_list normal;
	struct simdisk_list high;
};

struct simdisk_engine {
	/* Memory for the engine's state; a multiple of 8. */
	size_t (*bytes)(const struct simdisk_parameters *parameters);
	/* Events other than completions that can be pending at once. */
	u32 (*events)(const struct simdisk_parameters *parameters);
	const char *(*check)(const struct simdisk_parameters *parameters, u64 capacity);
	void (*init)(struct simdisk_model *model);
	void (*submit)(struct simdisk_model *model, u32 slot);
	void (*event)(struct simdisk_model *model, u32 kind, u32 index);
	/*
	 * Of an engine with members, which have events of their own: the next,
	 * and its time has come.
	 */
	u64 (*next)(const struct simdisk_model *model);
	void (*tick)(struct simdisk_model *model);
	u64 (*cached_sectors)(const struct simdisk_model *model);
};

struct simdisk_model {
	struct simdisk_parameters parameters;
	const struct simdisk_engine *engine;
	void *state;
	u64 capacity;
	u64 clock;
	u64 random;
	u64 salt;
	u64 event_sequence;
	struct simdisk_event *event;
	struct simdisk_slot *slot;
	u32 events;
	u32 slots;
	u32 outstanding;
	u32 outstanding_high;	/* with priority */
	struct simdisk_list done;
};

extern const struct simdisk_engine simdisk_hdd_engine;
extern const struct simdisk_engine simdisk_flash_engine;
extern const struct simdisk_engine simdisk_volume_engine;
extern const struct simdisk_engine simdisk_raid_engine;
extern const struct simdisk_engine simdisk_measured_engine;

void simdisk_hdd_defaults(struct simdisk_parameters *parameters);
void simdisk_ssd_defaults(struct simdisk_parameters *parameters);
void simdisk_nvme_defaults(struct simdisk_parameters *parameters);
void simdisk_volume_defaults(struct simdisk_parameters *parameters);
void simdisk_raid_defaults(struct simdisk_parameters *parameters, enum simdisk_kind kind);
void simdisk_measured_defaults(struct simdisk_parameters *parameters);

/* @time may not be before the clock. */
void simdisk_add_event(struct simdisk_model *model, u64 time, u32 kind, u32 index);

/* The next of a reproducible stream of uniform 64-bit numbers. */
u64 simdisk_random(struct simdisk_model *model);

/*
 * The service time @ns as the drive's variation makes it; counts up to 69 s.
 * simdisk_uneven() is the same without swing and turn, simdisk_swung() those at
 * @time alone.
 */
u64 simdisk_vary(struct simdisk_model *model, u64 ns);
u64 simdisk_uneven(struct simdisk_model *model, u64 ns);
u64 simdisk_swung(const struct simdisk_model *model, u64 time, u64 ns);

/* @mean, times an exponentially distributed number; @mean at most 2^32. */
u64 simdisk_exponential(struct simdisk_model *model, u64 mean);

/* Stateless mixing of 64 bits. */
u64 simdisk_mix(u64 value);

void simdisk_list_init(struct simdisk_list *list);
void simdisk_list_add(struct simdisk_model *model, struct simdisk_list *list, u32 slot);

/* Takes the first slot off, or SIMDISK_NO_SLOT. */
u32 simdisk_list_take(struct simdisk_model *model, struct simdisk_list *list);

void simdisk_line_init(struct simdisk_line *line);
void simdisk_line_add(struct simdisk_model *model, struct simdisk_line *line, u32 slot);

/* The slot whose turn it is, or SIMDISK_NO_SLOT. */
u32 simdisk_line_first(const struct simdisk_model *model, const struct simdisk_line *line);

/* Takes off the slot that simdisk_line_first() returned at this time. */
void simdisk_line_take(struct simdisk_model *model, struct simdisk_line *line, u32 slot);

/* Whether a command is too old for priority to matter. */
static inline bool simdisk_aged(const struct simdisk_model *model, u32 slot)
{
	return model->clock - model->slot[slot].submitted >= model->parameters.priority_age_ns;
}

/*
 * Of a normal and a high command, whether the normal one goes first: it is old
 * enough and came first.
 */
static inline bool simdisk_normal_first(const struct simdisk_model *model, u32 normal, u32 high)
{
	return simdisk_aged(model, normal) &&
	       model->slot[normal].submitted <= model->slot[high].submitted;
}

static inline void simdisk_complete_at(struct simdisk_model *model, u64 time, u32 slot)
{
	simdisk_add_event(model, time, SIMDISK_EVENT_COMPLETE, slot);
}

/*
 * Time to move @sectors at @bytes_per_s; exact to the nanosecond below, for up
 * to 8 GiB.
 */
static inline u64 simdisk_transfer_ns(u64 sectors, u64 bytes_per_s)
{
	return sectors * SIMDISK_SECTOR_BYTES * SIMDISK_NS_PER_S / bytes_per_s;
}

#endif /* FGIO_CORE_SIMDISK_INTERNAL_H */
