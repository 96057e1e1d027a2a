// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "request.h"
#include "section.h"

/*
 * Comments are looked for in this number of bytes at each end of a statement: sqlcommenter
 * writes them behind it, people before it. A statement may be megabytes long.
 */
#define COMMENT_BYTES 512

static char *setting;
static bool reads_comments;

/* By fgio.request. */
static struct fgio_user_request of_session;
static struct fgio_user_request served;

static void serve(const struct fgio_user_request *request)
{
	if (request->id == served.id && request->deadline_ms == served.deadline_ms &&
	    request->parts == served.parts)
		return;
	served = *request;
	section_renew();
}

static bool find_in_comments(const char *text, struct fgio_user_request *found)
{
	char begin[COMMENT_BYTES];
	size_t length = strlen(text);

	if (length < COMMENT_BYTES)
		return fgio_request_parse(text, found) == 0;
	memcpy(begin, text, sizeof(begin) - 1);
	begin[sizeof(begin) - 1] = '\0';
	return fgio_request_parse(begin, found) == 0 ||
	       fgio_request_parse(text + length - COMMENT_BYTES, found) == 0;
}

void request_of_statement(const char *text)
{
	struct fgio_user_request found;

	if (reads_comments && text && find_in_comments(text, &found))
		serve(&found);
	else
		serve(&of_session);
}

const struct fgio_user_request *request_served(void)
{
	return &served;
}

/* ---- fgio.request ---- */

static bool check_request(char **value, void **extra, GucSource source)
{
	struct fgio_user_request found;

	if (!**value || fgio_request_parse(*value, &found) == 0)
		return true;
	GUC_check_errdetail("A request is \"fgio:\" and 16 hexadecimal digits.");
	return false;
}

/* Also when a transaction ends for which it was set. */
static void assign_request(const char *value, void *extra)
{
	if (!value || fgio_request_parse(value, &of_session) != 0)
		memset(&of_session, 0, sizeof(of_session));
	serve(&of_session);
}

void request_define(void)
{
	DefineCustomStringVariable("fgio.request",
				   "The user's request that the session serves, by its id.",
				   "Made by fgio_request_new() or libfgio. Empty: none.", &setting, "",
				   PGC_USERSET, 0, check_request, assign_request, NULL);
	DefineCustomBoolVariable("fgio.read_comments",
				 "Reads ids of requests from comments of statements.",
				 "As sqlcommenter writes them. They override fgio.request.",
				 &reads_comments, false, PGC_USERSET, 0, NULL, NULL, NULL);
}

/* ---- functions ---- */

static Datum text_of(const struct fgio_user_request *request)
{
	char written[FGIO_REQUEST_TEXT_BYTES];

	fgio_request_format(request, written, sizeof(written));
	return PointerGetDatum(cstring_to_text(written));
}

PG_FUNCTION_INFO_V1(fgio_request);
Datum fgio_request(PG_FUNCTION_ARGS)
{
	if (!served.id)
		PG_RETURN_NULL();
	return text_of(&served);
}

static uint32 number_of(int32 number, const char *what)
{
	if (number < 0)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("%s must not be negative", what)));
	return (uint32)number;
}

PG_FUNCTION_INFO_V1(fgio_request_make);
Datum fgio_request_make(PG_FUNCTION_ARGS)
{
	struct fgio_user_request made = {
		.deadline_ms = number_of(PG_GETARG_INT32(0), "deadline_ms"),
		.parts = number_of(PG_GETARG_INT32(1), "parts"),
	};

	made.id = fgio_request_new();
	return text_of(&made);
}

PG_FUNCTION_INFO_V1(fgio_request_note);
Datum fgio_request_note(PG_FUNCTION_ARGS)
{
	struct fgio_user_request found;
	char *request = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (fgio_request_parse(request, &found) == 0)
		fgio_request_seen(found.id);
	PG_RETURN_VOID();
}
