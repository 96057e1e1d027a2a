// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "stats.h"

#define VIEW_COLUMNS 7
/* Not NS_PER_MS, which later servers define as an integer. */
#define MS_IN_NS 1e6

/* Sums by class. */
struct sums {
	pg_atomic_uint64 statements[SECTION_CLASSES];
	pg_atomic_uint64 ns[SECTION_CLASSES];
};

/**
 * struct slot - the counts of a backend, which alone writes all but @since
 * @pid: the backend; 0: the slot is free
 * @class: enum section_class
 * @labelled: whether the kernel module is told its class
 * @did: its counts since it began
 * @since: @did at the last reset of the view
 */
struct slot {
	pg_atomic_uint32 pid;
	pg_atomic_uint32 class;
	pg_atomic_uint32 labelled;
	struct sums did;
	struct sums since;
};

/**
 * struct shared - the shared memory
 * @ended: sums of the backends that have ended, and of resets
 * @ended_since: @ended at the last reset
 * @slots: by process number; auxiliary processes have none
 */
struct shared {
	struct sums ended;
	struct sums ended_since;
	struct slot slots[FLEXIBLE_ARRAY_MEMBER];
};

bool stats_track_time;

static struct shared *shared;
static struct slot *mine;
static shmem_request_hook_type previous_request;
static shmem_startup_hook_type previous_startup;

static size_t shared_size(void)
{
	return offsetof(struct shared, slots) + mul_size(MaxBackends, sizeof(struct slot));
}

static int number_of(PGPROC *process)
{
#if PG_VERSION_NUM >= 170000
	return GetNumberFromPGProc(process);
#else
	return process->pgprocno;
#endif
}

static void clear(struct sums *sums)
{
	for (int class = 0; class < SECTION_CLASSES; class++) {
		pg_atomic_write_u64(&sums->statements[class], 0);
		pg_atomic_write_u64(&sums->ns[class], 0);
	}
}

static void copy(struct sums *to, struct sums *from)
{
	for (int class = 0; class < SECTION_CLASSES; class++) {
		pg_atomic_write_u64(&to->statements[class],
				    pg_atomic_read_u64(&from->statements[class]));
		pg_atomic_write_u64(&to->ns[class], pg_atomic_read_u64(&from->ns[class]));
	}
}

static void init_sums(struct sums *sums)
{
	for (int class = 0; class < SECTION_CLASSES; class++) {
		pg_atomic_init_u64(&sums->statements[class], 0);
		pg_atomic_init_u64(&sums->ns[class], 0);
	}
}

static void request_memory(void)
{
	if (previous_request)
		previous_request();
	RequestAddinShmemSpace(shared_size());
}

static void init_slot(struct slot *slot)
{
	pg_atomic_init_u32(&slot->pid, 0);
	pg_atomic_init_u32(&slot->class, SECTION_NONE);
	pg_atomic_init_u32(&slot->labelled, false);
	init_sums(&slot->did);
	init_sums(&slot->since);
}

static void start_memory(void)
{
	bool found;

	if (previous_startup)
		previous_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("fgio", shared_size(), &found);
	if (!found) {
		init_sums(&shared->ended);
		init_sums(&shared->ended_since);
		for (int i = 0; i < MaxBackends; i++)
			init_slot(&shared->slots[i]);
	}
	LWLockRelease(AddinShmemInitLock);
}

void stats_install_hooks(void)
{
	previous_request = shmem_request_hook;
	shmem_request_hook = request_memory;
	previous_startup = shmem_startup_hook;
	shmem_startup_hook = start_memory;
}

/* The counts of a backend outlive it, less those before the last reset. */
static void bequeath(struct sums *to, struct sums *did, struct sums *since)
{
	for (int class = 0; class < SECTION_CLASSES; class++) {
		pg_atomic_fetch_add_u64(&to->statements[class],
					pg_atomic_read_u64(&did->statements[class]) -
					pg_atomic_read_u64(&since->statements[class]));
		pg_atomic_fetch_add_u64(&to->ns[class],
					pg_atomic_read_u64(&did->ns[class]) -
					pg_atomic_read_u64(&since->ns[class]));
	}
}

static void leave_slot(int code, Datum argument)
{
	struct slot *slot = mine;

	section_become(SECTION_NONE);
	mine = NULL;
	pg_atomic_write_u32(&slot->pid, 0);
	bequeath(&shared->ended, &slot->did, &slot->since);
}

void stats_enlist(void)
{
	int number;

	if (mine || !shared)
		return;
	number = number_of(MyProc);
	if (number < 0 || number >= MaxBackends)
		return;
	mine = &shared->slots[number];
	clear(&mine->did);
	clear(&mine->since);
	pg_atomic_write_u32(&mine->class, SECTION_NONE);
	pg_atomic_write_u32(&mine->labelled, false);
	pg_atomic_write_u32(&mine->pid, MyProcPid);
	before_shmem_exit(leave_slot, (Datum)0);
}

void stats_set_class(enum section_class class, bool labelled)
{
	if (!mine)
		return;
	pg_atomic_write_u32(&mine->class, class);
	pg_atomic_write_u32(&mine->labelled, labelled);
}

/* No other process writes here, so the addition need not be atomic. */
static void add(pg_atomic_uint64 *sum, uint64 value)
{
	pg_atomic_write_u64(sum, pg_atomic_read_u64(sum) + value);
}

void stats_count_statement(enum section_class class)
{
	if (mine)
		add(&mine->did.statements[class], 1);
}

void stats_add_time(enum section_class class, uint64 ns)
{
	if (mine)
		add(&mine->did.ns[class], ns);
}

bool stats_exist(void)
{
	return shared != NULL;
}

enum section_class stats_class_of_leader(void)
{
	PGPROC *leader = MyProc->lockGroupLeader;

	if (!shared || !leader)
		return SECTION_NONE;
	return pg_atomic_read_u32(&shared->slots[number_of(leader)].class);
}

static Datum statements_of(struct sums *did, struct sums *since, enum section_class class)
{
	return Int64GetDatum(pg_atomic_read_u64(&did->statements[class]) -
			     pg_atomic_read_u64(&since->statements[class]));
}

static Datum ms_of(struct sums *did, struct sums *since, enum section_class class)
{
	uint64 ns = pg_atomic_read_u64(&did->ns[class]) - pg_atomic_read_u64(&since->ns[class]);

	return Float8GetDatum(ns / MS_IN_NS);
}

static void put_sums(Datum *values, struct sums *did, struct sums *since)
{
	values[3] = statements_of(did, since, SECTION_FOREGROUND);
	values[4] = ms_of(did, since, SECTION_FOREGROUND);
	values[5] = statements_of(did, since, SECTION_BACKGROUND);
	values[6] = ms_of(did, since, SECTION_BACKGROUND);
}

static void put_slot(ReturnSetInfo *result, struct slot *slot)
{
	Datum values[VIEW_COLUMNS] = { 0 };
	bool nulls[VIEW_COLUMNS] = { 0 };
	uint32 pid = pg_atomic_read_u32(&slot->pid);
	const char *name = section_name(pg_atomic_read_u32(&slot->class));

	if (pid == 0)
		return;
	values[0] = Int32GetDatum((int32)pid);
	nulls[1] = name == NULL;
	if (name)
		values[1] = CStringGetTextDatum(name);
	values[2] = BoolGetDatum(pg_atomic_read_u32(&slot->labelled) != 0);
	put_sums(values, &slot->did, &slot->since);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void put_ended(ReturnSetInfo *result)
{
	Datum values[VIEW_COLUMNS] = { 0 };
	bool nulls[VIEW_COLUMNS] = { true, true, true };

	put_sums(values, &shared->ended, &shared->ended_since);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void need_memory(void)
{
	if (!shared)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("fgio counts nothing in this server"),
				errhint("Add fgio to shared_preload_libraries and restart the server.")));
}

PG_FUNCTION_INFO_V1(pg_stat_fgio);
Datum pg_stat_fgio(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *)fcinfo->resultinfo;

	need_memory();
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < MaxBackends; i++)
		put_slot(result, &shared->slots[i]);
	put_ended(result);
	return (Datum)0;
}

PG_FUNCTION_INFO_V1(pg_stat_fgio_reset);
Datum pg_stat_fgio_reset(PG_FUNCTION_ARGS)
{
	need_memory();
	for (int i = 0; i < MaxBackends; i++)
		copy(&shared->slots[i].since, &shared->slots[i].did);
	copy(&shared->ended_since, &shared->ended);
	PG_RETURN_VOID();
}
