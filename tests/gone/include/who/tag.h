/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* In place of kmod/who/tag.h. */
#ifndef GONE_TAG_H
#define GONE_TAG_H

#include "core/class.h"
#include "fake.h"

enum fgio_thread_tag fgio_tag_of(struct task_struct *thread);

#endif /* GONE_TAG_H */
