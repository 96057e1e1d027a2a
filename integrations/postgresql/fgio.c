// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Backends are foreground while a client waits for them: from the planning of a
 * statement to the end of its commit, and while they are started. Between
 * statements, and in all other processes of the server, they are not.
 *
 * The server has no hook for the arrival of a message or for going idle. So
 * hooks of planner, executor and utility commands begin a section, and it ends
 * with the transaction, or in a transaction block when the executor returns
 * (the client's turn). Errors need no PG_TRY: the abort callbacks follow each.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "optimizer/planner.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "authentication.h"
#include "request.h"
#include "section.h"
#include "settings.h"
#include "stats.h"
#include "uapi/fgio.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "fgio knows PostgreSQL 15 to 18"
#endif

PG_MODULE_MAGIC;

/* The class of the outermost running statement; nested ones are part of it. */
static bool running;
static enum section_class outermost;

/* Ends the section with the memory of the transaction, the last thing that a commit frees. */
static void end_of_commit(void *argument);
static MemoryContextCallback at_end_of_commit = { .func = end_of_commit };
static bool end_awaited;

static authentication_hook previous_authentication;
static planner_hook_type previous_planner;
static ExecutorStart_hook_type previous_start;
static ExecutorRun_hook_type previous_run;
static ExecutorFinish_hook_type previous_finish;
static ExecutorEnd_hook_type previous_end;
static ProcessUtility_hook_type previous_utility;

static bool serves_client(void)
{
	return MyBackendType == B_BACKEND;
}

static enum section_class class_of_query(void)
{
	return settings_class(CMDTAG_SELECT);
}

/* The first section of a process. */
static void first_section(enum section_class class)
{
	stats_enlist();
	section_become(class);
}

/* It is the client's turn. */
static void close_section(void)
{
	section_become(settings.scope == SCOPE_SESSION ? class_of_query() : SECTION_NONE);
}

/* Return: whether this is the outermost statement, which frame_end() has to end. */
static bool frame_begin(enum section_class class)
{
	if (running || !serves_client())
		return false;
	running = true;
	outermost = class;
	section_become(class);
	return true;
}

/* As frame_begin(), for the rest of a query that on_start() has seen. */
static bool frame_go_on(void)
{
	return frame_begin(section_now != SECTION_NONE ? section_now : class_of_query());
}

/* Deferred triggers and the flush are still to come; the end of the transaction follows. */
static bool commits(CommandTag tag)
{
	return (tag == CMDTAG_COMMIT || tag == CMDTAG_PREPARE_TRANSACTION) &&
	       !IsAbortedTransactionBlockState();
}

static void frame_end(void)
{
	running = false;
	/* Without a transaction block a commit follows, and ends the section. */
	if (IsTransactionBlock() && settings.scope != SCOPE_TRANSACTION)
		close_section();
}

/* An outermost query: it is planned or begins to run. */
static void begin_query(const char *text)
{
	request_of_statement(text);
	section_become(class_of_query());
}

static void on_authentication(struct Port *port, int status)
{
	if (previous_authentication)
		previous_authentication(port, status);
	if (status == STATUS_OK && serves_client())
		first_section(class_of_query());
}

static PlannedStmt *on_plan(Query *query, const char *text, int options, ParamListInfo parameters)
{
	if (!running && serves_client())
		begin_query(text);
	if (previous_planner)
		return previous_planner(query, text, options, parameters);
	return standard_planner(query, text, options, parameters);
}

/*
 * A worker runs one query of its leader. Those that functions run in it have
 * texts of their own, and serve the same request.
 */
static void request_of_leader(const char *text)
{
	static bool known;

	if (!known)
		request_of_statement(text);
	known = true;
}

static void on_start(QueryDesc *query, int flags)
{
	if (!running && serves_client()) {
		begin_query(query->sourceText);
		stats_count_statement(section_now);
	} else if (IsParallelWorker()) {
		request_of_leader(query->sourceText);
		if (!stats_exist())
			section_become(class_of_query());
	}
	if (previous_start)
		previous_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

#if PG_VERSION_NUM >= 180000
static void on_run(QueryDesc *query, ScanDirection direction, uint64 count)
{
	bool outer = frame_go_on();

	if (previous_run)
		previous_run(query, direction, count);
	else
		standard_ExecutorRun(query, direction, count);
	if (outer)
		frame_end();
}
#else
static void on_run(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	bool outer = frame_go_on();

	if (previous_run)
		previous_run(query, direction, count, once);
	else
		standard_ExecutorRun(query, direction, count, once);
	if (outer)
		frame_end();
}
#endif

static void on_finish(QueryDesc *query)
{
	bool outer = frame_go_on();

	if (previous_finish)
		previous_finish(query);
	else
		standard_ExecutorFinish(query);
	if (outer)
		frame_end();
}

static void on_end(QueryDesc *query)
{
	bool outer = frame_go_on();

	if (previous_end)
		previous_end(query);
	else
		standard_ExecutorEnd(query);
	if (outer)
		frame_end();
}

static void on_utility(PlannedStmt *statement, const char *text, bool read_only_tree,
		       ProcessUtilityContext context, ParamListInfo parameters,
		       QueryEnvironment *environment, DestReceiver *destination,
		       QueryCompletion *completion)
{
	CommandTag tag = CreateCommandTag(statement->utilityStmt);
	enum section_class class = SECTION_NONE, before = section_now;
	bool ends = commits(tag), outer = false;

	if (serves_client()) {
		class = settings_class(settings_command(statement->utilityStmt));
		if (!running)
			request_of_statement(text);
		outer = frame_begin(class);
		if (outer)
			stats_count_statement(class);
		else if (class == SECTION_BACKGROUND)
			section_become(class);
	}
	if (previous_utility)
		previous_utility(statement, text, read_only_tree, context, parameters, environment,
				 destination, completion);
	else
		standard_ProcessUtility(statement, text, read_only_tree, context, parameters,
					environment, destination, completion);
	if (outer && ends)
		running = false;
	else if (outer)
		frame_end();
	else if (class == SECTION_BACKGROUND)
		section_become(before);
}

static void end_of_commit(void *argument)
{
	end_awaited = false;
	if (!running)
		close_section();
}

static void committed(void)
{
	if (running || end_awaited)
		return;
	end_awaited = true;
	MemoryContextRegisterResetCallback(TopTransactionContext, &at_end_of_commit);
}

/*
 * The server's main loop clears the error context before it aborts a transaction; a procedure that
 * rolls back, or handles an error, still has its own.
 */
static bool aborted_for_good(void)
{
	return error_context_stack == NULL;
}

static void aborted(void)
{
	if (aborted_for_good())
		running = false;
	if (running)
		section_become(outermost);
	else
		close_section();
}

static void on_transaction(XactEvent event, void *argument)
{
	/* A parallel worker has connected to the database: this is no transaction of its leader's. */
	if (IsParallelWorker() && event == XACT_EVENT_COMMIT)
		first_section(stats_class_of_leader());
	if (!serves_client())
		return;
	switch (event) {
	case XACT_EVENT_PRE_COMMIT:
	case XACT_EVENT_PRE_PREPARE:
		if (section_now == SECTION_NONE)
			section_become(class_of_query());
		break;
	case XACT_EVENT_COMMIT:
	case XACT_EVENT_PREPARE:
		committed();
		break;
	case XACT_EVENT_ABORT:
		aborted();
		break;
	default:
		break;
	}
}

static void on_subtransaction(SubXactEvent event, SubTransactionId mine, SubTransactionId parent,
			      void *argument)
{
	if (event == SUBXACT_EVENT_ABORT_SUB && serves_client())
		aborted();
}

static void install_hooks(void)
{
	previous_authentication = ClientAuthentication_hook;
	ClientAuthentication_hook = on_authentication;
	previous_planner = planner_hook;
	planner_hook = on_plan;
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = on_start;
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = on_run;
	previous_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = on_finish;
	previous_end = ExecutorEnd_hook;
	ExecutorEnd_hook = on_end;
	previous_utility = ProcessUtility_hook;
	ProcessUtility_hook = on_utility;
	RegisterXactCallback(on_transaction, NULL);
	RegisterSubXactCallback(on_subtransaction, NULL);
}

void _PG_init(void);
void _PG_init(void)
{
	settings_define();
	if (process_shared_preload_libraries_in_progress) {
		stats_install_hooks();
		if (access(FGIO_DEVICE_PATH, R_OK | W_OK) != 0)
			ereport(LOG, (errmsg("fgio: no access to " FGIO_DEVICE_PATH ": %m"),
				      errdetail("Sessions are labelled that begin once it is there."),
				      errhint("\"fgio doctor\" tells what is missing.")));
	}
	install_hooks();
}

PG_FUNCTION_INFO_V1(fgio_class);
Datum fgio_class(PG_FUNCTION_ARGS)
{
	const char *name = section_name(section_now);

	if (!name)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(name));
}
