/* SPDX-License-Identifier: GPL-2.0 */
/* The module's version; scripts/lint compares it with tools/Cargo.toml. */
#ifndef FGIO_VERSION_H
#define FGIO_VERSION_H

#define FGIO_VERSION "0.1.0"

#endif /* FGIO_VERSION_H */
