/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * fgio.background_applications: programs whose sessions are background, by the
 * application_name that they give, such as pg_dump and vacuumdb.
 */
#ifndef FGIO_APPLICATIONS_H
#define FGIO_APPLICATIONS_H

/* Whether this session's application_name is among them now. */
extern bool applications_in_background(void);

/* Defines the GUC; in _PG_init(). */
extern void applications_define(void);

#endif
