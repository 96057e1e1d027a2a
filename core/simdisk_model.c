// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "simdisk_internal.h"

static const struct simdisk_engine *const engines[SIMDISK_KINDS] = {
	[SIMDISK_HDD] = &simdisk_hdd_engine,
	[SIMDISK_SSD] = &simdisk_flash_engine,
	[SIMDISK_VOLUME] = &simdisk_volume_engine,
	[SIMDISK_NVME] = &simdisk_flash_engine,
	[SIMDISK_HDD_RAID] = &simdisk_raid_engine,
	[SIMDISK_SSD_RAID] = &simdisk_raid_engine,
	[SIMDISK_MEASURED] = &simdisk_measured_engine,
};

const char *simdisk_name(enum simdisk_kind kind)
{
	static const char *const names[SIMDISK_KINDS] = {
		[SIMDISK_HDD] = "hdd",
		[SIMDISK_SSD] = "ssd",
		[SIMDISK_VOLUME] = "volume",
		[SIMDISK_NVME] = "nvme",
		[SIMDISK_HDD_RAID] = "hdd-raid",
		[SIMDISK_SSD_RAID] = "ssd-raid",
		[SIMDISK_MEASURED] = "measured",
	};

	return names[kind];
}

void simdisk_defaults(struct simdisk_parameters *parameters, enum simdisk_kind kind)
{
	switch (kind) {
	case SIMDISK_HDD:
		simdisk_hdd_defaults(parameters);
		break;
	case SIMDISK_SSD:
		simdisk_ssd_defaults(parameters);
		break;
	case SIMDISK_NVME:
		simdisk_nvme_defaults(parameters);
		break;
	case SIMDISK_HDD_RAID:
	case SIMDISK_SSD_RAID:
		simdisk_raid_defaults(parameters, kind);
		break;
	case SIMDISK_MEASURED:
		simdisk_measured_defaults(parameters);
		break;
	default:
		simdisk_volume_defaults(parameters);
		break;
	}
	/* Figures of options that are off. */
	parameters->variation.tail_factor_ppm = 10 * SIMDISK_PPM;
	parameters->variation.swing_ms = 100;
	parameters->variation.turn_speed_ppm = SIMDISK_PPM;
}

static const char *check_variation(const struct simdisk_variation *variation)
{
	if (variation->sigma_ppm > SIMDISK_SIGMA_MAX_PPM)
		return "sigma must be 0 to 1.5";
	if (variation->tail_share_ppm > SIMDISK_PPM)
		return "tail_share must be 0 to 1";
	if (variation->tail_factor_ppm > 1000 * SIMDISK_PPM)
		return "tail_factor must be 0 to 1000";
	if (variation->swing_ppm > SIMDISK_SWING_MAX_PPM)
		return "swing must be 0 to 0.95";
	if (variation->swing_ppm && !variation->swing_ms)
		return "swing_ms must be at least 1";
	if (variation->turn_speed_ppm < SIMDISK_TURN_MIN_PPM ||
	    variation->turn_speed_ppm > SIMDISK_TURN_MAX_PPM)
		return "turn_speed must be 0.001 to 1000";
	return NULL;
}

const char *simdisk_check(const struct simdisk_parameters *parameters, u64 capacity)
{
	const char *wrong = check_variation(&parameters->variation);

	if (wrong)
		return wrong;
	if (parameters->hw_queues < 1 || parameters->hw_queues > SIMDISK_MAX_HW_QUEUES)
		return "hw_queues must be 1 to 64";
	if (parameters->hw_queues > 1 &&
	    (parameters->kind == SIMDISK_HDD || parameters->kind == SIMDISK_SSD))
		return "hw_queues must be 1 for a SATA disk (hdd, ssd)";
	if (parameters->hw_queues > 1 && parameters->kind != SIMDISK_NVME &&
	    parameters->kind != SIMDISK_VOLUME)
		return "hw_queues must be 1 for an array or a measured drive";
	if (parameters->queue_depth < 1 || parameters->queue_depth > 1024)
		return "queue_depth must be 1 to 1024";
	if (parameters->queue_depth > 32 &&
	    (parameters->kind == SIMDISK_HDD || parameters->kind == SIMDISK_SSD))
		return "queue_depth must be 1 to 32 for a SATA disk (hdd, ssd)";
	if (capacity < 2048 || capacity > (1ull << 36))
		return "the size must be 1 MiB to 32 TiB";
	return engines[parameters->kind]->check(parameters, capacity);
}

static u32 slots_of(const struct simdisk_parameters *parameters)
{
	return parameters->hw_queues * parameters->queue_depth;
}

static u32 events_of(const struct simdisk_parameters *parameters)
{
	return slots_of(parameters) + engines[parameters->kind]->events(parameters);
}

static size_t multiple_of_8(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static size_t slots_bytes(const struct simdisk_parameters *parameters)
{
	return multiple_of_8(slots_of(parameters) * sizeof(struct simdisk_slot));
}

static size_t events_bytes(const struct simdisk_parameters *parameters)
{
	return multiple_of_8(events_of(parameters) * sizeof(struct simdisk_event));
}

size_t simdisk_bytes(const struct simdisk_parameters *parameters)
{
	return multiple_of_8(sizeof(struct simdisk_model)) + slots_bytes(parameters) +
	       events_bytes(parameters) + engines[parameters->kind]->bytes(parameters);
}

struct simdisk_model *simdisk_create(void *memory, const struct simdisk_parameters *parameters,
				     u64 capacity, u64 seed)
{
	struct simdisk_model *model = memory;
	u8 *rest = (u8 *)memory + multiple_of_8(sizeof(*model));

	model->parameters = *parameters;
	model->engine = engines[parameters->kind];
	model->capacity = capacity;
	model->slots = slots_of(parameters);
	model->slot = (struct simdisk_slot *)(void *)rest;
	rest += slots_bytes(parameters);
	model->event = (struct simdisk_event *)(void *)rest;
	rest += events_bytes(parameters);
	model->state = rest;
	/* Zero is the one state the generator cannot leave. */
	model->random = simdisk_mix(seed + 1) | 1;
	model->salt = simdisk_mix(~seed);
	simdisk_list_init(&model->done);
	model->engine->init(model);
	return model;
}

/*
 * The finaliser of the splitmix64 generator: every input bit changes every
 * output bit.
 */
u64 simdisk_mix(u64 value)
{
	value += 0x9e3779b97f4a7c15ull;
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

/* xorshift64*: enough for jitter, and three shifts cheap. */
u64 simdisk_random(struct simdisk_model *model)
{
	u64 state = model->random;

	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	model->random = state;
	return state * 0x2545f4914f6cdd1dull;
}

/* -log2 of a uniform number in (0, 1], in units of 1/65536. */
static u64 exponential_log2(u64 random)
{
	u32 value = (u32)(random >> 32) | 1;
	u32 zeroes = (u32)__builtin_clz(value);
	u64 fraction = (u64)(value << zeroes << 1) >> 16;
	/* log2(1 + x) is x + 0.3431 x (1 - x) within 0.01. */
	u64 mantissa = fraction + (fraction * (65536 - fraction) / 65536 * 22485) / 65536;

	return (u64)(zeroes + 1) * 65536 - mantissa;
}

u64 simdisk_exponential(struct simdisk_model *model, u64 mean)
{
	/* ln 2 is 45426/65536. */
	return exponential_log2(simdisk_random(model)) * 45426 / 65536 * mean / 65536;
}

void simdisk_list_init(struct simdisk_list *list)
{
	list->head = SIMDISK_NO_SLOT;
	list->tail = SIMDISK_NO_SLOT;
}

void simdisk_list_add(struct simdisk_model *model, struct simdisk_list *list, u32 slot)
{
	model->slot[slot].next = SIMDISK_NO_SLOT;
	if (list->head == SIMDISK_NO_SLOT)
		list->head = slot;
	else
		model->slot[list->tail].next = slot;
	list->tail = slot;
}

u32 simdisk_list_take(struct simdisk_model *model, struct simdisk_list *list)
{
	u32 slot = list->head;

	if (slot != SIMDISK_NO_SLOT)
		list->head = model->slot[slot].next;
	return slot;
}

void simdisk_line_init(struct simdisk_line *line)
{
	simdisk_list_init(&line->normal);
	simdisk_list_init(&line->high);
}

static struct simdisk_list *list_of(struct simdisk_model *model, struct simdisk_line *line,
				    u32 slot)
{
	return model->slot[slot].request.priority ? &line->high : &line->normal;
}

void simdisk_line_add(struct simdisk_model *model, struct simdisk_line *line, u32 slot)
{
	simdisk_list_add(model, list_of(model, line, slot), slot);
}

u32 simdisk_line_first(const struct simdisk_model *model, const struct simdisk_line *line)
{
	u32 normal = line->normal.head, high = line->high.head;

	if (high == SIMDISK_NO_SLOT)
		return normal;
	if (normal == SIMDISK_NO_SLOT)
		return high;
	return simdisk_normal_first(model, normal, high) ? normal : high;
}

void simdisk_line_take(struct simdisk_model *model, struct simdisk_line *line, u32 slot)
{
	simdisk_list_take(model, list_of(model, line, slot));
}

static bool event_before(const struct simdisk_event *a, const struct simdisk_event *b)
{
	return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

void simdisk_add_event(struct simdisk_model *model, u64 time, u32 kind, u32 index)
{
	struct simdisk_event event = { time, model->event_sequence++, kind, index };
	u32 child = model->events++;

	while (child && event_before(&event, &model->event[(child - 1) / 2])) {
		model->event[child] = model->event[(child - 1) / 2];
		child = (child - 1) / 2;
	}
	model->event[child] = event;
}

static struct simdisk_event take_event(struct simdisk_model *model)
{
	struct simdisk_event first = model->event[0];
	struct simdisk_event last = model->event[--model->events];
	u32 parent = 0, child = 1;

	while (child < model->events) {
		if (child + 1 < model->events &&
		    event_before(&model->event[child + 1], &model->event[child]))
			child++;
		if (!event_before(&model->event[child], &last))
			break;
		model->event[parent] = model->event[child];
		parent = child;
		child = 2 * parent + 1;
	}
	model->event[parent] = last;
	return first;
}

static u64 next_event(const struct simdisk_model *model)
{
	return model->events ? model->event[0].time : SIMDISK_NEVER;
}

static u64 next_tick(const struct simdisk_model *model)
{
	return model->engine->next ? model->engine->next(model) : SIMDISK_NEVER;
}

static void run_event(struct simdisk_model *model)
{
	struct simdisk_event event = take_event(model);

	model->clock = larger(model->clock, event.time);
	if (event.kind == SIMDISK_EVENT_COMPLETE) {
		model->slot[event.index].completed = model->clock;
		model->outstanding_high -= model->slot[event.index].request.priority;
		simdisk_list_add(model, &model->done, event.index);
	} else {
		model->engine->event(model, event.kind, event.index);
	}
}

/*
 * Everything due up to @now happens, in order; completions gather in
 * model->done.
 */
static void run_until(struct simdisk_model *model, u64 now)
{
	for (;;) {
		u64 event = next_event(model), tick = next_tick(model);

		if (smaller(event, tick) > now)
			break;
		if (event <= tick) {
			run_event(model);
		} else {
			model->clock = larger(model->clock, tick);
			model->engine->tick(model);
		}
	}
	model->clock = larger(model->clock, now);
}

static bool acceptable(const struct simdisk_model *model, u32 slot,
		       const struct simdisk_request *request)
{
	if (slot >= model->slots || model->slot[slot].taken)
		return false;
	if (request->hw_queue >= model->parameters.hw_queues)
		return false;
	if (request->operation >= SIMDISK_OPERATIONS)
		return false;
	if (request->operation == SIMDISK_FLUSH)
		return true;
	return request->sectors && request->sectors <= model->capacity &&
	       request->sector <= model->capacity - request->sectors;
}

bool simdisk_submit(struct simdisk_model *model, u64 now, u32 slot,
		    const struct simdisk_request *request)
{
	if (!acceptable(model, slot, request))
		return false;
	/*
	 * Events due before the command arrives must be decided without
	 * knowing of it.
	 */
	run_until(model, now);
	model->slot[slot].request = *request;
	model->slot[slot].request.priority &= model->parameters.priority_command;
	model->slot[slot].submitted = model->clock;
	model->slot[slot].taken = true;
	model->outstanding++;
	model->outstanding_high += model->slot[slot].request.priority;
	model->engine->submit(model, slot);
	return true;
}

u64 simdisk_next_event(const struct simdisk_model *model)
{
	if (model->done.head != SIMDISK_NO_SLOT)
		return model->slot[model->done.head].completed;
	return smaller(next_event(model), next_tick(model));
}

u32 simdisk_advance(struct simdisk_model *model, u64 now, struct simdisk_completion *completions,
		    u32 capacity)
{
	u32 count = 0;

	run_until(model, now);
	while (count < capacity) {
		u32 slot = simdisk_list_take(model, &model->done);

		if (slot == SIMDISK_NO_SLOT)
			break;
		completions[count].time_ns = model->slot[slot].completed;
		completions[count].slot = slot;
		count++;
		model->slot[slot].taken = false;
		model->outstanding--;
	}
	return count;
}

u32 simdisk_outstanding(const struct simdisk_model *model)
{
	return model->outstanding;
}

u64 simdisk_volatile_sectors(const struct simdisk_model *model)
{
	return model->parameters.volatile_cache ? model->engine->cached_sectors(model) : 0;
}
