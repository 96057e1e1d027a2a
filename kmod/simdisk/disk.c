// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "disk.h"

#define COMPLETIONS_AT_ONCE 16
/* Per command; bounds the time spent in queue_rq. 32 MiB of pages, 1 MiB of zeroes to store. */
#define MAX_DISCARD_SECTORS 65536
#define MAX_ZEROES_BACKING_SECTORS 2048

/* ---- time ---- */

static void arm_timer(struct disk *disk)
{
	u64 next = simdisk_next_event(disk->model);

	if (next >= disk->armed)
		return;
	disk->armed = next;
	hrtimer_start(&disk->timer, ns_to_ktime(next), HRTIMER_MODE_ABS_HARD);
}

static void count(struct disk *disk, const struct disk_command *command, u64 time)
{
	struct disk_counter *counter = &disk->counters[command->operation];
	u64 service = time - command->start;

	counter->count++;
	counter->sectors += command->sectors;
	counter->service_ns += service;
	counter->max_ns = max(counter->max_ns, service);
	counter->high += command->high;
}

/* Takes completed requests from the model. */
static unsigned int take_completed(struct disk *disk, struct request **requests)
{
	struct simdisk_completion completions[COMPLETIONS_AT_ONCE];
	unsigned int taken, i;

	taken = simdisk_advance(disk->model, ktime_get_ns(), completions, COMPLETIONS_AT_ONCE);
	for (i = 0; i < taken; i++) {
		struct request **entry = &disk->requests[completions[i].slot];

		requests[i] = *entry;
		*entry = NULL;
		count(disk, blk_mq_rq_to_pdu(requests[i]), completions[i].time_ns);
	}
	return taken;
}

static enum hrtimer_restart disk_timer(struct hrtimer *timer)
{
	struct disk *disk = container_of(timer, struct disk, timer);
	struct request *requests[COMPLETIONS_AT_ONCE];
	unsigned int taken, i;
	unsigned long flags;

	do {
		spin_lock_irqsave(&disk->lock, flags);
		disk->armed = SIMDISK_NEVER;
		taken = take_completed(disk, requests);
		if (taken < COMPLETIONS_AT_ONCE)
			arm_timer(disk);
		spin_unlock_irqrestore(&disk->lock, flags);
		for (i = 0; i < taken; i++)
			blk_mq_complete_request(requests[i]);
	} while (taken == COMPLETIONS_AT_ONCE);
	return HRTIMER_NORESTART;
}

/* ---- requests ---- */

static bool operation_of(const struct request *rq, enum simdisk_operation *operation)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		*operation = SIMDISK_READ;
		return true;
	case REQ_OP_WRITE:
		*operation = SIMDISK_WRITE;
		return true;
	case REQ_OP_FLUSH:
		*operation = SIMDISK_FLUSH;
		return true;
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		*operation = SIMDISK_DISCARD;
		return true;
	default:
		return false;
	}
}

static bool on_disk(const struct disk *disk, const struct request *rq)
{
	u64 sectors = blk_rq_sectors(rq);

	return sectors <= disk->data.sectors && blk_rq_pos(rq) <= disk->data.sectors - sectors;
}

/* Hands @rq to the model: from here on it may complete at any time. */
static bool submit(struct disk *disk, const struct blk_mq_hw_ctx *hctx, struct request *rq)
{
	struct disk_command *command = blk_mq_rq_to_pdu(rq);
	u32 slot = hctx->queue_num * disk->queue_depth + rq->tag;
	struct simdisk_request request = {
		.operation = command->operation,
		.sector = command->operation == SIMDISK_FLUSH ? 0 : blk_rq_pos(rq),
		.sectors = command->sectors,
		.fua = rq->cmd_flags & REQ_FUA,
		.hw_queue = hctx->queue_num,
		.priority = command->high,
	};
	unsigned long flags;
	bool accepted;

	spin_lock_irqsave(&disk->lock, flags);
	command->start = ktime_get_ns();
	accepted = simdisk_submit(disk->model, command->start, slot, &request);
	if (accepted) {
		disk->requests[slot] = rq;
		disk->depth_max = max(disk->depth_max, simdisk_outstanding(disk->model));
		arm_timer(disk);
	}
	spin_unlock_irqrestore(&disk->lock, flags);
	return accepted;
}

static blk_status_t disk_queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct disk *disk = hctx->queue->queuedata;
	struct request *rq = bd->rq;
	struct disk_command *command = blk_mq_rq_to_pdu(rq);

	if (!operation_of(rq, &command->operation))
		return BLK_STS_NOTSUPP;
	command->status = BLK_STS_OK;
	command->high = disk_has_priority(disk, rq);
	command->sectors = command->operation == SIMDISK_FLUSH ? 0 : blk_rq_sectors(rq);
	if (command->operation != SIMDISK_FLUSH) {
		blk_status_t status;

		if (!on_disk(disk, rq))
			return BLK_STS_IOERR;
		status = disk_data_transfer(&disk->data, rq);
		if (status != BLK_STS_OK)
			return status;
	}
	blk_mq_start_request(rq);
	if (!submit(disk, hctx, rq)) {
		pr_err_ratelimited("simdisk%u: the model refused a command: this is a bug\n",
				   disk->number);
		command->status = BLK_STS_IOERR;
		blk_mq_complete_request(rq);
	}
	return BLK_STS_OK;
}

static void disk_complete(struct request *rq)
{
	const struct disk_command *command = blk_mq_rq_to_pdu(rq);

	blk_mq_end_request(rq, command->status);
}

/* Virtual time may jump, and a model never forgets a command. */
static enum blk_eh_timer_return disk_timeout(struct request *rq)
{
	return BLK_EH_RESET_TIMER;
}

static const struct blk_mq_ops disk_queue_operations = {
	.queue_rq = disk_queue_rq,
	.complete = disk_complete,
	.timeout = disk_timeout,
};

static const struct block_device_operations disk_operations = {
	.owner = THIS_MODULE,
};

/* ---- making and removing ---- */

static int create_model(struct disk *disk, const struct simdisk_parameters *parameters, u64 seed)
{
	const char *wrong = simdisk_check(parameters, disk->data.sectors);
	void *memory;

	if (wrong) {
		pr_err("simdisk: model=%s: %s\n", simdisk_name(parameters->kind), wrong);
		return -EINVAL;
	}
	disk->requests = kvcalloc(parameters->hw_queues * parameters->queue_depth,
				  sizeof(*disk->requests), GFP_KERNEL);
	memory = kvzalloc(simdisk_bytes(parameters), GFP_KERNEL);
	if (!disk->requests || !memory) {
		kvfree(memory);
		return -ENOMEM;
	}
	disk->model = simdisk_create(memory, parameters, disk->data.sectors, seed);
	disk->queue_depth = parameters->queue_depth;
	return 0;
}

static int create_tags(struct disk *disk, const struct simdisk_parameters *parameters)
{
	struct blk_mq_tag_set *tags = &disk->tags;
	int error;

	tags->ops = &disk_queue_operations;
	tags->nr_hw_queues = parameters->hw_queues;
	tags->queue_depth = parameters->queue_depth;
	tags->numa_node = NUMA_NO_NODE;
	tags->cmd_size = sizeof(struct disk_command);
	tags->flags = BLK_MQ_F_SHOULD_MERGE;
	error = blk_mq_alloc_tag_set(tags);
	if (error)
		tags->tags = NULL;
	return error;
}

static int create_gendisk(struct disk *disk, const struct simdisk_parameters *parameters)
{
	const struct disk_limits limits = {
		.physical_block_bytes = parameters->physical_block_bytes,
		.max_sectors = parameters->max_sectors,
		.max_segments = parameters->max_segments,
		.max_discard_sectors = parameters->discard ? MAX_DISCARD_SECTORS : 0,
		.max_write_zeroes_sectors = !parameters->discard ? 0 :
			disk->data.memory ? MAX_ZEROES_BACKING_SECTORS : MAX_DISCARD_SECTORS,
		.rotational = parameters->rotational,
		.write_cache = parameters->volatile_cache,
		.fua = parameters->fua,
	};
	struct gendisk *gendisk = compat_alloc_disk(&disk->tags, &limits, disk);
	int error;

	if (IS_ERR(gendisk))
		return PTR_ERR(gendisk);
	gendisk->fops = &disk_operations;
	gendisk->private_data = disk;
	snprintf(gendisk->disk_name, DISK_NAME_LEN, "simdisk%u", disk->number);
	set_capacity(gendisk, disk->data.sectors);
	error = device_add_disk(&disk->device->dev, gendisk, NULL);
	if (error) {
		put_disk(gendisk);
		return error;
	}
	disk->gendisk = gendisk;
	return 0;
}

struct disk *disk_create(unsigned int number, const struct simdisk_parameters *parameters,
			 u64 sectors, const char *backing, u64 seed)
{
	struct disk *disk = kzalloc(sizeof(*disk), GFP_KERNEL);
	int error = 0;

	if (!disk)
		return ERR_PTR(-ENOMEM);
	disk->number = number;
	disk->armed = SIMDISK_NEVER;
	spin_lock_init(&disk->lock);
	compat_hrtimer_setup(&disk->timer, disk_timer);
	if (backing)
		error = disk_data_init_backing(&disk->data, backing);
	else
		disk_data_init_memory(&disk->data, sectors);
	if (error) {
		kfree(disk);
		return ERR_PTR(error);
	}
	error = create_model(disk, parameters, seed);
	if (!error)
		error = create_tags(disk, parameters);
	if (!error)
		error = disk_device_create(disk, parameters);
	if (!error)
		error = create_gendisk(disk, parameters);
	if (error) {
		disk_destroy(disk);
		return ERR_PTR(error);
	}
	disk_stats_add(disk);
	return disk;
}

/* Also undoes a creation that failed half-way. */
void disk_destroy(struct disk *disk)
{
	disk_stats_remove(disk);
	if (disk->gendisk) {
		del_gendisk(disk->gendisk);
		disk_data_stop(&disk->data);
		put_disk(disk->gendisk);
	}
	disk_device_destroy(disk);
	/* The model may have housekeeping left: destaging, partial programs. */
	hrtimer_cancel(&disk->timer);
	if (disk->tags.tags)
		blk_mq_free_tag_set(&disk->tags);
	disk_data_destroy(&disk->data);
	kvfree(disk->model);
	kvfree(disk->requests);
	kfree(disk);
}
