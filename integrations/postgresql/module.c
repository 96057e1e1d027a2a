// SPDX-License-Identifier: Apache-2.0 OR MIT
/* The view pg_stat_fgio_module: state and counters of the kernel module. */
#include "postgres.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "uapi/fgio.h"

#define COLUMNS 12
/* Not NS_PER_MS, which later servers define as an integer. */
#define MS_IN_NS 1e6

static bool ask(struct fgio_info *info, struct fgio_state *state)
{
	int device = open(FGIO_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	bool answered;

	if (device < 0)
		return false;
	answered = ioctl(device, FGIO_IOC_INFO, info) == 0 &&
		   ioctl(device, FGIO_IOC_STATE, state) == 0;
	close(device);
	return answered;
}

static void put_answer(Datum *values, bool *nulls, struct fgio_info *info, struct fgio_state *state)
{
	int column = 1;

	values[column++] = CStringGetTextDatum(info->version);
	values[column++] = Int32GetDatum((int32)info->queues);
	values[column++] = Int32GetDatum((int32)state->foreground_waiting);
	values[column++] = Int32GetDatum((int32)state->boosted);
	values[column++] = Int64GetDatum((int64)state->boosts);
	values[column++] = Float8GetDatum(state->boosted_ns / MS_IN_NS);
	values[column++] = Int64GetDatum((int64)state->promoted_requests);
	values[column++] = Int64GetDatum((int64)state->promoted_sleepers);
	values[column++] = Int64GetDatum((int64)state->promoted_writers);
	values[column++] = Int64GetDatum((int64)state->waits_lost);
	nulls[column] = !state->watchdog_tripped;
	if (state->watchdog_tripped)
		values[column] = CStringGetTextDatum(state->watchdog_reason);
}

PG_FUNCTION_INFO_V1(fgio_module);
Datum fgio_module(PG_FUNCTION_ARGS)
{
	struct fgio_info info = { 0 };
	struct fgio_state state = { 0 };
	bool available = ask(&info, &state);
	Datum values[COLUMNS] = { BoolGetDatum(available) };
	bool nulls[COLUMNS] = { 0 };
	TupleDesc row;

	if (get_call_result_type(fcinfo, NULL, &row) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "the return type must be a row type");
	if (available)
		put_answer(values, nulls, &info, &state);
	else
		memset(nulls + 1, true, sizeof(nulls) - sizeof(nulls[0]));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls));
}
