/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * As much of Linux 6.12 as kmod/block's readers of foreign objects use, in a
 * process: for tests/gone/gone.c, which has the memory.
 */
#ifndef GONE_FAKE_H
#define GONE_FAKE_H

#include <assert.h>
#include <string.h>

#include "core/types.h"

typedef u64 sector_t;
typedef u32 blk_opf_t;

#define LINUX_VERSION_CODE KERNEL_VERSION(6, 12, 0)
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define CONFIG_SPARSEMEM_VMEMMAP 1
#define IS_ENABLED(option) (option)
#define IS_MODULE(option) 0
#define BIT_ULL(bit) (1ULL << (bit))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define IS_ALIGNED(x, a) (((x) & ((a) - 1)) == 0)
#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))
#define __read_mostly
#define noinline __attribute__((noinline))
#define ____cacheline_aligned __attribute__((aligned(64)))
#define in_task() true
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define ilog2(n) (63 - __builtin_clzll(n))
#define PAGE_SHIFT 12
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define SECTOR_SIZE 512
#define ALIGN_DOWN(value, to) ((value) / (to) * (to))
#define NSEC_PER_MSEC 1000000ULL
#define KSYM_SYMBOL_LEN 512

u64 ktime_get_ns(void);
int sprint_symbol_no_offset(char *name, unsigned long address);

static inline u32 hash_64(u64 value, unsigned int bits)
{
	return value * 0x61C8864680B583EBull >> (64 - bits);
}

/* --- memory --------------------------------------------------------------- */

u64 fake_memory_begin(void);
u64 fake_memory_end(void);
bool fake_is_memory(u64 address);
int fake_copy(void *to, const void *from, size_t bytes);

#define virt_addr_valid(address) fake_is_memory((u64)(address))
/* All of it is beyond the first megabyte, and none is a device's. */
#define SZ_1M 0x100000
#define __pa(address) ((u64)(address))
#define is_zone_device_page(page) false
/* A module's pools are anywhere in it, and its holes are no module's. */
#define MODULES_VADDR fake_memory_begin()
#define MODULES_END fake_memory_end()
#define copy_from_kernel_nofault(to, from, bytes) fake_copy(to, from, bytes)
#define get_kernel_nofault(value, place) \
	fake_copy(&(value), (place), sizeof(value))

/* --- pages ---------------------------------------------------------------- */

typedef struct {
	unsigned long val;
} swp_entry_t;

struct page {
	unsigned long flags;
	unsigned long compound_head;
	unsigned long other[6];
};

struct folio {
	union {
		struct {
			unsigned long flags;
			unsigned long list[2];
			struct address_space *mapping;
			unsigned long index;
			swp_entry_t swap;
		};
		struct page page;
	};
};

#define PAGE_MAPPING_FLAGS 3UL
#define PG_SWAPCACHE 1UL
#define PG_SLAB 2UL

extern struct page fake_memmap[];
#define vmemmap fake_memmap
#define page_to_pfn(page) ((u64)((page) - vmemmap))
bool pfn_valid(u64 pfn);

static inline struct folio *page_folio(struct page *page)
{
	unsigned long head = READ_ONCE(page->compound_head);

	return (struct folio *)(head & 1 ? (struct page *)(head - 1) : page);
}

#define folio_page_idx(folio, at) ((u64)((at) - &(folio)->page))
#define folio_test_slab(folio) ((folio)->flags & PG_SLAB)
#define folio_test_swapcache(folio) ((folio)->flags & PG_SWAPCACHE)
#define swp_type(entry) ((entry).val >> 58)
#define swp_offset(entry) ((entry).val & ((1UL << 58) - 1))

/* --- tasks ---------------------------------------------------------------- */

typedef int pid_t;
typedef struct {
	u32 val;
} kuid_t;

#define TASK_COMM_LEN 16
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_NOLOAD 0x400
#define PF_IO_WORKER 0x10
#define PF_WQ_WORKER 0x20
#define PF_KTHREAD 0x200000
#define rcu_read_lock()
#define rcu_read_unlock()
#define rcu_dereference(pointer) (pointer)
#define rcu_access_pointer(pointer) (pointer)
#define spin_trylock(lock) (!(*(lock))++)
#define spin_unlock(lock) ((*(lock))--)
#define current fake_current
#define same_thread_group(one, other) ((one)->signal == (other)->signal)

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	u64 other;
	struct fdtable *fdt;
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	pid_t pid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct files_struct *files;
	int alloc_lock;
	void *worker_private;
	void *signal;
	char comm[TASK_COMM_LEN];
};

extern struct task_struct *fake_current;

static inline size_t str_has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) ? 0 : strlen(prefix);
}

int kstrtoint(const char *text, unsigned int base, int *number);

struct io_kiocb {
	struct file *file;
	u8 opcode;
	struct io_ring_ctx *ctx;
	u64 other[8];
	u64 work[4];
};

struct io_ring_ctx {
	u64 other[16];
	void *sq_data;
	u64 tctx_list[2];
};

enum {
	IORING_OP_WRITEV = 2,
	IORING_OP_FSYNC = 3,
	IORING_OP_WRITE_FIXED = 5,
	IORING_OP_WRITE = 23,
};

/* --- files ---------------------------------------------------------------- */

typedef unsigned short umode_t;

struct super_block {
	u64 other[3];
	void *s_bdev;
	unsigned long s_magic;
	void *s_fs_info;
};

#define FUSE_SUPER_MAGIC 0x65735546

struct fuse_in_header {
	u32 len;
	u32 opcode;
	u64 unique;
	u64 nodeid;
};

struct inode {
	u64 other[4];
	struct super_block *i_sb;
	umode_t i_mode;
};

struct address_space {
	struct inode *host;
};

struct file {
	u64 other[2];
	struct address_space *f_mapping;
	struct inode *f_inode;
};

struct kiocb {
	struct file *ki_filp;
	s64 ki_pos;
	void (*ki_complete)(struct kiocb *iocb, long result);
};

struct gendisk {
	u32 other[3];
	char disk_name[32];
	void *private_data;
};

struct block_device {
	u64 other[4];
	struct gendisk *bd_disk;
	struct address_space *bd_mapping;
};

/* --- bios ----------------------------------------------------------------- */

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
} __attribute__((packed, aligned(4)));

struct bio_set {
	void *slab;
	unsigned int front_pad;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	blk_opf_t bi_opf;
	unsigned short bi_flags;
	unsigned short bi_ioprio;
	u32 bi_status;
	u32 bi_remaining;
	struct bvec_iter bi_iter;
	void (*bi_end_io)(struct bio *bio);
	void *bi_private;
	void *bi_blkg;
	u64 issue;
	unsigned short bi_vcnt;
	unsigned short bi_max_vecs;
	u32 count;
	struct bio_vec *bi_io_vec;
	struct bio_set *bi_pool;
};

struct request {
	blk_opf_t cmd_flags;
	struct bio *bio;
	u64 other[28];
};

enum { BIO_PAGE_PINNED, BIO_CLONED };

#define REQ_OP_MASK 0xffu
#define REQ_OP_WRITE 1u
#define REQ_SYNC (1u << 11)
#define REQ_META (1u << 12)
#define REQ_IDLE (1u << 14)

#define bio_op(bio) ((bio)->bi_opf & REQ_OP_MASK)
#define op_is_write(op) ((op) & 1)
#define bio_flagged(bio, bit) (!!((bio)->bi_flags & (1U << (bit))))
#define bio_has_data(bio) (!!(bio)->bi_iter.bi_size)
#define bio_page(bio) ((bio)->bi_io_vec[(bio)->bi_iter.bi_idx].bv_page)
#define bio_end_sector(bio) \
	((bio)->bi_iter.bi_sector + ((bio)->bi_iter.bi_size >> 9))
#define __rq_for_each_bio(each, rq) \
	for (each = (rq)->bio; each; each = each->bi_next)

/* One bio_vec at a time, as long as there are bytes. */
#define bio_for_each_bvec(vec, bio, iter)                                   \
	for (iter = (bio)->bi_iter;                                         \
	     iter.bi_size && (vec = (bio)->bi_io_vec[iter.bi_idx], true);   \
	     iter.bi_size -= min(iter.bi_size, vec.bv_len), iter.bi_idx++)

void iomap_dio_bio_end_io(struct bio *bio);

#endif /* GONE_FAKE_H */
