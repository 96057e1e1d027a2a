/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A section: the time in which this process is foreground or background, as
 * libfgio tells the kernel. One is open at most; opening another class ends it.
 */
#ifndef FGIO_SECTION_H
#define FGIO_SECTION_H

enum section_class {
	SECTION_NONE,
	SECTION_FOREGROUND,
	SECTION_BACKGROUND,
	SECTION_CLASSES,
};

/* What the process is from now on; SECTION_NONE ends the section. Cheap when nothing changes. */
extern void section_become(enum section_class class);

/* What it is now. */
extern enum section_class section_now(void);

/* Whether the kernel hears of it; false without the module. */
extern bool section_labelled(void);

/* NULL for SECTION_NONE. */
extern const char *section_name(enum section_class class);

#endif
