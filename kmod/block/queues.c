// SPDX-License-Identifier: GPL-2.0
/* The request queues under the elevator. */
#include <linux/rculist.h>

#include "block/queues.h"
#include "compat/compat.h"

/* Slots visited in one hold of the queue's lock. */
#define SLOTS_AT_ONCE 32U

/* Read under RCU, too. */
static LIST_HEAD(queues);
DEFINE_MUTEX(fgio_queues_lock);
static unsigned int queue_count;

/* The elevator's, set before the first queue comes. */
static void (*on_change)(struct fgio_queue_data *fq);

bool fgio_queues_exist(void)
{
	return READ_ONCE(queue_count);
}

unsigned int fgio_queue_count(void)
{
	return READ_ONCE(queue_count);
}

void fgio_visit_queues(fgio_queue_visit_t *visit, void *data)
{
	struct fgio_queue_data *fq;

	mutex_lock(&fgio_queues_lock);
	list_for_each_entry(fq, &queues, list)
		visit(fq, data);
	mutex_unlock(&fgio_queues_lock);
}
FGIO_EXPORT(fgio_visit_queues);

struct fgio_queue_data *fgio_queue_find(const struct request_queue *q)
{
	struct fgio_queue_data *fq;

	list_for_each_entry_rcu(fq, &queues, list)
		if (fq->q == q)
			return fq;
	return NULL;
}

bool fgio_schedules(const struct request_queue *q)
{
	struct fgio_queue_data *fq;
	bool yes;

	rcu_read_lock();
	fq = fgio_queue_find(q);
	yes = fq && !fgio_lets_through(fq);
	rcu_read_unlock();
	return yes;
}

/* Return: the tag to continue with; 0 when all slots were visited. */
static unsigned int visit_some_slots(struct fgio_tag_set *tag_set,
				     unsigned int tag,
				     fgio_slot_visit_t *visit)
{
	struct fgio_queue_data *fq = tag_set->fq;
	unsigned int end;

	spin_lock(fgio_slots_lock(tag_set));
	/* The queue may have got another depth since. */
	end = min(tag + SLOTS_AT_ONCE, tag_set->slot_count);
	for (; tag < end; tag++)
		visit(fq, &tag_set->slots[tag], tag);
	if (tag >= tag_set->slot_count)
		tag = 0;
	spin_unlock(fgio_slots_lock(tag_set));
	return tag;
}

void fgio_visit_slots(struct fgio_queue_data *fq, fgio_slot_visit_t *visit)
{
	struct fgio_tag_set *tag_set;
	unsigned int tag;

	list_for_each_entry(tag_set, &fq->tag_sets, list) {
		tag = 0;
		do {
			tag = visit_some_slots(tag_set, tag, visit);
			cond_resched();
		} while (tag);
	}
}

void fgio_queue_reconsider(struct fgio_queue_data *fq)
{
	on_change(fq);
}

static void reconsider(struct fgio_queue_data *fq, void *unused)
{
	fgio_queue_reconsider(fq);
}

void fgio_queues_reconsider(void)
{
	fgio_visit_queues(reconsider, NULL);
}

void fgio_queues_add(struct fgio_queue_data *fq)
{
	lockdep_assert_held(&fgio_queues_lock);
	list_add_tail_rcu(&fq->list, &queues);
	WRITE_ONCE(queue_count, queue_count + 1);
}

void fgio_queues_remove(struct fgio_queue_data *fq)
{
	mutex_lock(&fgio_queues_lock);
	list_del_rcu(&fq->list);
	WRITE_ONCE(queue_count, queue_count - 1);
	mutex_unlock(&fgio_queues_lock);
	synchronize_rcu();
}

void fgio_queues_init(void (*change)(struct fgio_queue_data *fq))
{
	on_change = change;
}
