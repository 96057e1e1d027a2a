// SPDX-License-Identifier: GPL-2.0
/* Defines the module's own tracepoints, which all folders may call. */
#define CREATE_TRACE_POINTS
#include "base/trace.h"
