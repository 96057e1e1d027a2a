// SPDX-License-Identifier: GPL-2.0
#include <linux/dax.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "data.h"

/*
 * In virtual time copying is this driver's cost to the guest's CPU. memcpy() may copy one byte per
 * instruction (rep movsb); this copies eight.
 */
static void copy_words(void *to, const void *from, size_t bytes)
{
#ifdef CONFIG_X86_64
	size_t words = bytes / 8;

	asm volatile("rep movsq" : "+D" (to), "+S" (from), "+c" (words) : : "memory");
#else
	memcpy(to, from, bytes);
#endif
}

static void zero_words(void *to, size_t bytes)
{
#ifdef CONFIG_X86_64
	size_t words = bytes / 8;

	asm volatile("rep stosq" : "+D" (to), "+c" (words) : "a" (0) : "memory");
#else
	memset(to, 0, bytes);
#endif
}

/* ---- guest memory ---- */

/* The page at @index, allocated if need be; @zeroed when the caller writes only a part of it. */
static struct page *memory_page(struct disk_data *data, pgoff_t index, gfp_t gfp, bool zeroed)
{
	struct page *page = xa_load(&data->pages, index);
	struct page *present;

	if (page)
		return page;
	page = alloc_page(gfp | __GFP_NOWARN);
	if (!page)
		return NULL;
	if (zeroed)
		zero_words(page_address(page), PAGE_SIZE);
	present = xa_cmpxchg(&data->pages, index, NULL, page, gfp | __GFP_NOWARN);
	if (!present)
		return page;
	/* Another request wrote a sector of the page first, or there is no memory. */
	__free_page(page);
	return xa_is_err(present) ? NULL : present;
}

static void memory_populate(struct work_struct *work)
{
	struct disk_data *data = container_of(work, struct disk_data, populate);
	unsigned long count;
	pgoff_t index;

	spin_lock_irq(&data->wanted_lock);
	index = data->wanted_first;
	count = data->wanted_count;
	data->wanted_count = 0;
	spin_unlock_irq(&data->wanted_lock);
	for (; count; count--, index++) {
		while (!memory_page(data, index, GFP_NOIO, true))
			cond_resched();
	}
	blk_mq_run_hw_queues(data->queue, true);
}

/* Pages are allocated for one request at a time; others retry when the queue runs. */
static blk_status_t memory_wanted(struct disk_data *data, struct request *rq)
{
	pgoff_t first = blk_rq_pos(rq) >> PAGE_SECTORS_SHIFT;
	pgoff_t last = (blk_rq_pos(rq) + blk_rq_sectors(rq) - 1) >> PAGE_SECTORS_SHIFT;
	unsigned long flags;

	spin_lock_irqsave(&data->wanted_lock, flags);
	data->waits++;
	if (!data->wanted_count) {
		data->wanted_first = first;
		data->wanted_count = last - first + 1;
	}
	spin_unlock_irqrestore(&data->wanted_lock, flags);
	data->queue = rq->q;
	queue_work(system_unbound_wq, &data->populate);
	return BLK_STS_RESOURCE;
}

static bool memory_move(struct disk_data *data, u64 position, void *buffer, size_t bytes,
			bool write)
{
	while (bytes) {
		size_t offset = offset_in_page(position);
		size_t part = min_t(size_t, bytes, PAGE_SIZE - offset);
		pgoff_t index = position >> PAGE_SHIFT;
		struct page *page;

		if (write)
			page = memory_page(data, index, GFP_NOWAIT, part < PAGE_SIZE);
		else
			page = xa_load(&data->pages, index);
		if (write && !page)
			return false;
		if (write)
			copy_words(page_address(page) + offset, buffer, part);
		else if (page)
			copy_words(buffer, page_address(page) + offset, part);
		else
			zero_words(buffer, part);
		position += part;
		buffer += part;
		bytes -= part;
	}
	return true;
}

static void memory_free_page(struct rcu_head *head)
{
	__free_page(container_of(head, struct page, rcu_head));
}

static void memory_zero(struct disk_data *data, u64 position, u64 bytes)
{
	u64 end = position + bytes;
	pgoff_t first = DIV_ROUND_UP_ULL(position, PAGE_SIZE);
	pgoff_t beyond = end >> PAGE_SHIFT;
	unsigned long index;
	struct page *page;

	/* Another request may be copying from or to the same page, under RCU. */
	if (first < beyond) {
		xa_for_each_range(&data->pages, index, page, first, beyond - 1) {
			xa_erase(&data->pages, index);
			call_rcu(&page->rcu_head, memory_free_page);
		}
	}
	while (position < end) {
		size_t offset = offset_in_page(position);
		size_t part = min_t(u64, end - position, PAGE_SIZE - offset);

		page = part < PAGE_SIZE ? xa_load(&data->pages, position >> PAGE_SHIFT) : NULL;
		if (page)
			zero_words(page_address(page) + offset, part);
		else if (!offset && first < beyond && position >> PAGE_SHIFT == first)
			part = (u64)(beyond - first) << PAGE_SHIFT;
		position += part;
	}
}

/* ---- backing device ---- */

static void backing_zero(struct disk_data *data, u64 position, u64 bytes)
{
	zero_words(data->memory + position, bytes);
}

static int backing_map(struct disk_data *data, struct block_device *bdev, const char *path)
{
	long pages = data->sectors >> PAGE_SECTORS_SHIFT, mapped;
	u64 offset;
	int lock;

	data->dax = fs_dax_get_by_bdev(bdev, &offset, NULL, NULL);
	if (!data->dax) {
		pr_err("simdisk: backing=%s has no direct access; give a persistent-memory device such as /dev/pmem1\n",
		       path);
		return -EOPNOTSUPP;
	}
	lock = dax_read_lock();
	mapped = dax_direct_access(data->dax, PFN_DOWN(offset), pages, DAX_ACCESS,
				   &data->memory, NULL);
	dax_read_unlock(lock);
	if (mapped < pages) {
		pr_err("simdisk: backing=%s: only %ld of %ld pages are mapped in one piece; give a device without bad blocks\n",
		       path, mapped, pages);
		return mapped < 0 ? mapped : -ENXIO;
	}
	return 0;
}

/* ---- both ---- */

void disk_data_init_memory(struct disk_data *data, u64 sectors)
{
	data->sectors = sectors;
	xa_init(&data->pages);
	spin_lock_init(&data->wanted_lock);
	INIT_WORK(&data->populate, memory_populate);
}

int disk_data_init_backing(struct disk_data *data, const char *path)
{
	int error;

	disk_data_init_memory(data, 0);
	error = compat_open_bdev(&data->opened, path, data);
	if (error) {
		pr_err("simdisk: cannot open backing=%s (error %d); give an unused block device such as /dev/pmem1\n",
		       path, error);
		/* insmod reports ENOENT as an unknown symbol. */
		return error == -ENOENT ? -ENODEV : error;
	}
	data->sectors = bdev_nr_sectors(data->opened.bdev) & ~(u64)(PAGE_SECTORS - 1);
	error = backing_map(data, data->opened.bdev, path);
	if (error)
		disk_data_destroy(data);
	return error;
}

void disk_data_stop(struct disk_data *data)
{
	cancel_work_sync(&data->populate);
}

void disk_data_destroy(struct disk_data *data)
{
	unsigned long index;
	struct page *page;

	xa_for_each(&data->pages, index, page) {
		__free_page(page);
		cond_resched();
	}
	xa_destroy(&data->pages);
	if (data->dax)
		fs_put_dax(data->dax, NULL);
	if (data->opened.bdev)
		compat_close_bdev(&data->opened);
}

static bool move_segments(struct disk_data *data, struct request *rq, bool write)
{
	u64 position = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	struct req_iterator iter;
	struct bio_vec segment;
	bool moved = true;

	rq_for_each_segment(segment, rq, iter) {
		void *buffer = bvec_kmap_local(&segment);

		if (!data->memory)
			moved = memory_move(data, position, buffer, segment.bv_len, write);
		else if (write)
			copy_words(data->memory + position, buffer, segment.bv_len);
		else
			copy_words(buffer, data->memory + position, segment.bv_len);
		kunmap_local(buffer);
		if (!moved)
			break;
		position += segment.bv_len;
	}
	return moved;
}

blk_status_t disk_data_transfer(struct disk_data *data, struct request *rq)
{
	u64 position = (u64)blk_rq_pos(rq) << SECTOR_SHIFT;
	bool moved = true;

	rcu_read_lock();
	switch (req_op(rq)) {
	case REQ_OP_READ:
		moved = move_segments(data, rq, false);
		break;
	case REQ_OP_WRITE:
		moved = move_segments(data, rq, true);
		break;
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		/* Discarded data may stay, and zeroing persistent memory takes the CPU's time. */
		if (!data->memory)
			memory_zero(data, position, blk_rq_bytes(rq));
		else if (req_op(rq) == REQ_OP_WRITE_ZEROES)
			backing_zero(data, position, blk_rq_bytes(rq));
		break;
	default:
		break;
	}
	rcu_read_unlock();
	return moved ? BLK_STS_OK : memory_wanted(data, rq);
}
