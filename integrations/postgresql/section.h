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

/* The class of the process now; read-only for other files. */
extern enum section_class section_now;

/* As section_become(), when it is another class. */
extern void section_change(enum section_class class);

/* Another request is served: an open section goes on for that one. */
extern void section_renew(void);

/* Sets the class of the process; SECTION_NONE ends the section. Each statement calls it. */
static inline void section_become(enum section_class class)
{
	if (class != section_now)
		section_change(class);
}

/* NULL for SECTION_NONE. */
extern const char *section_name(enum section_class class);

#endif
