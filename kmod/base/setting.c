// SPDX-License-Identifier: GPL-2.0
/*
 * What modinfo says of each setting: its purpose, and in parentheses its
 * default and its bounds.
 */
#include "base/setting.h"

#define DESCRIBE_SWITCH(name, purpose, ...)				\
	MODULE_PARM_DESC(name, purpose " (Y)");
#define DESCRIBE_NUMBER(name, default_value, least, most, purpose)	\
	MODULE_PARM_DESC(name, purpose " (" #default_value "; " #least	\
			 " to " #most ")");
#define DESCRIBE_UNBOUNDED(name, default_value, purpose)		\
	MODULE_PARM_DESC(name, purpose " (" #default_value ")");
#define DESCRIBE_AS_SYSTEM(name, purpose)				\
	MODULE_PARM_DESC(name, purpose " (no limit)");
#define DESCRIBE_LIST(name, default_value, purpose)			\
	MODULE_PARM_DESC(name, purpose " (" default_value ")");

FGIO_SETTING_LIST(DESCRIBE_SWITCH, DESCRIBE_NUMBER, DESCRIBE_UNBOUNDED,
		  DESCRIBE_AS_SYSTEM, DESCRIBE_LIST)
