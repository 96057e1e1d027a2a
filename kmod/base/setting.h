/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The settings of uapi/fgio_settings.h as parameters of the module. The file
 * that uses a setting declares its parameter, with the default and the bounds
 * of the list; base/setting.c describes all of them.
 */
#ifndef FGIO_SETTING_H
#define FGIO_SETTING_H

#include <linux/moduleparam.h>

#include "uapi/fgio_settings.h"

/*
 * The parameter of a number with bounds, whose value is in *@place. A value out
 * of them is refused.
 */
#define FGIO_NUMBER_PARAM(name, place)					\
static int set_##name(const char *text, const struct kernel_param *param) \
{									\
	return param_set_uint_minmax(text, param, FGIO_LEAST_##name,	\
				     FGIO_MOST_##name);			\
}									\
									\
static const struct kernel_param_ops name##_ops = {			\
	.set = set_##name,						\
	.get = param_get_uint,						\
};									\
									\
module_param_cb(name, &name##_ops, place, 0644)

#endif /* FGIO_SETTING_H */
