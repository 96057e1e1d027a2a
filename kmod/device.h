/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/fgio. */
#ifndef FGIO_DEVICE_H
#define FGIO_DEVICE_H

int fgio_device_init(void);
void fgio_device_exit(void);

#endif /* FGIO_DEVICE_H */
