/* SPDX-License-Identifier: GPL-2.0 */
/* The elevator as the kernel knows it, and the lifetime of its queues. */
#ifndef FGIO_LIFETIME_H
#define FGIO_LIFETIME_H

/* Return: 0 or an error of elv_register(). */
int fgio_elevator_init(void);

/* No queue is under the elevator, since each holds the module. */
void fgio_elevator_exit(void);

#endif /* FGIO_LIFETIME_H */
