/* SPDX-License-Identifier: GPL-2.0 */
/* Declared waits. */
#ifndef FGIO_DECLARED_WAIT_H
#define FGIO_DECLARED_WAIT_H

#include "graph/layer.h"

/* FGIO_IOC_WAIT_FOR; its errors are in uapi/fgio.h. Context: ioctl. */
int fgio_declared_wait_set(pid_t tid);

extern const struct fgio_layer fgio_declared_wait_layer;

#endif /* FGIO_DECLARED_WAIT_H */
