// SPDX-License-Identifier: GPL-2.0
/* Defines the module's own tracepoints, which every floor may hit. */
#define CREATE_TRACE_POINTS
#include "base/trace.h"
