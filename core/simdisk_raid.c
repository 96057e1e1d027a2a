// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hard disks or SSDs behind a controller that stripes over them (RAID-0),
 * stripes over mirrored pairs (RAID-10), or keeps a rotating parity (RAID-5).
 *
 * Each member is a model of its own; this engine splits a command into rows of
 * chunks and a row into at most one part for each member. A read of a mirrored
 * chunk goes where the head is, or where less is queued. A write to RAID-5
 * reads before it writes: old data and parity, or the rest of the row,
 * whichever is less; a full row needs neither. With a protected cache a write
 * is complete when it has room there, and full or old rows go to the members in
 * the order of their addresses.
 *
 * Not modelled: locks between writes to one row, rebuilds, and the controller's
 * own limits beyond a fixed time for each command and a link.
 */
#include "simdisk_internal.h"

#define RAID_EVENT_DESTAGE SIMDISK_EVENT_ENGINE	/* a row may be old enough */
#define RAID_OPS 4u		/* rows of one command that are under way at once */
#define RAID_MEMBER_DEPTH 32u	/* commands that a SATA disk takes */
#define RAID_DESTAGES 4u	/* rows that are destaged at once, per member */
#define RAID_NO_OP ((u32)-1)

/* A command for one member. */
struct raid_part {
	struct simdisk_request request;
	u32 next;		/* while it waits for a place in the member's queue */
};

/* The part of a command, or of the cache, that is in one row. */
struct raid_op {
	u32 slot;		/* of the command; SIMDISK_NO_SLOT: of the cache */
	u32 left;		/* parts under way */
	u32 first;		/* sectors of the row's data */
	u32 end;
	u64 row;
	bool busy;
	bool then_writes;	/* old data are being read */
};

enum raid_row_state {
	RAID_ROW_FREE,
	RAID_ROW_DIRTY,
	RAID_ROW_DESTAGING,
};

/* A row's data in the cache; its op has the addresses. */
struct raid_row {
	enum raid_row_state state;
	u64 time;		/* of its oldest data */
};

struct raid_member {
	struct simdisk_model *model;
	u64 end;		/* of its latest command */
	u32 free;		/* a bit for each place in its queue */
	u32 queued;		/* parts, waiting ones included */
	u32 part[RAID_MEMBER_DEPTH];
	struct simdisk_list waiting;	/* of parts */
};

struct raid_state {
	u64 link_free;
	u64 row_sectors;	/* data of a row */
	u32 rows;		/* dirty */
	u32 destaging;
	u64 swept;		/* the row destaged last */
	bool destage_event;
	struct simdisk_line writers;	/* commands that wait for room in the cache */
	struct raid_member member[SIMDISK_RAID_MEMBERS];
	struct raid_op *op;	/* RAID_OPS of each slot, then one of each cached row */
	struct raid_part *part;	/* of op o on member m: o * members + m */
	struct raid_row *row;
};

/* ---- parameters ---- */

void simdisk_raid_defaults(struct simdisk_parameters *parameters,
			   enum simdisk_kind kind)
{
	if (kind == SIMDISK_HDD_RAID)
		simdisk_hdd_defaults(parameters);
	else
		simdisk_ssd_defaults(parameters);
	parameters->kind = kind;
	parameters->queue_depth = 256;
	parameters->priority_command = false;
	parameters->raid = (struct simdisk_raid_parameters) {
		.level = 0,
		.members = 4,
		.chunk_sectors = 128,
		.overhead_ns = 20000,
		.cache_ns = 50000,
		.destage_ns = 1000000000,
		.link_bytes_per_s = 4000000000,
	};
}

static u32 data_members(const struct simdisk_raid_parameters *raid)
{
	if (raid->level == 10)
		return raid->members / 2;
	return raid->level == 5 ? raid->members - 1 : raid->members;
}

static struct simdisk_parameters
member_parameters(const struct simdisk_parameters *parameters)
{
	struct simdisk_parameters member = *parameters;

	member.kind = parameters->kind == SIMDISK_HDD_RAID ? SIMDISK_HDD :
							     SIMDISK_SSD;
	member.hw_queues = 1;
	member.queue_depth = RAID_MEMBER_DEPTH;
	/* That of the array counts the controller's cache as safe. */
	member.volatile_cache = !member.raid.cache_rows;
	return member;
}

static u64 member_capacity(const struct simdisk_raid_parameters *raid,
			   u64 capacity)
{
	u64 row = (u64)raid->chunk_sectors * data_members(raid);
	u64 sectors = (capacity + row - 1) / row * raid->chunk_sectors;

	return larger(sectors, 2048);
}

static u32 slots_of(const struct simdisk_parameters *parameters)
{
	return parameters->hw_queues * parameters->queue_depth;
}

static u32 ops_of(const struct simdisk_parameters *parameters)
{
	return slots_of(parameters) * RAID_OPS + parameters->raid.cache_rows;
}

static size_t parts_bytes(const struct simdisk_parameters *parameters)
{
	return ops_of(parameters) * parameters->raid.members *
	       sizeof(struct raid_part);
}

static size_t raid_bytes(const struct simdisk_parameters *parameters)
{
	struct simdisk_parameters member = member_parameters(parameters);

	return sizeof(struct raid_state) +
	       ops_of(parameters) * sizeof(struct raid_op) +
	       parts_bytes(parameters) +
	       parameters->raid.cache_rows * sizeof(struct raid_row) +
	       parameters->raid.members * simdisk_bytes(&member);
}

static u32 raid_events(const struct simdisk_parameters *parameters)
{
	(void)parameters;
	return 1;
}

static const char *raid_check(const struct simdisk_parameters *parameters,
			      u64 capacity)
{
	const struct simdisk_raid_parameters *raid = &parameters->raid;
	struct simdisk_parameters member;

	if (raid->level != 0 && raid->level != 5 && raid->level != 10)
		return "level must be 0, 5 or 10";
	if (raid->members < (raid->level == 5 ? 3 : 2) ||
	    raid->members > SIMDISK_RAID_MEMBERS)
		return "members must be 2 to 16, and at least 3 for level 5";
	if (raid->level == 10 && raid->members % 2)
		return "members must be even for level 10";
	if (raid->chunk_sectors < 8 || raid->chunk_sectors > 8192)
		return "chunk must be 4Ki to 4Mi";
	if (raid->cache_rows > SIMDISK_RAID_ROWS)
		return "array_cache must be 0 to 4096 rows";
	if (raid->link_bytes_per_s < 1000000)
		return "array_link must be at least 1M";
	member = member_parameters(parameters);
	return simdisk_check(&member, member_capacity(raid, capacity));
}

static void init_member(struct simdisk_model *model, u32 number, void *memory)
{
	struct simdisk_parameters parameters =
		member_parameters(&model->parameters);
	struct raid_state *state = model->state;
	struct raid_member *member = &state->member[number];

	member->model = simdisk_create(memory, &parameters,
				       member_capacity(&parameters.raid,
						       model->capacity),
				       simdisk_random(model));
	member->free = ~0u;
	simdisk_list_init(&member->waiting);
}

static void raid_init(struct simdisk_model *model)
{
	const struct simdisk_raid_parameters *raid = &model->parameters.raid;
	struct simdisk_parameters parameters =
		member_parameters(&model->parameters);
	struct raid_state *state = model->state;
	u8 *memory;
	u32 i;

	state->row_sectors = (u64)raid->chunk_sectors * data_members(raid);
	simdisk_line_init(&state->writers);
	state->op = (struct raid_op *)(state + 1);
	state->part = (struct raid_part *)(state->op + ops_of(&model->parameters));
	memory = (u8 *)state->part + parts_bytes(&model->parameters);
	state->row = (struct raid_row *)(void *)memory;
	memory += raid->cache_rows * sizeof(struct raid_row);
	for (i = 0; i < raid->members; i++) {
		init_member(model, i, memory);
		memory += simdisk_bytes(&parameters);
	}
}

/* ---- members ---- */

static u32 first_cached_op(const struct simdisk_model *model)
{
	return slots_of(&model->parameters) * RAID_OPS;
}

/* Hands waiting parts to a member as its queue has room. */
static void feed(struct simdisk_model *model, struct raid_member *member)
{
	struct raid_state *state = model->state;

	while (member->free && member->waiting.head != SIMDISK_NO_SLOT) {
		u32 place = (u32)__builtin_ctz(member->free);
		u32 index = member->waiting.head;
		struct raid_part *part = &state->part[index];

		member->waiting.head = part->next;
		member->free &= ~(1u << place);
		member->part[place] = index;
		simdisk_submit(member->model, model->clock, place,
			       &part->request);
	}
}

static void add_part(struct simdisk_model *model, u32 op, u32 number,
		     const struct simdisk_request *request)
{
	struct raid_state *state = model->state;
	struct raid_member *member = &state->member[number];
	u32 index = op * model->parameters.raid.members + number;
	struct raid_part *part = &state->part[index];

	part->request = *request;
	part->next = SIMDISK_NO_SLOT;
	if (member->waiting.head == SIMDISK_NO_SLOT)
		member->waiting.head = index;
	else
		state->part[member->waiting.tail].next = index;
	member->waiting.tail = index;
	member->queued++;
	if (request->operation != SIMDISK_FLUSH)
		member->end = request->sector + request->sectors;
	state->op[op].left++;
}

/* Once all parts of an op are queued: none completes before. */
static void feed_all(struct simdisk_model *model)
{
	struct raid_state *state = model->state;
	u32 i;

	for (i = 0; i < model->parameters.raid.members; i++)
		feed(model, &state->member[i]);
}

/* ---- rows ---- */

/* The part of chunk @chunk of its row that an op covers: true if any. */
static bool covers(const struct simdisk_model *model, const struct raid_op *op,
		   u32 chunk, u32 *first, u32 *end)
{
	u32 length = model->parameters.raid.chunk_sectors;
	u32 begin = chunk * length;

	if (op->end <= begin || op->first >= begin + length)
		return false;
	*first = (u32)beyond(op->first, begin);
	*end = (u32)smaller(op->end - begin, length);
	return true;
}

static u32 parity_member(const struct simdisk_model *model, u64 row)
{
	u32 members = model->parameters.raid.members;

	return members - 1 - (u32)(row % members);
}

/* The member, or the first of a pair, that has a chunk. */
static u32 member_of(const struct simdisk_model *model, u64 row, u32 chunk)
{
	const struct simdisk_raid_parameters *raid = &model->parameters.raid;

	if (raid->level == 10)
		return 2 * chunk;
	if (raid->level == 0)
		return chunk;
	return (parity_member(model, row) + 1 + chunk) % raid->members;
}

static struct simdisk_request part_of(const struct simdisk_model *model,
				      const struct raid_op *op,
				      enum simdisk_operation operation,
				      u32 first, u32 end)
{
	return (struct simdisk_request) {
		.operation = operation,
		.sector = op->row * model->parameters.raid.chunk_sectors + first,
		.sectors = end - first,
		.fua = operation == SIMDISK_WRITE &&
		       op->slot != SIMDISK_NO_SLOT &&
		       model->slot[op->slot].request.fua,
	};
}

/*
 * Of a mirrored pair: the one whose head is there, else the less busy one, else
 * the nearer one. Flash has no heads.
 */
static u32 nearer(const struct simdisk_model *model, u32 first, u64 sector)
{
	const struct raid_state *state = model->state;
	const struct raid_member *one = &state->member[first];
	const struct raid_member *other = one + 1;

	if (model->parameters.kind == SIMDISK_SSD_RAID)
		return one->queued <= other->queued ? first : first + 1;
	if (one->end == sector || other->end == sector)
		return one->end == sector ? first : first + 1;
	if (one->queued != other->queued)
		return one->queued < other->queued ? first : first + 1;
	return beyond(one->end, sector) + beyond(sector, one->end) <=
	       beyond(other->end, sector) + beyond(sector, other->end) ?
	       first : first + 1;
}

/* Each chunk that the op covers is read or written. */
static void touch(struct simdisk_model *model, u32 index,
		  enum simdisk_operation operation)
{
	const struct simdisk_raid_parameters *raid = &model->parameters.raid;
	struct raid_state *state = model->state;
	struct raid_op *op = &state->op[index];
	u32 chunk, first, end;

	for (chunk = 0; chunk < data_members(raid); chunk++) {
		struct simdisk_request part;
		u32 number = member_of(model, op->row, chunk);

		if (!covers(model, op, chunk, &first, &end))
			continue;
		part = part_of(model, op, operation, first, end);
		if (raid->level == 10 && operation == SIMDISK_READ)
			number = nearer(model, number, part.sector);
		add_part(model, index, number, &part);
		if (raid->level == 10 && operation == SIMDISK_WRITE)
			add_part(model, index, number + 1, &part);
	}
}

/* The sectors of a chunk whose parity an op changes. */
static void parity_range(const struct simdisk_model *model,
			 const struct raid_op *op, u32 *first, u32 *end)
{
	u32 length = model->parameters.raid.chunk_sectors;

	*first = op->first % length;
	*end = (op->end - 1) % length + 1;
	if (op->first / length != (op->end - 1) / length) {
		*first = 0;
		*end = length;
	}
}

static void touch_parity(struct simdisk_model *model, u32 index,
			 enum simdisk_operation operation)
{
	struct raid_state *state = model->state;
	struct raid_op *op = &state->op[index];
	struct simdisk_request part;
	u32 first, end;

	parity_range(model, op, &first, &end);
	part = part_of(model, op, operation, first, end);
	add_part(model, index, parity_member(model, op->row), &part);
}

/* The data that the parity needs and the op has not. */
static void read_rest(struct simdisk_model *model, u32 index)
{
	struct raid_state *state = model->state;
	struct raid_op *op = &state->op[index];
	u32 chunk, first, end, parity_first, parity_end;

	parity_range(model, op, &parity_first, &parity_end);
	for (chunk = 0; chunk < data_members(&model->parameters.raid); chunk++) {
		struct simdisk_request part;

		if (covers(model, op, chunk, &first, &end) &&
		    first <= parity_first && end >= parity_end)
			continue;
		part = part_of(model, op, SIMDISK_READ, parity_first,
			       parity_end);
		add_part(model, index, member_of(model, op->row, chunk), &part);
	}
}

/* The first half of a write to RAID-5: reads of old data. */
static void read_old(struct simdisk_model *model, u32 index)
{
	struct raid_state *state = model->state;
	struct raid_op *op = &state->op[index];
	u32 chunks = data_members(&model->parameters.raid);
	u32 chunk, first, end, parity_first, parity_end;
	u32 touched = 0, whole = 0;

	parity_range(model, op, &parity_first, &parity_end);
	for (chunk = 0; chunk < chunks; chunk++) {
		if (!covers(model, op, chunk, &first, &end))
			continue;
		touched++;
		whole += first <= parity_first && end >= parity_end;
	}
	if (touched + 1 <= chunks - whole) {
		touch(model, index, SIMDISK_READ);
		touch_parity(model, index, SIMDISK_READ);
	} else {
		read_rest(model, index);
	}
}

static void write_row(struct simdisk_model *model, u32 index)
{
	struct raid_state *state = model->state;

	state->op[index].then_writes = false;
	touch(model, index, SIMDISK_WRITE);
	if (model->parameters.raid.level == 5)
		touch_parity(model, index, SIMDISK_WRITE);
}

static void start_op(struct simdisk_model *model, u32 index, bool write)
{
	struct raid_state *state = model->state;
	struct raid_op *op = &state->op[index];

	op->busy = true;
	op->then_writes = false;
	if (!write) {
		touch(model, index, SIMDISK_READ);
	} else if (model->parameters.raid.level == 5) {
		read_old(model, index);
		op->then_writes = op->left;
		if (!op->left)
			write_row(model, index);
	} else {
		write_row(model, index);
	}
	feed_all(model);
}

/* ---- the write cache ---- */

static bool has_cache(const struct simdisk_model *model)
{
	return model->parameters.raid.cache_rows;
}

/* Full, or old, or there are too many: worth destaging. */
static bool ripe(const struct simdisk_model *model, u32 number)
{
	const struct simdisk_raid_parameters *raid = &model->parameters.raid;
	const struct raid_state *state = model->state;
	const struct raid_op *op = &state->op[first_cached_op(model) + number];

	if (state->row[number].state != RAID_ROW_DIRTY)
		return false;
	return op->end - op->first == state->row_sectors ||
	       state->rows > raid->cache_rows / 2 ||
	       model->clock - state->row[number].time >= raid->destage_ns;
}

/* The ripe row after the one destaged last, around; none: NO_OP. */
static u32 next_ripe(const struct simdisk_model *model)
{
	const struct raid_state *state = model->state;
	u32 base = first_cached_op(model), best = RAID_NO_OP, i;
	u64 least = 0;

	for (i = 0; i < model->parameters.raid.cache_rows; i++) {
		/* Those that were passed come last. */
		u64 distance = state->op[base + i].row - state->swept - 1;

		if (!ripe(model, i))
			continue;
		if (best == RAID_NO_OP || distance < least) {
			best = i;
			least = distance;
		}
	}
	return best;
}

static void expect_destage(struct simdisk_model *model)
{
	const struct simdisk_raid_parameters *raid = &model->parameters.raid;
	struct raid_state *state = model->state;
	u64 oldest = SIMDISK_NEVER;
	u32 i;

	if (state->destage_event || !state->rows)
		return;
	for (i = 0; i < raid->cache_rows; i++) {
		if (state->row[i].state == RAID_ROW_DIRTY)
			oldest = smaller(oldest, state->row[i].time);
	}
	state->destage_event = true;
	simdisk_add_event(model, larger(oldest + raid->destage_ns,
					model->clock + 1),
			  RAID_EVENT_DESTAGE, 0);
}

static void destage(struct simdisk_model *model)
{
	struct raid_state *state = model->state;
	u32 most = RAID_DESTAGES * model->parameters.raid.members;

	while (state->destaging < most) {
		u32 number = next_ripe(model);
		u32 op = first_cached_op(model) + number;

		if (number == RAID_NO_OP) {
			expect_destage(model);
			return;
		}
		state->row[number].state = RAID_ROW_DESTAGING;
		state->rows--;
		state->destaging++;
		state->swept = state->op[op].row;
		start_op(model, op, true);
	}
}

/* A dirty row that the sectors overlap or continue, else a free one. */
static u32 row_for(const struct simdisk_model *model, u64 row, u32 first,
		   u32 end)
{
	const struct raid_state *state = model->state;
	u32 base = first_cached_op(model), found = RAID_NO_OP, i;

	for (i = 0; i < model->parameters.raid.cache_rows; i++) {
		const struct raid_op *op = &state->op[base + i];

		if (state->row[i].state == RAID_ROW_FREE)
			found = i;
		else if (state->row[i].state == RAID_ROW_DIRTY &&
			 op->row == row && first <= op->end && end >= op->first)
			return i;
	}
	return found;
}

/* False when there is no room. */
static bool absorb(struct simdisk_model *model, u64 row, u32 first, u32 end)
{
	struct raid_state *state = model->state;
	u32 number = row_for(model, row, first, end);
	struct raid_op *op = &state->op[first_cached_op(model) + number];

	if (number == RAID_NO_OP)
		return false;
	if (state->row[number].state == RAID_ROW_FREE) {
		state->row[number].state = RAID_ROW_DIRTY;
		state->row[number].time = model->clock;
		state->rows++;
		*op = (struct raid_op) {
			.slot = SIMDISK_NO_SLOT,
			.row = row,
			.first = first,
			.end = end,
		};
		return true;
	}
	op->first = (u32)smaller(op->first, first);
	op->end = (u32)larger(op->end, end);
	return true;
}

static bool is_cached(const struct simdisk_model *model, u64 row, u32 first,
		      u32 end)
{
	const struct raid_state *state = model->state;
	u32 base = first_cached_op(model), i;

	for (i = 0; i < model->parameters.raid.cache_rows; i++) {
		const struct raid_op *op = &state->op[base + i];

		if (state->row[i].state != RAID_ROW_FREE && op->row == row &&
		    first >= op->first && end <= op->end)
			return true;
	}
	return false;
}

/* ---- commands ---- */

static void complete(struct simdisk_model *model, u32 slot, u64 latency)
{
	const struct simdisk_raid_parameters *raid = &model->parameters.raid;
	struct raid_state *state = model->state;

	state->link_free = larger(model->clock, state->link_free) +
			   simdisk_transfer_ns(model->slot[slot].request.sectors,
					       raid->link_bytes_per_s);
	simdisk_complete_at(model, state->link_free + latency +
			    raid->overhead_ns, slot);
}

/* The next row of a command that has not been dealt with. */
static void next_piece(const struct simdisk_model *model, u32 slot, u64 *row,
		       u32 *first, u32 *end)
{
	const struct raid_state *state = model->state;
	const struct simdisk_slot *command = &model->slot[slot];
	u64 sector = command->request.sector + command->mark;
	u64 left = command->request.sectors - command->mark;

	*row = sector / state->row_sectors;
	*first = (u32)(sector % state->row_sectors);
	*end = (u32)smaller(*first + left, state->row_sectors);
}

/* Makes an op of the next row that is not in the cache; false when none is. */
static bool take_row(struct simdisk_model *model, u32 slot, u32 index)
{
	struct raid_state *state = model->state;
	struct simdisk_slot *command = &model->slot[slot];
	struct raid_op *op = &state->op[index];

	while (command->mark < command->request.sectors) {
		*op = (struct raid_op) { .slot = slot };
		next_piece(model, slot, &op->row, &op->first, &op->end);
		command->mark += op->end - op->first;
		if (command->request.operation == SIMDISK_WRITE ||
		    !is_cached(model, op->row, op->first, op->end))
			return true;
	}
	return false;
}

/* Starts as many ops as a command may have, and ends it after the last. */
static void advance_command(struct simdisk_model *model, u32 slot)
{
	struct raid_state *state = model->state;
	struct simdisk_slot *command = &model->slot[slot];
	u32 i;

	for (i = 0; i < RAID_OPS; i++) {
		u32 index = slot * RAID_OPS + i;

		if (state->op[index].busy || !take_row(model, slot, index))
			continue;
		command->remaining++;
		start_op(model, index,
			 command->request.operation == SIMDISK_WRITE);
	}
	if (!command->remaining && command->mark == command->request.sectors)
		complete(model, slot, 0);
}

/* True when all of a write is in the cache. */
static bool cache_write(struct simdisk_model *model, u32 slot)
{
	struct simdisk_slot *command = &model->slot[slot];

	while (command->mark < command->request.sectors) {
		u32 first, end;
		u64 row;

		next_piece(model, slot, &row, &first, &end);
		if (!absorb(model, row, first, end))
			return false;
		command->mark += end - first;
	}
	complete(model, slot, model->parameters.raid.cache_ns);
	return true;
}

static void admit_writers(struct simdisk_model *model)
{
	struct raid_state *state = model->state;

	for (;;) {
		u32 slot = simdisk_line_first(model, &state->writers);

		if (slot == SIMDISK_NO_SLOT || !cache_write(model, slot))
			return;
		simdisk_line_take(model, &state->writers, slot);
	}
}

static void begin_cached_write(struct simdisk_model *model, u32 slot)
{
	struct raid_state *state = model->state;

	if (simdisk_line_first(model, &state->writers) != SIMDISK_NO_SLOT ||
	    !cache_write(model, slot))
		simdisk_line_add(model, &state->writers, slot);
	destage(model);
}

/* Every member flushes. */
static void begin_flush(struct simdisk_model *model, u32 slot)
{
	const struct simdisk_request flush = { .operation = SIMDISK_FLUSH };
	struct raid_state *state = model->state;
	u32 index = slot * RAID_OPS, i;

	if (has_cache(model)) {
		complete(model, slot, 0);
		return;
	}
	state->op[index] = (struct raid_op) { .slot = slot, .busy = true };
	model->slot[slot].remaining = 1;
	for (i = 0; i < model->parameters.raid.members; i++)
		add_part(model, index, i, &flush);
	feed_all(model);
}

static void raid_submit(struct simdisk_model *model, u32 slot)
{
	struct simdisk_slot *command = &model->slot[slot];

	command->mark = 0;
	command->remaining = 0;
	switch (command->request.operation) {
	case SIMDISK_READ:
		advance_command(model, slot);
		break;
	case SIMDISK_WRITE:
		if (has_cache(model))
			begin_cached_write(model, slot);
		else
			advance_command(model, slot);
		break;
	case SIMDISK_FLUSH:
		/* It has no sectors, so that its op is all of it. */
		command->request.sectors = 0;
		begin_flush(model, slot);
		break;
	default:
		command->request.sectors = 0;
		complete(model, slot, 0);
		break;
	}
}

/* ---- completions ---- */

static void finish_op(struct simdisk_model *model, u32 index)
{
	struct raid_state *state = model->state;
	struct raid_op *op = &state->op[index];

	if (op->then_writes) {
		write_row(model, index);
		feed_all(model);
		return;
	}
	op->busy = false;
	if (op->slot != SIMDISK_NO_SLOT) {
		model->slot[op->slot].remaining--;
		advance_command(model, op->slot);
		return;
	}
	state->row[index - first_cached_op(model)].state = RAID_ROW_FREE;
	state->destaging--;
	admit_writers(model);
	destage(model);
}

static void collect(struct simdisk_model *model, struct raid_member *member)
{
	struct raid_state *state = model->state;
	u32 members = model->parameters.raid.members;
	struct simdisk_completion done;

	while (simdisk_advance(member->model, model->clock, &done, 1)) {
		u32 op = member->part[done.slot] / members;

		member->free |= 1u << done.slot;
		member->queued--;
		feed(model, member);
		if (!--state->op[op].left)
			finish_op(model, op);
	}
}

static u64 raid_next(const struct simdisk_model *model)
{
	const struct raid_state *state = model->state;
	u64 next = SIMDISK_NEVER;
	u32 i;

	for (i = 0; i < model->parameters.raid.members; i++)
		next = smaller(next, simdisk_next_event(state->member[i].model));
	return next;
}

static void raid_tick(struct simdisk_model *model)
{
	struct raid_state *state = model->state;
	u32 i;

	for (i = 0; i < model->parameters.raid.members; i++) {
		struct raid_member *member = &state->member[i];

		if (simdisk_next_event(member->model) <= model->clock)
			collect(model, member);
	}
}

static void raid_event(struct simdisk_model *model, u32 kind, u32 index)
{
	struct raid_state *state = model->state;

	(void)kind;
	(void)index;
	state->destage_event = false;
	destage(model);
}

static u64 raid_cached_sectors(const struct simdisk_model *model)
{
	const struct raid_state *state = model->state;
	u64 sectors = 0;
	u32 i;

	for (i = 0; i < model->parameters.raid.members; i++)
		sectors += simdisk_volatile_sectors(state->member[i].model);
	return sectors;
}

const struct simdisk_engine simdisk_raid_engine = {
	.bytes = raid_bytes,
	.events = raid_events,
	.check = raid_check,
	.init = raid_init,
	.submit = raid_submit,
	.event = raid_event,
	.next = raid_next,
	.tick = raid_tick,
	.cached_sectors = raid_cached_sectors,
};
