// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * The module fgio for Redis 7 and Valkey. Requests wait for the main thread, so it is foreground.
 * The children that write snapshots and rewrite the append-only file, and the server's background
 * threads, are background; the kernel module boosts them while the main thread waits for them.
 */
#include <string.h>
#include <unistd.h>

#include <fgio.h>

#include "labels.h"
#include "redismodule.h"
#include "uapi/fgio.h"

#define PUBLIC __attribute__((visibility("default")))
#define MODULE_VERSION 100
/* In the event loop's first round: the server starts its background threads after its modules. */
#define THREADS_START_MS 1

static struct {
	int enabled;
	int class;
	pid_t pid;
	int workers;
	unsigned long long children;
} server = { .enabled = 1, .class = LABEL_FOREGROUND };

static const char *name_of_class(void)
{
	return server.class == LABEL_BACKGROUND ? "background" : "foreground";
}

static void label_threads(void)
{
	label_self(server.enabled ? server.class : LABEL_NONE);
	server.workers = label_workers(server.enabled ? LABEL_BACKGROUND : LABEL_NONE);
	if (!server.enabled)
		server.workers = 0;
}

static void on_threads_started(RedisModuleCtx *ctx, void *data)
{
	label_threads();
}

/* --- events --- */

/*
 * Called in the child's own process. SAVE runs in the main thread while all requests wait: it keeps
 * the main thread's class.
 */
static void on_persistence(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t sub, void *data)
{
	if (server.enabled && getpid() != server.pid)
		label_child(LABEL_BACKGROUND);
}

static void on_fork(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t sub, void *data)
{
	if (sub == REDISMODULE_SUBEVENT_FORK_CHILD_BORN)
		server.children++;
}

static int subscribe(RedisModuleCtx *ctx)
{
	if (RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_Persistence, on_persistence))
		return REDISMODULE_ERR;
	return RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_ForkChild, on_fork);
}

/* --- settings --- */

static int get_number(const char *name, void *number)
{
	return *(int *)number;
}

static int set_number(const char *name, int value, void *number, RedisModuleString **error)
{
	*(int *)number = value;
	return REDISMODULE_OK;
}

static int apply(RedisModuleCtx *ctx, void *data, RedisModuleString **error)
{
	label_threads();
	return REDISMODULE_OK;
}

static int define_settings(RedisModuleCtx *ctx)
{
	static const char *const names[] = { "foreground", "background" };
	static const int values[] = { LABEL_FOREGROUND, LABEL_BACKGROUND };

	if (RedisModule_RegisterBoolConfig(ctx, "enabled", 1, REDISMODULE_CONFIG_DEFAULT,
					   get_number, set_number, apply, &server.enabled))
		return REDISMODULE_ERR;
	if (RedisModule_RegisterEnumConfig(ctx, "class", LABEL_FOREGROUND,
					   REDISMODULE_CONFIG_DEFAULT, (const char **)names,
					   values, 2, get_number, set_number, apply, &server.class))
		return REDISMODULE_ERR;
	return RedisModule_LoadConfigs(ctx);
}

/* --- status --- */

/* One number or text of the status, for INFO and for fgio.status. */
struct field {
	const char *name;
	const char *text;
	long long number;
};

#define FIELDS 9

static void read_fields(struct field *field, struct fgio_status *status)
{
	fgio_status(status);
	*field++ = (struct field){ "available", NULL, status->available };
	*field++ = (struct field){ "enabled", NULL, server.enabled };
	*field++ = (struct field){ "class", name_of_class(), 0 };
	*field++ = (struct field){ "background_threads", NULL, server.workers };
	*field++ = (struct field){ "children", NULL, (long long)server.children };
	*field++ = (struct field){ "module_version", status->version, 0 };
	*field++ = (struct field){ "devices", NULL, status->queues };
	*field++ = (struct field){ "system_foreground_waiting", NULL, status->foreground_waiting };
	*field++ = (struct field){ "system_boosted", NULL, status->boosted };
}

static void on_info(RedisModuleInfoCtx *ctx, int for_crash_report)
{
	struct fgio_status status;
	struct field fields[FIELDS];

	/* A server that crashes makes only the system calls that it must. */
	if (for_crash_report)
		return;
	read_fields(fields, &status);
	RedisModule_InfoAddSection(ctx, "");
	for (int i = 0; i < FIELDS; i++) {
		if (fields[i].text)
			RedisModule_InfoAddFieldCString(ctx, fields[i].name, fields[i].text);
		else
			RedisModule_InfoAddFieldLongLong(ctx, fields[i].name, fields[i].number);
	}
}

static int status_command(RedisModuleCtx *ctx, RedisModuleString **words, int count)
{
	struct fgio_status status;
	struct field fields[FIELDS];

	if (count != 1)
		return RedisModule_WrongArity(ctx);
	read_fields(fields, &status);
	RedisModule_ReplyWithMap(ctx, FIELDS);
	for (int i = 0; i < FIELDS; i++) {
		RedisModule_ReplyWithCString(ctx, fields[i].name);
		if (fields[i].text)
			RedisModule_ReplyWithCString(ctx, fields[i].text);
		else
			RedisModule_ReplyWithLongLong(ctx, fields[i].number);
	}
	return REDISMODULE_OK;
}

/* --- loading --- */

static void tell_whether_available(RedisModuleCtx *ctx)
{
	int error = fgio_init();

	if (error)
		RedisModule_Log(ctx, "notice",
				"no access to " FGIO_DEVICE_PATH " (%s): nothing is labelled until the server is restarted; \"fgio doctor\" tells what is missing",
				strerror(-error));
}

PUBLIC int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **words, int count)
{
	if (RedisModule_Init(ctx, "fgio", MODULE_VERSION, REDISMODULE_APIVER_1) == REDISMODULE_ERR)
		return REDISMODULE_ERR;
	if (!RedisModule_RegisterBoolConfig || !RedisModule_LoadConfigs) {
		RedisModule_Log(ctx, "warning", "fgio needs Redis 7 or Valkey");
		return REDISMODULE_ERR;
	}
	if (count > 0) {
		RedisModule_Log(ctx, "warning",
				"fgio takes no arguments: write \"fgio.enabled no\" on a line of its own");
		return REDISMODULE_ERR;
	}
	server.pid = getpid();
	if (RedisModule_CreateCommand(ctx, "fgio.status", status_command,
				      "fast allow-loading allow-stale", 0, 0, 0) ||
	    RedisModule_RegisterInfoFunc(ctx, on_info) || subscribe(ctx) || define_settings(ctx))
		return REDISMODULE_ERR;
	tell_whether_available(ctx);
	label_threads();
	RedisModule_CreateTimer(ctx, THREADS_START_MS, on_threads_started, NULL);
	return REDISMODULE_OK;
}

PUBLIC int RedisModule_OnUnload(RedisModuleCtx *ctx)
{
	server.enabled = 0;
	label_threads();
	return REDISMODULE_OK;
}
