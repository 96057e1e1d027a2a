/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The user's request that the session serves: its id is in fgio.request, or in a
 * comment of the statement, and I/O of the session goes by it.
 */
#ifndef FGIO_REQUEST_H
#define FGIO_REQUEST_H

#include <fgio.h>

/* Defines the GUCs; in _PG_init(). */
extern void request_define(void);

/* An outermost statement begins: its comment counts, or else fgio.request. */
extern void request_of_statement(const char *text);

/* The one that is served now; id 0: none. */
extern const struct fgio_user_request *request_served(void);

#endif
