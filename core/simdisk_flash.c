// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * NAND flash behind a controller: the SATA SSD and the NVMe drive.
 *
 * A command passes the controller (one at a time, round robin over the queues),
 * then a read waits for its pages on their dies and the link, and a write for
 * the link and room in the write cache. Cached pages are programmed in batches.
 * A die prefers reads to programs: no read waits for more than one program.
 * Reads of cached pages go to the dies all the same. With priority, a command
 * goes before others at the controller, on its dies and to the write cache, and
 * a read before up to program_defer programs' turns.
 *
 * As options: a die erases a block now and then; reads suspend programs and
 * erases; collection stops dies; programs into the SLC cache are faster. A
 * suspended operation waits until no read is left or program_defer of them went
 * before it, and then takes the rest of its time.
 */
#include "simdisk_internal.h"

#define FLASH_EVENT_FETCH SIMDISK_EVENT_ENGINE	/* the controller is done with a command */
#define FLASH_EVENT_DIE (SIMDISK_EVENT_ENGINE + 1)	/* a die finished a read */
#define FLASH_EVENT_DELAY (SIMDISK_EVENT_ENGINE + 2)	/* a partial program may be due */
#define FLASH_EVENT_WORK (SIMDISK_EVENT_ENGINE + 3)	/* a die may have finished other work */
#define FLASH_IDLE_NS 10000000u	/* without an event: then the SLC cache is emptied */
#define FLASH_STREAMS 8u

enum flash_work {
	FLASH_IDLE,
	FLASH_READING,
	FLASH_PROGRAMMING,
	FLASH_ERASING,
	FLASH_COLLECTING,
};

struct flash_die {
	struct simdisk_line reads;	/* of nodes, not slots */
	u32 read_count;
	u32 reading;		/* the node under way */
	u32 owed_reads;		/* reads that go before the next program, whatever waits */
	u32 deferred;		/* reads served since a program could have started */
	u32 pending_pages;	/* in the cache, meant for this die */
	u32 work_pages;
	enum flash_work work;
	enum flash_work held;	/* suspended, or FLASH_IDLE */
	u32 suspensions;	/* of the work under way or held */
	u32 held_reads;		/* served while it was held */
	u32 held_pages;		/* its work_pages */
	bool collect;		/* the next work */
	bool delay_event;
	bool work_event;
	u64 work_end;		/* other than of a read */
	u64 work_left;		/* when it was suspended */
	u64 unerased;		/* units programmed since the last erase */
	u64 pending_units;	/* page programs the pages cost, copies included */
	u64 work_units;
	u64 added;		/* units ever added... */
	u64 programmed;		/* ...and programmed */
	u64 flush_target;	/* the active flush waits for programmed to get here */
	u64 oldest;
};

/* A command's pages on one die. */
struct flash_node {
	u32 next;
	u32 pages;
};

struct flash_state {
	u64 salt;
	u64 link_free[2];	/* to the host, from the host */
	u32 fetching;		/* slot in the controller */
	u32 last_queue;
	u32 write_die;
	u32 write_units;	/* of the program that write_die gathers */
	u32 cached_pages;
	u32 stream;
	u32 gc_die;		/* the next to collect */
	u64 gc_units;		/* programmed since the last collection */
	u64 slc_units;		/* in the SLC cache */
	u64 last_event;
	bool flush_wrote;
	u64 stream_end[FLASH_STREAMS];
	struct simdisk_line submitted[SIMDISK_MAX_HW_QUEUES];
	struct simdisk_line writers;	/* waiting for room in the cache */
	struct simdisk_list flushes;	/* the first is active */
	struct flash_die *die;
	struct flash_node *node;	/* of slot s on die d: s * dies + d */
};

void simdisk_ssd_defaults(struct simdisk_parameters *parameters)
{
	*parameters = (struct simdisk_parameters) {
		.kind = SIMDISK_SSD,
		.hw_queues = 1,
		.queue_depth = 32,
		/*
		 * libata's usual limit, and the entries of an AHCI command
		 * table.
		 */
		.max_sectors = 2560,
		.max_segments = 168,
		.physical_block_bytes = 4096,
		.volatile_cache = true,
		/* libata does not use the drive's FUA unless told to. */
		.fua = false,
		.discard = true,
		.priority_command = true,
		.priority_age_ns = 20000000,
		.flash = {
			.dies = 8,
			.sense_ns = 55000,
			.sense_jitter_ns = 5000,
			.die_transfer_ns = 12000,
			.nand_page_sectors = 32,
			.program_ns = 600000,
			.program_pages = 16,
			.program_delay_ns = 5000000,
			.program_defer = 16,
			.random_amplification = 4,
			.cache_pages = 2048,
			.link_bytes_per_s = 530000000,
			.link_full_duplex = false,
			.controller_ns = 3000,
			.read_overhead_ns = 5000,
			.write_overhead_ns = 20000,
			.discard_ns = 50000,
			.flush_ns = 50000,
			.flush_metadata_ns = 600000,
		},
	};
}

void simdisk_nvme_defaults(struct simdisk_parameters *parameters)
{
	*parameters = (struct simdisk_parameters) {
		.kind = SIMDISK_NVME,
		.hw_queues = 4,
		.queue_depth = 256,
		/*
		 * A maximum data transfer size of 512 KiB is common; the
		 * segments are nvme's own.
		 */
		.max_sectors = 1024,
		.max_segments = 127,
		.physical_block_bytes = 4096,
		.discard = true,
		.flash = {
			.dies = 32,
			.sense_ns = 50000,
			.sense_jitter_ns = 4000,
			.die_transfer_ns = 4000,
			.nand_page_sectors = 32,
			.program_ns = 600000,
			.program_pages = 16,
			.program_delay_ns = 5000000,
			.program_defer = 16,
			.random_amplification = 4,
			.cache_pages = 8192,
			.link_bytes_per_s = 3200000000,
			.link_full_duplex = true,
			.controller_ns = 1000,
			.read_overhead_ns = 13000,
			.write_overhead_ns = 12000,
			.discard_ns = 20000,
			.flush_ns = 5000,
			.flush_metadata_ns = 0,
		},
	};
}

static u32 slots_of(const struct simdisk_parameters *parameters)
{
	return parameters->hw_queues * parameters->queue_depth;
}

static size_t flash_bytes(const struct simdisk_parameters *parameters)
{
	return sizeof(struct flash_state) + parameters->flash.dies *
	       (sizeof(struct flash_die) + slots_of(parameters) * sizeof(struct flash_node));
}

static u32 flash_events(const struct simdisk_parameters *parameters)
{
	return 1 + 3 * parameters->flash.dies;
}

static const char *flash_check(const struct simdisk_parameters *parameters, u64 capacity)
{
	const struct simdisk_flash_parameters *flash = &parameters->flash;

	(void)capacity;
	if (flash->dies < 1 || flash->dies > SIMDISK_MAX_DIES)
		return "dies must be 1 to 256";
	if (flash->nand_page_sectors < SIMDISK_PAGE_SECTORS ||
	    flash->nand_page_sectors % SIMDISK_PAGE_SECTORS)
		return "nand_page_sectors must be a multiple of 8";
	if (flash->sense_jitter_ns > flash->sense_ns)
		return "sense_jitter_ns must be at most sense_ns";
	if (!flash->program_pages || !flash->program_ns || !flash->random_amplification)
		return "program_pages, program_ns and random_amplification must be at least 1";
	if (!flash->link_bytes_per_s)
		return "link_bytes_per_s must be at least 1";
	if (flash->erase_ns && !flash->erase_pages)
		return "erase_every must be at least 4Ki";
	if (flash->gc_ns && (!flash->gc_pages || !flash->gc_dies))
		return "gc_every must be at least 4Ki, and gc_dies at least 1";
	if (flash->slc_pages && !flash->slc_program_ns)
		return "slc_program must be at least 1ns";
	return NULL;
}

static void flash_init(struct simdisk_model *model)
{
	struct flash_state *state = model->state;
	u32 i;

	state->die = (struct flash_die *)(state + 1);
	state->node = (struct flash_node *)(state->die + model->parameters.flash.dies);
	state->salt = simdisk_random(model);
	state->fetching = SIMDISK_NO_SLOT;
	simdisk_line_init(&state->writers);
	simdisk_list_init(&state->flushes);
	for (i = 0; i < SIMDISK_MAX_HW_QUEUES; i++)
		simdisk_line_init(&state->submitted[i]);
	for (i = 0; i < model->parameters.flash.dies; i++)
		simdisk_line_init(&state->die[i].reads);
}

/* ---- link ---- */

static u64 over_link(struct simdisk_model *model, u32 sectors, bool to_host)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	u64 *link_free = &state->link_free[flash->link_full_duplex && !to_host];

	*link_free = larger(model->clock, *link_free) +
		     simdisk_transfer_ns(sectors, flash->link_bytes_per_s);
	return *link_free;
}

/* ---- dies ---- */

/*
 * Neighbouring NAND pages are on neighbouring dies, so a sequential stream uses
 * all of them evenly; where each round of dies begins depends on a hash, so
 * random addresses find random dies.
 */
static u32 die_of(const struct simdisk_model *model, u64 nand_page)
{
	const struct flash_state *state = model->state;
	u32 dies = model->parameters.flash.dies;

	return (u32)((nand_page % dies + simdisk_mix((nand_page / dies) ^ state->salt) % dies) %
		     dies);
}

static bool writers_wait(const struct simdisk_model *model)
{
	const struct flash_state *state = model->state;

	return simdisk_line_first(model, &state->writers) != SIMDISK_NO_SLOT;
}

static bool flush_needs(const struct simdisk_model *model, const struct flash_die *die)
{
	const struct flash_state *state = model->state;

	return state->flushes.head != SIMDISK_NO_SLOT && die->programmed < die->flush_target;
}

static bool program_ready(const struct simdisk_model *model, const struct flash_die *die)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;

	if (!die->pending_units)
		return false;
	return die->pending_units >= flash->program_pages || flush_needs(model, die) ||
	       writers_wait(model) ||
	       model->clock - die->oldest >= flash->program_delay_ns;
}

static bool program_urgent(const struct simdisk_model *model, const struct flash_die *die)
{
	if (die->deferred >= model->parameters.flash.program_defer)
		return true;
	if (die->reads.high.head != SIMDISK_NO_SLOT)
		return false;
	return writers_wait(model) || flush_needs(model, die);
}

static u32 slot_of_node(const struct simdisk_model *model, u32 node)
{
	return node / model->parameters.flash.dies;
}

/* The list of a die's reads whose turn it is; one of them has some. */
static struct simdisk_list *reads_in_turn(const struct simdisk_model *model,
					  struct flash_die *die)
{
	u32 normal = die->reads.normal.head, high = die->reads.high.head;

	if (high == SIMDISK_NO_SLOT)
		return &die->reads.normal;
	if (normal == SIMDISK_NO_SLOT)
		return &die->reads.high;
	return simdisk_normal_first(model, slot_of_node(model, normal),
				    slot_of_node(model, high)) ?
	       &die->reads.normal : &die->reads.high;
}

static void start_read(struct simdisk_model *model, u32 index)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];
	struct simdisk_list *reads = reads_in_turn(model, die);
	u32 per_nand_page = flash->nand_page_sectors / SIMDISK_PAGE_SECTORS;
	u32 pages = state->node[reads->head].pages;
	u64 time = flash->sense_ns;

	die->reading = reads->head;
	reads->head = state->node[die->reading].next;
	die->read_count--;
	if (flash->sense_jitter_ns)
		time += simdisk_random(model) % (2ull * flash->sense_jitter_ns + 1) -
			flash->sense_jitter_ns;
	if (die->held != FLASH_IDLE && !die->held_reads++)
		time += flash->suspend_ns;
	die->work = FLASH_READING;
	die->work_pages = pages < per_nand_page ? pages : per_nand_page;
	if (die->owed_reads)
		die->owed_reads--;
	time += (u64)die->work_pages * flash->die_transfer_ns;
	simdisk_add_event(model, model->clock + simdisk_vary(model, time), FLASH_EVENT_DIE, index);
}

/* The die's work ends after @ns; one event at most is about for it. */
static void work_for(struct simdisk_model *model, u32 index, enum flash_work work, u64 ns)
{
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];

	die->work = work;
	die->work_end = model->clock + ns;
	if (die->work_event)
		return;
	die->work_event = true;
	simdisk_add_event(model, die->work_end, FLASH_EVENT_WORK, index);
}

/* Time of a program, which goes to the SLC cache while it has room. */
static u64 program_ns(struct simdisk_model *model, u64 units)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;

	if (!flash->slc_pages || state->slc_units + units > flash->slc_pages)
		return flash->program_ns;
	state->slc_units += units;
	return flash->slc_program_ns;
}

static void start_erase(struct simdisk_model *model, u32 index)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];

	die->unerased -= flash->erase_pages;
	die->suspensions = 0;
	die->deferred = 0;
	work_for(model, index, FLASH_ERASING, simdisk_vary(model, flash->erase_ns));
}

static void start_program(struct simdisk_model *model, u32 index)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];
	u64 units = die->pending_units;

	if (units > flash->program_pages)
		units = flash->program_pages;
	die->work_units = units;
	/*
	 * Room in the cache comes free in proportion: copies program pages and
	 * free none.
	 */
	die->work_pages = (u32)(die->pending_pages * units / die->pending_units);
	die->deferred = 0;
	if (index == state->write_die)
		state->write_units = 0;
	die->suspensions = 0;
	work_for(model, index, FLASH_PROGRAMMING, simdisk_vary(model, program_ns(model, units)));
}

/* A read came: a program or an erase gives way to it. */
static void suspend_die(struct simdisk_model *model, u32 index)
{
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];

	if (die->work != FLASH_PROGRAMMING && die->work != FLASH_ERASING)
		return;
	if (die->suspensions >= model->parameters.flash.suspends)
		return;
	die->suspensions++;
	die->held = die->work;
	die->held_reads = 0;
	die->held_pages = die->work_pages;
	die->work_left = die->work_end - model->clock;
	die->work = FLASH_IDLE;
}

static void resume_die(struct simdisk_model *model, u32 index)
{
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];
	enum flash_work work = die->held;

	die->held = FLASH_IDLE;
	die->work_pages = die->held_pages;
	work_for(model, index, work, die->work_left);
}

/* True when the die has something special to do. */
static bool start_special(struct simdisk_model *model, u32 index)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];

	if (die->held != FLASH_IDLE) {
		if (die->read_count && die->held_reads < flash->program_defer)
			start_read(model, index);
		else
			resume_die(model, index);
		return true;
	}
	if (!die->collect)
		return false;
	die->collect = false;
	work_for(model, index, FLASH_COLLECTING, simdisk_vary(model, flash->gc_ns));
	return true;
}

/* The erase of the block that the next program needs, or the program. */
static void start_write(struct simdisk_model *model, u32 index)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	const struct flash_state *state = model->state;

	if (flash->erase_ns && state->die[index].unerased >= flash->erase_pages)
		start_erase(model, index);
	else
		start_program(model, index);
}

static void start_die(struct simdisk_model *model, u32 index)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];
	bool ready;

	if (die->work != FLASH_IDLE || start_special(model, index))
		return;
	ready = program_ready(model, die);
	if (ready && (!die->read_count || (!die->owed_reads && program_urgent(model, die)))) {
		start_write(model, index);
	} else if (die->read_count) {
		die->deferred += ready;
		start_read(model, index);
	}
	if (die->pending_units && !ready && !die->delay_event) {
		die->delay_event = true;
		simdisk_add_event(model, die->oldest + flash->program_delay_ns,
				  FLASH_EVENT_DELAY, index);
	}
}

static void start_dies(struct simdisk_model *model)
{
	u32 i;

	for (i = 0; i < model->parameters.flash.dies; i++)
		start_die(model, i);
}

/* ---- reads ---- */

static void add_read(struct simdisk_model *model, u32 index, u32 node)
{
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];
	bool high = model->slot[slot_of_node(model, node)].request.priority;
	struct simdisk_list *reads = high ? &die->reads.high : &die->reads.normal;

	state->node[node].next = SIMDISK_NO_SLOT;
	if (reads->head == SIMDISK_NO_SLOT)
		reads->head = node;
	else
		state->node[reads->tail].next = node;
	reads->tail = node;
	die->read_count++;
}

static void begin_read(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	const struct simdisk_request *request = &model->slot[slot].request;
	struct flash_state *state = model->state;
	u64 page = request->sector / SIMDISK_PAGE_SECTORS;
	u64 last = (request->sector + request->sectors - 1) / SIMDISK_PAGE_SECTORS;
	u32 per_nand_page = flash->nand_page_sectors / SIMDISK_PAGE_SECTORS;

	model->slot[slot].remaining = (u32)(last - page + 1);
	while (page <= last) {
		u64 nand_page = page / per_nand_page;
		u64 beyond = (nand_page + 1) * per_nand_page;
		u32 pages = (u32)((beyond <= last ? beyond : last + 1) - page);
		u32 index = die_of(model, nand_page);
		u32 node = slot * flash->dies + index;

		if (!state->node[node].pages)
			add_read(model, index, node);
		state->node[node].pages += pages;
		suspend_die(model, index);
		start_die(model, index);
		page += pages;
	}
}

static void finish_read(struct simdisk_model *model, u32 index)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];
	u32 node = die->reading;
	u32 slot = slot_of_node(model, node);
	u32 sectors = die->work_pages * SIMDISK_PAGE_SECTORS;
	u64 time;

	state->node[node].pages -= die->work_pages;
	/* One NAND page at a time: a long read lets short ones in between. */
	if (state->node[node].pages)
		add_read(model, index, node);
	if (sectors > model->slot[slot].request.sectors)
		sectors = model->slot[slot].request.sectors;
	time = over_link(model, sectors, true);
	model->slot[slot].remaining -= die->work_pages;
	if (!model->slot[slot].remaining)
		simdisk_complete_at(model, time + flash->read_overhead_ns, slot);
}

/* ---- writes ---- */

/* Does the write continue one of the latest streams? */
static bool sequential(struct flash_state *state, const struct simdisk_request *request)
{
	u64 end = request->sector + request->sectors;
	u32 i;

	for (i = 0; i < FLASH_STREAMS; i++) {
		if (state->stream_end[i] == request->sector) {
			state->stream_end[i] = end;
			return true;
		}
	}
	state->stream_end[state->stream] = end;
	state->stream = (state->stream + 1) % FLASH_STREAMS;
	return false;
}

/* One page goes to the die whose program is being gathered. */
static void add_page(struct simdisk_model *model, u32 units)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[state->write_die];

	if (!die->pending_units)
		die->oldest = model->clock;
	die->pending_pages++;
	die->pending_units += units;
	die->added += units;
	state->write_units += units;
	if (state->write_units >= flash->program_pages) {
		u32 index = state->write_die;

		state->write_units = 0;
		state->write_die = (index + 1) % flash->dies;
		start_die(model, index);
	}
}

static void start_flush(struct simdisk_model *model);

static void add_flush(struct simdisk_model *model, u32 slot)
{
	struct flash_state *state = model->state;
	bool first = state->flushes.head == SIMDISK_NO_SLOT;

	simdisk_list_add(model, &state->flushes, slot);
	if (first)
		start_flush(model);
}

static u32 pages_of(const struct simdisk_request *request)
{
	u64 first = request->sector / SIMDISK_PAGE_SECTORS;
	u64 last = (request->sector + request->sectors - 1) / SIMDISK_PAGE_SECTORS;

	return (u32)(last - first + 1);
}

/* A write larger than the cache passes through an empty one. */
static bool has_room(const struct simdisk_model *model, u32 slot)
{
	const struct flash_state *state = model->state;
	u32 pages = pages_of(&model->slot[slot].request);

	return !state->cached_pages ||
	       state->cached_pages + pages <= model->parameters.flash.cache_pages;
}

static void cache_write(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	const struct simdisk_request *request = &model->slot[slot].request;
	struct flash_state *state = model->state;
	bool random = !sequential(state, request);
	u32 pages = pages_of(request);
	u64 time;
	u32 i;

	state->cached_pages += pages;
	/*
	 * A long write invalidates whole blocks: only its first pages leave
	 * copying behind.
	 */
	for (i = 0; i < pages; i++)
		add_page(model, random && i < flash->program_pages ?
			 flash->random_amplification : 1);
	start_die(model, state->write_die);
	time = over_link(model, request->sectors, false) + flash->write_overhead_ns;
	if (request->fua && model->parameters.volatile_cache)
		add_flush(model, slot);
	else
		simdisk_complete_at(model, time, slot);
}

static void admit_writers(struct simdisk_model *model)
{
	struct flash_state *state = model->state;

	for (;;) {
		u32 slot = simdisk_line_first(model, &state->writers);

		if (slot == SIMDISK_NO_SLOT || !has_room(model, slot))
			return;
		/*
		 * First: a forced write joins the list of flushes, by the same
		 * link.
		 */
		simdisk_line_take(model, &state->writers, slot);
		cache_write(model, slot);
	}
}

static void begin_write(struct simdisk_model *model, u32 slot)
{
	struct flash_state *state = model->state;

	if (!writers_wait(model) && has_room(model, slot)) {
		cache_write(model, slot);
		return;
	}
	simdisk_line_add(model, &state->writers, slot);
	/* Half-gathered programs are worth starting when a command waits. */
	start_dies(model);
}

/* ---- flushes ---- */

static bool flush_done(const struct simdisk_model *model)
{
	const struct flash_state *state = model->state;
	u32 i;

	for (i = 0; i < model->parameters.flash.dies; i++) {
		if (state->die[i].programmed < state->die[i].flush_target)
			return false;
	}
	return true;
}

static void finish_flushes(struct simdisk_model *model)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;

	while (state->flushes.head != SIMDISK_NO_SLOT && flush_done(model)) {
		u32 slot = simdisk_list_take(model, &state->flushes);
		u64 time = model->clock + flash->flush_ns;

		if (state->flush_wrote)
			time += flash->flush_metadata_ns;
		simdisk_complete_at(model, time, slot);
		if (state->flushes.head != SIMDISK_NO_SLOT)
			start_flush(model);
	}
}

/*
 * The first flush of the list becomes the active one: it covers all that is
 * cached by now.
 */
static void start_flush(struct simdisk_model *model)
{
	struct flash_state *state = model->state;
	u32 i;

	state->flush_wrote = false;
	for (i = 0; i < model->parameters.flash.dies; i++) {
		struct flash_die *die = &state->die[i];

		die->flush_target = die->added;
		if (die->programmed < die->added)
			state->flush_wrote = true;
	}
	start_dies(model);
}

/* The next gc_dies dies collect. */
static void collect(struct simdisk_model *model)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	u32 i;

	state->gc_units = 0;
	for (i = 0; i < flash->gc_dies && i < flash->dies; i++) {
		u32 index = state->gc_die;

		state->gc_die = (index + 1) % flash->dies;
		state->die[index].collect = true;
		start_die(model, index);
	}
}

static void finish_program(struct simdisk_model *model, u32 index)
{
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];

	die->pending_units -= die->work_units;
	die->pending_pages -= die->work_pages;
	die->programmed += die->work_units;
	die->oldest = model->clock;
	/* Reads that came meanwhile have waited for their one program. */
	die->owed_reads = die->read_count;
	state->cached_pages -= die->work_pages;
	die->unerased += die->work_units;
	state->gc_units += die->work_units;
	if (model->parameters.flash.gc_ns && state->gc_units >= model->parameters.flash.gc_pages)
		collect(model);
	finish_flushes(model);
	admit_writers(model);
}

/* ---- controller ---- */

static void fetch_next(struct simdisk_model *model)
{
	struct flash_state *state = model->state;
	u32 queues = model->parameters.hw_queues;
	u32 i;

	for (i = 1; i <= queues; i++) {
		u32 queue = (state->last_queue + i) % queues;
		u32 slot = simdisk_line_first(model, &state->submitted[queue]);

		if (slot == SIMDISK_NO_SLOT)
			continue;
		simdisk_line_take(model, &state->submitted[queue], slot);
		state->last_queue = queue;
		state->fetching = slot;
		simdisk_add_event(model, model->clock + model->parameters.flash.controller_ns,
				  FLASH_EVENT_FETCH, 0);
		return;
	}
	state->fetching = SIMDISK_NO_SLOT;
}

static void begin(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;

	switch (model->slot[slot].request.operation) {
	case SIMDISK_READ:
		begin_read(model, slot);
		break;
	case SIMDISK_WRITE:
		begin_write(model, slot);
		break;
	case SIMDISK_FLUSH:
		if (model->parameters.volatile_cache) {
			add_flush(model, slot);
			finish_flushes(model);
		} else {
			simdisk_complete_at(model, model->clock + flash->flush_ns, slot);
		}
		break;
	default:
		simdisk_complete_at(model, model->clock + flash->discard_ns, slot);
		break;
	}
}

/* After a pause: the drive has moved data out of the SLC cache. */
static void fold(struct simdisk_model *model)
{
	const struct simdisk_flash_parameters *flash = &model->parameters.flash;
	struct flash_state *state = model->state;
	u64 pause = model->clock - state->last_event;
	u64 pages = flash->slc_fold_bytes_per_s / (SIMDISK_PAGE_SECTORS * SIMDISK_SECTOR_BYTES);

	state->last_event = model->clock;
	if (pause < FLASH_IDLE_NS)
		return;
	pause = smaller(pause / 1000000, 1u << 24);
	state->slc_units = beyond(state->slc_units, pages * pause / 1000);
}

static void flash_submit(struct simdisk_model *model, u32 slot)
{
	struct flash_state *state = model->state;

	fold(model);
	simdisk_line_add(model, &state->submitted[model->slot[slot].request.hw_queue], slot);
	if (state->fetching == SIMDISK_NO_SLOT)
		fetch_next(model);
}

static void finish_die(struct simdisk_model *model, u32 index)
{
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];
	enum flash_work work = die->work;

	die->work = FLASH_IDLE;
	if (work == FLASH_READING)
		finish_read(model, index);
	else if (work == FLASH_PROGRAMMING)
		finish_program(model, index);
	start_die(model, index);
}

/*
 * The event may be of a time before the work was suspended, or find it
 * suspended.
 */
static void work_event(struct simdisk_model *model, u32 index)
{
	struct flash_state *state = model->state;
	struct flash_die *die = &state->die[index];

	die->work_event = false;
	if (die->work == FLASH_IDLE || die->work == FLASH_READING)
		return;
	if (model->clock < die->work_end)
		work_for(model, index, die->work, die->work_end - model->clock);
	else
		finish_die(model, index);
}

static void flash_event(struct simdisk_model *model, u32 kind, u32 index)
{
	struct flash_state *state = model->state;
	u32 slot;

	state->last_event = model->clock;
	switch (kind) {
	case FLASH_EVENT_FETCH:
		slot = state->fetching;
		fetch_next(model);
		begin(model, slot);
		break;
	case FLASH_EVENT_DIE:
		finish_die(model, index);
		break;
	case FLASH_EVENT_WORK:
		work_event(model, index);
		break;
	default:
		state->die[index].delay_event = false;
		start_die(model, index);
		break;
	}
}

static u64 flash_cached_sectors(const struct simdisk_model *model)
{
	const struct flash_state *state = model->state;

	return (u64)state->cached_pages * SIMDISK_PAGE_SECTORS;
}

const struct simdisk_engine simdisk_flash_engine = {
	.bytes = flash_bytes,
	.events = flash_events,
	.check = flash_check,
	.init = flash_init,
	.submit = flash_submit,
	.event = flash_event,
	.cached_sectors = flash_cached_sectors,
};
