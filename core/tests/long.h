/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Tests of what a policy achieves in minutes of virtual time. Include cmocka.h first.
 *
 * Sanitizers make them four times as long, and the other tests of their file take the same
 * paths: `make test` runs the files of LONG with and without, and these without.
 */
#ifndef FGIO_CORE_TESTS_LONG_H
#define FGIO_CORE_TESTS_LONG_H

/* Ends the test that calls it, as skipped, where sanitizers watch. */
static inline void skip_if_sanitized(void)
{
#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
}

#endif
