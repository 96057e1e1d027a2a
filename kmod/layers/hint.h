/* SPDX-License-Identifier: GPL-2.0 */
/* Declared waits. */
#ifndef FGIO_HINT_H
#define FGIO_HINT_H

#include "graph/layer.h"

/* FGIO_IOC_WAIT_FOR; its errors are in uapi/fgio.h. Context: ioctl. */
int fgio_hint_set(pid_t tid);

extern const struct fgio_layer fgio_hint_layer;

#endif /* FGIO_HINT_H */
