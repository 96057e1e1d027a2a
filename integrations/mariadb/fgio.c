// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The audit plugin fgio for MariaDB: while a thread executes a connection's
 * command, it has the class of fgio_class, and serves the user's request that
 * fgio_request names, or that is in the command's text: in a comment, or in a
 * predicate, which Spider gives to its shards as it is.
 *
 * The server tells audit plugins of a command before it is executed (general
 * log), or, of one that was prepared, before its tables are locked; and when it
 * is done (its status), whether it failed or not. All come in the thread that
 * executes the command, a pool's included. Client connections announce
 * themselves; replication and scheduled events, which execute statements, too, do
 * not.
 */
#include <stdbool.h>
#include <string.h>

#include <mysql/plugin.h>
#include <mysql/plugin_audit.h>

#include <fgio.h>

/* Values of fgio_class, in the order of their names. */
enum label {
	LABEL_FOREGROUND,
	LABEL_BACKGROUND,
	LABEL_NONE,
};

static const char *const names[] = { "foreground", "background", "none", NULL };
static TYPELIB labels = { .count = 3, .name = "labels", .type_names = (const char **)names };

static MYSQL_THDVAR_ENUM(class, PLUGIN_VAR_RQCMDARG,
			 "foreground, background or none: the class of the session's commands",
			 NULL, NULL, LABEL_FOREGROUND, &labels);
static MYSQL_THDVAR_STR(request, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_MEMALLOC,
			"The user's request that the session's commands serve, by its id (fgio:ID); "
			"other text: none",
			NULL, NULL, "");
static MYSQL_THDVAR_BOOL(read_requests, PLUGIN_VAR_RQCMDARG,
			 "Read requests (fgio:ID) from the text of commands; they override fgio_request",
			 NULL, NULL, 0);
static MYSQL_THDVAR_BOOL(client, PLUGIN_VAR_NOSYSVAR | PLUGIN_VAR_NOCMDOPT,
			 "Whether a client is at the other end", NULL, NULL, 0);

static struct st_mysql_sys_var *variables[] = {
	MYSQL_SYSVAR(class),
	MYSQL_SYSVAR(request),
	MYSQL_SYSVAR(read_requests),
	MYSQL_SYSVAR(client),
	NULL,
};

/* Of the command that this thread executes. */
static __thread enum label now = LABEL_NONE;

/* Ids are looked for in this number of bytes at each end of a command: it may be megabytes long. */
#define TEXT_BYTES 512

/* Commands that served a request, of all sessions. */
static unsigned long long with_request;

static bool find_in(const char *text, size_t bytes, struct fgio_user_request *request)
{
	char part[TEXT_BYTES + 1];

	memcpy(part, text, bytes);
	part[bytes] = 0;
	return fgio_request_parse(part, request) == 0;
}

static bool find_request(const char *text, size_t bytes, struct fgio_user_request *request)
{
	if (bytes <= TEXT_BYTES)
		return find_in(text, bytes, request);
	return find_in(text, TEXT_BYTES, request) ||
	       find_in(text + bytes - TEXT_BYTES, TEXT_BYTES, request);
}

static struct fgio_user_request request_of(MYSQL_THD session, const char *text, size_t bytes)
{
	struct fgio_user_request request = { 0 };
	const char *set = THDVAR(session, request);

	if (!(text && THDVAR(session, read_requests) && find_request(text, bytes, &request)) && set)
		fgio_request_parse(set, &request);
	if (request.id)
		__atomic_add_fetch(&with_request, 1, __ATOMIC_RELAXED);
	return request;
}

/* @text: of the command, NULL where it is not known */
static void begin(MYSQL_THD session, const char *text, size_t bytes)
{
	struct fgio_user_request request;

	if (now != LABEL_NONE || !THDVAR(session, client))
		return;
	now = THDVAR(session, class);
	if (now == LABEL_FOREGROUND) {
		request = request_of(session, text, bytes);
		fgio_request_begin_as(&request);
	} else if (now == LABEL_BACKGROUND) {
		fgio_background_begin();
	}
}

static void end(void)
{
	if (now == LABEL_FOREGROUND)
		fgio_request_end();
	else if (now == LABEL_BACKGROUND)
		fgio_background_end();
	now = LABEL_NONE;
}

/* A replica reads the log as fast as it can, for as long as it is connected. */
static bool sends_log(const struct mysql_event_general *event)
{
	static const char command[] = "Binlog Dump";

	return event->general_command_length == sizeof(command) - 1 &&
	       !memcmp(event->general_command, command, sizeof(command) - 1);
}

static void connection(MYSQL_THD session, const struct mysql_event_connection *event)
{
	if (event->event_subclass == MYSQL_AUDIT_CONNECTION_CONNECT)
		THDVAR(session, client) = event->status == 0;
	else if (event->event_subclass == MYSQL_AUDIT_CONNECTION_DISCONNECT)
		THDVAR(session, client) = 0;
}

static void notify(MYSQL_THD session, unsigned int class, const void *event)
{
	const struct mysql_event_general *general = event;

	if (class == MYSQL_AUDIT_CONNECTION_CLASS)
		connection(session, event);
	else if (class == MYSQL_AUDIT_TABLE_CLASS)
		begin(session, NULL, 0);
	else if (general->event_subclass == MYSQL_AUDIT_GENERAL_STATUS)
		end();
	else if (general->event_subclass == MYSQL_AUDIT_GENERAL_LOG && !sends_log(general))
		begin(session, general->general_query, general->general_query_length);
}

/* Before the server forgets that it told of a command: a connection that broke in the middle of it. */
static void release(MYSQL_THD session)
{
	(void)session;
	end();
}

static int show_available(MYSQL_THD session, struct st_mysql_show_var *variable, void *buffer,
			  struct system_status_var *status, enum enum_var_type scope)
{
	(void)session;
	(void)status;
	(void)scope;
	variable->type = SHOW_BOOL;
	variable->value = buffer;
	*(char *)buffer = fgio_available();
	return 0;
}

static struct st_mysql_show_var status_variables[] = {
	{ "Fgio_available", (char *)show_available, SHOW_SIMPLE_FUNC },
	{ "Fgio_commands_with_request", (char *)&with_request, SHOW_LONGLONG },
	{ NULL, NULL, SHOW_UNDEF },
};

static struct st_mysql_audit descriptor = {
	MYSQL_AUDIT_INTERFACE_VERSION,
	release,
	notify,
	{ MYSQL_AUDIT_GENERAL_CLASSMASK | MYSQL_AUDIT_CONNECTION_CLASSMASK |
	  MYSQL_AUDIT_TABLE_CLASSMASK },
};

/* The headers leave its visibility to the compiler's default. */
#pragma GCC visibility push(default)
maria_declare_plugin(fgio) {
	MYSQL_AUDIT_PLUGIN,
	&descriptor,
	"fgio",
	"The fgio authors",
	"Foreground I/O first: commands of clients are foreground",
	PLUGIN_LICENSE_GPL,
	NULL,
	NULL,
	0x0001,
	status_variables,
	variables,
	"0.1",
	MariaDB_PLUGIN_MATURITY_EXPERIMENTAL,
} maria_declare_plugin_end;
#pragma GCC visibility pop
