/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The server's hook in authentication. Its own header, libpq/auth.h, needs those of Kerberos, of
 * which nothing is used here.
 */
#ifndef FGIO_AUTHENTICATION_H
#define FGIO_AUTHENTICATION_H

struct Port;
typedef void (*authentication_hook)(struct Port *port, int status);
extern PGDLLIMPORT authentication_hook ClientAuthentication_hook;

#endif
