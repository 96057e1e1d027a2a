// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Sections: the hot path. A section begins and ends by a store to the thread
 * flag; with the module or without it, the same instructions run.
 */
#include "internal.h"

/* The class last: a reader of it finds the request that belongs to it. */
static inline void say(struct thread *self, uint32_t class_, const struct fgio_user_request *request)
{
	struct fgio_word *word = self->word;

	__atomic_store_n(&word->request, request->id, __ATOMIC_RELAXED);
	__atomic_store_n(&word->deadline_ms, request->deadline_ms, __ATOMIC_RELAXED);
	__atomic_store_n(&word->parts, request->parts, __ATOMIC_RELAXED);
	__atomic_store_n(&word->class, class_, __ATOMIC_RELEASE);
	if (UNLIKELY(self->tags))
		fgio_device_tag(class_ != FGIO_CLASS_NONE ? class_ : self->tag);
}

static inline void begin(uint32_t class_, struct fgio_user_request request)
{
	struct thread *self = fgio_thread();
	uint32_t depth;

	if (UNLIKELY(!self))
		return;
	depth = self->depth++;
	if (UNLIKELY(depth >= FGIO_SECTIONS_MAX))
		return;
	self->section[depth].class_ = class_;
	self->section[depth].request = request;
	say(self, class_, &request);
}

/* An end without a begin is ignored: a child may be forked inside a section. */
static inline void end(void)
{
	struct thread *self = fgio_self;
	uint32_t depth;

	if (UNLIKELY(!self || !self->depth))
		return;
	depth = --self->depth;
	if (!depth)
		say(self, FGIO_CLASS_NONE, &(struct fgio_user_request){ 0 });
	else if (LIKELY(depth < FGIO_SECTIONS_MAX))
		say(self, self->section[depth - 1].class_, &self->section[depth - 1].request);
}

PUBLIC void fgio_foreground_begin(void)
{
	begin(FGIO_CLASS_FOREGROUND, (struct fgio_user_request){ 0 });
}

PUBLIC void fgio_foreground_end(void)
{
	end();
}

PUBLIC void fgio_background_begin(void)
{
	begin(FGIO_CLASS_BACKGROUND, (struct fgio_user_request){ 0 });
}

PUBLIC void fgio_background_end(void)
{
	end();
}

PUBLIC void fgio_request_begin(uint64_t id)
{
	begin(FGIO_CLASS_FOREGROUND, (struct fgio_user_request){ .id = id });
}

PUBLIC void fgio_request_begin_as(const struct fgio_user_request *request)
{
	begin(FGIO_CLASS_FOREGROUND, *request);
}

PUBLIC void fgio_request_end(void)
{
	end();
}
