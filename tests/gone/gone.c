// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module's readers of objects that are not its own, over memory in which
 * nothing is as they expect: random words, with pieces of bios, stripes and
 * pages in between, that change while they are read.
 *
 * A read of such an object that may fault ends the test, by AddressSanitizer:
 * all of the memory is poisoned but what a caller has to keep. So does any read
 * of where the registers of a device would be.
 *
 *	gone SEED ROUNDS
 */
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/foreign.h"
#include "base/identity.h"
#include "base/kworker.h"
#include "base/mechanism.h"
#include "block/direct.h"
#include "block/io_target.h"
#include "block/loop.h"
#include "block/originals.h"
#include "block/stacked.h"
#include "block/upkeep.h"
#include "compat/compat.h"
#include "layers/fuse_object.h"
#include "who/tag.h"
#include "who/uring.h"

#define MEMORY_PAGES 64
#define MEMORY_BYTES (MEMORY_PAGES * PAGE_SIZE)
/* One page in each of these is a hole: nothing is mapped there. */
#define HOLE_EVERY 16
#define DEVICE_BYTES (4 * PAGE_SIZE)
/* The same at each run, as words are addresses: a seed then fails each time. */
#define DEVICE_ADDRESS 0x200000000000
#define STRIPE_MEMBERS 4

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition))                                              \
			fail(#condition, __LINE__);                            \
	} while (0)

static u64 seed, draws;
static char *memory;
static char *device;
/* No word leads to a device's registers while some may be of direct I/O. */
static bool has_device;
/* Words change while others are read. */
static bool changes;

struct page fake_memmap[MEMORY_PAGES];
struct task_struct *fake_current;

static void fail(const char *what, int line)
{
	fprintf(stderr, "gone.c:%d: %s; seed %llu\n", line, what,
		(unsigned long long)seed);
	abort();
}

/* A report of AddressSanitizer follows. */
void __asan_on_error(void)
{
	fprintf(stderr, "gone.c: seed %llu\n", (unsigned long long)seed);
}

static u64 draw(void)
{
	u64 x = seed + ++draws * 0x9E3779B97F4A7C15ull;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
	x = (x ^ x >> 27) * 0x94D049BB133111EBull;
	return x ^ x >> 31;
}

static u64 below(u64 most)
{
	return draw() % most;
}

/* --- memory --------------------------------------------------------------- */

static bool is_hole(u64 address)
{
	return (address - (u64)memory) / PAGE_SIZE % HOLE_EVERY ==
	       HOLE_EVERY - 1;
}

u64 fake_memory_begin(void)
{
	return (u64)memory;
}

u64 fake_memory_end(void)
{
	return (u64)memory + MEMORY_BYTES;
}

bool fake_is_memory(u64 address)
{
	return address - (u64)memory < MEMORY_BYTES && !is_hole(address);
}

bool pfn_valid(u64 pfn)
{
	return pfn < MEMORY_PAGES;
}

static u64 somewhere(void)
{
	u64 at = (u64)memory + below(MEMORY_BYTES);

	return below(16) ? at & ~7ULL : at;
}

/*
 * Objects that words lead to often are few, so that paths meet. What a caller
 * keeps is elsewhere.
 */
static u64 object(void)
{
	return (u64)memory + below(32) * 1024;
}

static void nothing_ends(struct kiocb *iocb, long result)
{
}

void iomap_dio_bio_end_io(struct bio *bio)
{
}

/* By which the pools of direct I/O are known. */
static const u64 pads[] = {
	FGIO_BLKDEV_DIO_BIO,
	FGIO_BTRFS_DIO_BBIO + FGIO_BTRFS_BIO_BIO,
};

static u64 word(void)
{
	switch (below(12)) {
	case 0:
		return draw();
	case 1:
		return below(2) ? below(64) : pads[below(2)];
	case 2:
		return somewhere();
	case 3:
		return (u64)fake_memmap +
		       below(MEMORY_PAGES + 2) * sizeof(struct page);
	case 4:
		return has_device ? (u64)device + below(DEVICE_BYTES) : 0;
	case 5:
		return has_device ? 0 : (u64)nothing_ends;
	default:
		return object();
	}
}

__attribute__((no_sanitize("address"))) static void put(u64 address, u64 value)
{
	if (fake_is_memory(address) && fake_is_memory(address + 7))
		*(volatile u64 *)address = value;
}

__attribute__((no_sanitize("address"))) static void
copy(char *to, const volatile char *from, size_t bytes)
{
	while (bytes--)
		*to++ = *from++;
}

/* Without faults: holes, and what is no memory of this kernel, are not read. */
int fake_copy(void *to, const void *from, size_t bytes)
{
	u64 at = (u64)from;

	CHECK(at - (u64)device >= DEVICE_BYTES &&
	      at + bytes - 1 - (u64)device >= DEVICE_BYTES);
	if (changes && !below(4))
		put(object() + below(64) * 8, word());
	if (!fake_is_memory(at) || !fake_is_memory(at + bytes - 1))
		return -1;
	copy(to, from, bytes);
	return 0;
}

/* --- the rest of the kernel ----------------------------------------------- */

int kstrtoint(const char *text, unsigned int base, int *number)
{
	*number = atoi(text);
	return 0;
}

u64 ktime_get_ns(void)
{
	return 1;
}

int sprint_symbol_no_offset(char *name, unsigned long address)
{
	if (address % 64)
		return sprintf(name, "endio [dm_mod]");
	if (!(address % 3))
		return sprintf(name, "backing_aio_rw_complete");
	return sprintf(name, "%s [loop]", address % 5 ? "lo_rw_aio_complete" :
							"lo_other");
}

bool fgio_mechanism_on(enum fgio_mechanism mechanism)
{
	return true;
}

enum fgio_thread_tag fgio_tag_of(struct task_struct *thread)
{
	return FGIO_THREAD_UNTAGGED;
}

struct task_struct *fgio_thread_of(pid_t tid)
{
	return tid % 2 ? fake_current : NULL;
}

/* --- its contents ---------------------------------------------------------- */

static struct bio some_bio(void)
{
	return (struct bio){
		.bi_next = (void *)word(),
		.bi_bdev = (void *)word(),
		.bi_opf = draw(),
		.bi_flags = below(4),
		.bi_iter = {
			.bi_sector = below(32),
			.bi_size = below(8) * SECTOR_SIZE,
		},
		.bi_end_io = below(2) && !has_device ? iomap_dio_bio_end_io :
						       NULL,
		.bi_private = (void *)word(),
		.bi_vcnt = below(4),
		/* Few places, so that a clone and its original share one. */
		.bi_io_vec = (void *)(below(4) ? (u64)memory + below(3) * 64 :
						 word()),
		.bi_pool = (void *)word(),
	};
}

static void put_all(u64 address, const void *from, size_t bytes)
{
	const u64 *words = from;

	for (; bytes >= 8; bytes -= 8, address += 8)
		put(address, *words++);
}

static void fill(void)
{
	struct bio bio;
	u64 at;
	int i;

	for (at = 0; at < MEMORY_BYTES; at += 8)
		put((u64)memory + at, word());
	for (i = 0; i < 200; i++) {
		bio = some_bio();
		put_all(object(), &bio, sizeof(bio));
	}
	for (i = 0; i < MEMORY_PAGES; i++) {
		fake_memmap[i] = (struct page){
			.flags = below(4),
			.compound_head = below(4) ? 0 :
				(u64)&fake_memmap[below(MEMORY_PAGES)] + 1,
			.other = { 0, word(), below(64) },
		};
	}
}

/* More bios than are looked at wait for one block. */
static u64 long_list(u64 sector)
{
	u64 first = (u64)memory + 44 * 1024;
	struct bio bio = some_bio();
	unsigned int i;

	bio.bi_iter.bi_sector = sector;
	bio.bi_iter.bi_size = SECTOR_SIZE;
	for (i = 0; i < 2 * FGIO_ORIGINALS_MAX; i++) {
		bio.bi_next = (void *)(first + (i + 1) * sizeof(bio));
		put_all(first + i * sizeof(bio), &bio, sizeof(bio));
	}
	return first;
}

/*
 * Its caller keeps the bio of a stripe with its bio_vec and page, and nothing
 * else. A discard has no bio_vec (drivers/md/raid5.c, ops_run_io()).
 */
static struct bio *live_bio_of_stripe(u64 *stripe)
{
	u64 member = below(STRIPE_MEMBERS), at;
	struct bio bio = some_bio();
	unsigned int i;

	*stripe = (u64)memory + 40 * 1024;
	put(*stripe + FGIO_STRIPE_DISKS, below(8) ? STRIPE_MEMBERS : draw());
	for (i = 0; i < STRIPE_MEMBERS; i++) {
		at = *stripe + FGIO_STRIPE_DEVICES + i * FGIO_R5DEV_SIZE;
		put(at + FGIO_R5DEV_TOREAD, word());
		put(at + FGIO_R5DEV_READ, below(2) ? 0 : word());
		put(at + FGIO_R5DEV_TOWRITE, word());
		put(at + FGIO_R5DEV_WRITTEN, below(2) ? 0 : object());
		put(at + FGIO_R5DEV_SECTOR, below(32));
	}
	if (!below(4)) {
		put(at + FGIO_R5DEV_SECTOR, 16);
		put(at + FGIO_R5DEV_TOWRITE, long_list(16));
	}
	at = *stripe + FGIO_STRIPE_DEVICES + member * FGIO_R5DEV_SIZE;
	bio.bi_flags = 0;
	bio.bi_vcnt = below(2);
	bio.bi_private = (void *)*stripe;
	bio.bi_io_vec = (void *)(at + FGIO_R5DEV_VEC);
	put_all(at + FGIO_R5DEV_REQ, &bio, sizeof(bio));
	return (struct bio *)(at + FGIO_R5DEV_REQ);
}

static unsigned int visits;

static void count_visit(u64 address, struct bio *bio, void *data)
{
	struct fgio_io_target target;
	u64 privates[FGIO_PRIVATES];

	CHECK(data == &visits);
	fgio_io_target_of_original(&target, address, bio);
	fgio_privates_of_bio(address, bio, privates);
	fgio_file_system_of(target.mapping);
	visits++;
}

static void look_at_stripe(void)
{
	struct fgio_originals_look look = {
		.visit = count_visit,
		.data = &visits,
	};
	struct fgio_io_target target;
	struct request rq = {};
	struct bio_vec *vec;
	struct bio *bio;
	u64 stripe;

	bio = live_bio_of_stripe(&stripe);
	ASAN_UNPOISON_MEMORY_REGION(bio, sizeof(*bio));
	bio->bi_next = NULL;
	vec = bio->bi_io_vec;
	ASAN_UNPOISON_MEMORY_REGION(vec, sizeof(*vec));
	*vec = (struct bio_vec){ .bv_page = &fake_memmap[below(MEMORY_PAGES)],
				 .bv_len = PAGE_SIZE };
	visits = 0;
	fgio_originals_visit_below(bio, &look);
	CHECK(visits <= FGIO_ORIGINALS_MAX);
	if (fgio_originals_visit((u64)bio, bio, &look)) {
		fgio_io_target_of_bio(&target, bio);
		rq.bio = bio;
		fgio_io_target_of_request(&target, &rq);
		fgio_direct_contexts_of_request(&target, &rq);
	}
	ASAN_POISON_MEMORY_REGION(vec, sizeof(*vec));
	ASAN_POISON_MEMORY_REGION(bio, sizeof(*bio));
}

/*
 * A bio that its caller keeps, with its bio_vecs and pages. It may look like a
 * stripe's whose bi_private leads to a device.
 */
static void look_at_live_bio(void)
{
	struct fgio_originals_look look = {
		.visit = count_visit,
		.data = &visits,
	};
	struct bio *bio = (struct bio *)(memory + 36 * 1024);
	u64 contexts[FGIO_DIRECT_CONTEXTS], member;
	struct fgio_io_target target;
	struct bio_vec *vec;

	vec = (struct bio_vec *)((u64)bio + FGIO_R5DEV_VEC - FGIO_R5DEV_REQ);
	ASAN_UNPOISON_MEMORY_REGION(bio, sizeof(*bio));
	ASAN_UNPOISON_MEMORY_REGION(vec, sizeof(*vec));
	*bio = some_bio();
	bio->bi_opf &= ~(REQ_OP_WRITE | REQ_OP_MASK);
	bio->bi_vcnt = 1;
	bio->bi_io_vec = vec;
	*vec = (struct bio_vec){ .bv_page = &fake_memmap[below(MEMORY_PAGES)],
				 .bv_len = PAGE_SIZE };
	member = (u64)bio - FGIO_R5DEV_REQ - FGIO_STRIPE_DEVICES;
	if (has_device && below(2) && member > (u64)device)
		bio->bi_private = (void *)(member -
					   (member - (u64)device) /
						   FGIO_R5DEV_SIZE *
						   FGIO_R5DEV_SIZE);
	fgio_originals_visit_below(bio, &look);
	fgio_io_target_of_bio(&target, bio);
	fgio_buffer_of_bio(bio);
	fgio_direct_contexts_of(bio, contexts);
	ASAN_POISON_MEMORY_REGION(bio, sizeof(*bio));
	ASAN_POISON_MEMORY_REGION(vec, sizeof(*vec));
}

static void look_at_bios(void)
{
	u64 contexts[FGIO_DIRECT_CONTEXTS], privates[FGIO_PRIVATES];
	u64 address = below(8) ? object() : word();
	struct fgio_io_target target;
	struct fgio_top top, above;
	struct page *first, *last;

	fgio_direct_contexts_of((const struct bio *)address, contexts);
	if (!fgio_bio_copy(&top, address))
		return;
	fgio_io_target_of_original(&target, address, &top.bio);
	fgio_file_system_of(target.mapping);
	fgio_privates_of_bio(address, &top.bio, privates);
	fgio_original_pages(&top.bio, &first, &last);
	fgio_stacked_top(address, &top.bio, &above);
	fgio_stacked_plain(&top.bio, &above);
	fgio_direct_mapping_of_original(address, &top.bio);
}

static void look_at_ring(u64 ring)
{
	u64 threads[FGIO_URING_SUBMITTERS];
	unsigned int count = fgio_uring_submitters_of(ring, threads);

	CHECK(count <= FGIO_URING_SUBMITTERS);
	while (count)
		fgio_task_at(threads[--count]);
	fgio_task_at(fgio_uring_poller_of(ring));
}

static void look_at_tasks(void)
{
	struct task_struct task = {
		.flags = below(2) * PF_IO_WORKER | below(2) * PF_WQ_WORKER,
		/* A worker keeps its struct. */
		.worker_private = (void *)object(),
		.comm = "iou-sqp-1",
	};

	umode_t mode;

	fake_current = &task;
	fgio_task_at(word());
	fgio_uring_ring_of(word());
	look_at_ring(word());
	fgio_uring_tag_of(&task);
	fgio_uring_owner_of(&task);
	fgio_uring_ring_of(fgio_uring_request_of(&task));
	fgio_kernel_word(word());
	fgio_file_mode((const struct file *)word(), &mode);
	fgio_file_system_of(word());
	fgio_is_stacked(word());
	fgio_work_of(&task);
}

static void look_at_loops(void)
{
	fgio_work_is_of_loop(word(), fgio_loop_of(word()));
	fgio_work_is_of_loop(word(), word());
	fgio_loop_note_awaited(word());
}

static void look_at_fuse(void)
{
	struct fgio_fuse_object object;

	fgio_fuse_read_request(word(), &object);
	fgio_fuse_read_mapping(word(), &object);
	fgio_fuse_read_inode(word(), &object);
	fgio_fuse_connection_of(word());
	fgio_fuse_is_blocked(word());
	fgio_fuse_writes(word());
}

static void look_at_all(void)
{
	int i;

	fill();
	for (i = 0; i < 50; i++) {
		look_at_stripe();
		look_at_live_bio();
		look_at_bios();
		look_at_tasks();
		look_at_fuse();
		look_at_loops();
	}
}

/* --- what is there is found ----------------------------------------------- */

/*
 * A write that waits for a stripe, of which the array made no clone. Like that
 * of dm-crypt, its bi_private leads to another bio, which is not the one on top.
 */
static void find_file_of_original(void)
{
	u64 vecs = (u64)memory + 8192, other = (u64)memory + 16384;
	struct bio_vec vec = {
		.bv_page = &fake_memmap[5],
		.bv_len = PAGE_SIZE,
	};
	struct fgio_io_target target;
	struct bio bio = {
		.bi_opf = REQ_OP_WRITE,
		.bi_iter = { .bi_sector = 8, .bi_size = PAGE_SIZE },
		.bi_private = (void *)other,
		.bi_vcnt = 1,
		.bi_io_vec = (void *)vecs,
	};
	struct bio on_top = { .bi_vcnt = 1, .bi_io_vec = (void *)word() };

	fake_memmap[5] = (struct page){ .other = { 0, (u64)memory, 7 } };
	put_all(vecs, &vec, sizeof(vec));
	put(other + FGIO_DM_CRYPT_IO_BASE, other + 512);
	put_all(other + 512, &on_top, sizeof(on_top));
	fgio_io_target_of_original(&target, (u64)memory + 4096, &bio);
	CHECK(target.mapping == (u64)memory && target.for_others);
	CHECK(target.first == 7 && target.last == 7);
}

/* Direct I/O of a loop device does the work of both bios of its request. */
static void find_originals_of_loop(void)
{
	u64 request = (u64)memory + 4096, io = (u64)memory + 8192;
	u64 first = (u64)memory + 16384, second = first + 1024;
	u64 command = request + sizeof(struct request);
	u64 iocb = command + FGIO_LOOP_COMMAND_IOCB;
	struct fgio_originals_look look = {
		.visit = count_visit,
		.data = &visits,
	};
	struct bio bio = {
		.bi_end_io = iomap_dio_bio_end_io,
		.bi_private = (void *)io,
	};
	struct bio original = { .bi_next = (void *)second };

	put_all(first, &original, sizeof(original));
	original.bi_next = NULL;
	put_all(second, &original, sizeof(original));
	put(request + offsetof(struct request, bio), first);
	put(io + FGIO_IOMAP_DIO_IOCB, iocb);
	/* A function of this name: see sprint_symbol_no_offset(). */
	put(iocb + offsetof(struct kiocb, ki_complete), 64);
	visits = 0;
	CHECK(fgio_originals_visit((u64)memory, &bio, &look) && visits == 2);
	put(iocb + offsetof(struct kiocb, ki_complete), 192);
	CHECK(!fgio_originals_visit((u64)memory, &bio, &look));
}

/* Direct I/O on a file of overlayfs completes to the context of its user. */
static void find_context_above_overlay(void)
{
	u64 at = (u64)memory + 4096, io = at + 1024, iocb = io + 1024;
	u64 user = iocb + 1024, contexts[FGIO_DIRECT_CONTEXTS];
	struct bio bio = {
		.bi_end_io = iomap_dio_bio_end_io,
		.bi_private = (void *)io,
	};

	put_all(at, &bio, sizeof(bio));
	put(io + FGIO_IOMAP_DIO_IOCB, iocb);
	put(iocb + offsetof(struct kiocb, ki_complete), 192);
	put(iocb + FGIO_BACKING_AIO_ORIGINAL, user);
	put(user + offsetof(struct kiocb, ki_complete), 8);
	put(user + FGIO_AIO_KIOCB_CONTEXT, io);
	fgio_direct_contexts_of((const struct bio *)at, contexts);
	CHECK(contexts[0] == io);
}

static void find_device_of_loop(void)
{
	u64 device = (u64)memory, disk = device + 1024, loop = device + 2048;
	u64 work = device + 4096;

	put(device + offsetof(struct block_device, bd_disk), disk);
	put(disk + offsetof(struct gendisk, private_data), loop);
	put_all(disk + ALIGN_DOWN(offsetof(struct gendisk, disk_name), 8),
		"\0\0\0\0loop7\0\0\0\0\0\0", 16);
	CHECK(fgio_loop_of(device) == loop && !fgio_is_stacked(device));
	CHECK(fgio_work_is_of_loop(loop + FGIO_LOOP_ROOT_WORK, loop));
	put(work - FGIO_LOOP_WORKER_WORK + FGIO_LOOP_WORKER_LOOP, loop);
	CHECK(fgio_work_is_of_loop(work, loop));
	put(work - FGIO_LOOP_WORKER_WORK + FGIO_LOOP_WORKER_LOOP, disk);
	CHECK(!fgio_work_is_of_loop(work, loop));
}

static void find_daemon_of_file(void)
{
	u64 mapping = (u64)memory, inode = mapping + 1024;
	u64 super = mapping + 2048, mount = mapping + 3072;
	u64 connection = mapping + 4096, request = mapping + 8192;
	struct fgio_fuse_object object;

	put(mapping + offsetof(struct address_space, host), inode);
	put(inode + offsetof(struct inode, i_sb), super);
	put(inode + FGIO_FUSE_INODE_NODE, 5);
	put(super + offsetof(struct super_block, s_magic), FUSE_SUPER_MAGIC);
	put(super + offsetof(struct super_block, s_fs_info), mount);
	put(mount + FGIO_FUSE_MOUNT_CONNECTION, connection);
	put(connection + FGIO_FUSE_CONNECTION_BLOCKED, 1);
	CHECK(fgio_fuse_read_mapping(mapping, &object));
	CHECK(object.connection == connection && object.node == 5);
	CHECK(!object.number && fgio_fuse_is_blocked(connection));
	put(request + FGIO_FUSE_REQUEST_MOUNT, mount);
	put(request + FGIO_FUSE_REQUEST_FLAGS, 1 << 7);
	put(request + FGIO_FUSE_REQUEST_HEADER + 8, 12);
	put(request + FGIO_FUSE_REQUEST_HEADER + 16, 6);
	CHECK(fgio_fuse_read_request(request, &object));
	CHECK(object.connection == connection && object.node == 6);
	CHECK(object.number == 12 && object.is_pending);
	/* Another file system keeps something else there. */
	put(super + offsetof(struct super_block, s_magic), 1);
	CHECK(!fgio_fuse_read_mapping(mapping, &object));
}

int main(int count, char **arguments)
{
	u64 first, rounds, round;

	CHECK(count == 3);
	first = strtoull(arguments[1], NULL, 0);
	rounds = strtoull(arguments[2], NULL, 0);
	/* The device is below the memory, as look_at_live_bio() wants it. */
	device = mmap((void *)DEVICE_ADDRESS, 16 * DEVICE_BYTES + MEMORY_BYTES,
		      PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(device != MAP_FAILED);
	memory = device + 16 * DEVICE_BYTES;
	fgio_loops_note_used(true);
	CHECK(!mprotect(memory, MEMORY_BYTES, PROT_READ | PROT_WRITE));
	ASAN_POISON_MEMORY_REGION(memory, MEMORY_BYTES);
	for (round = 0; round < rounds; round++) {
		seed = first + round;
		draws = 0;
		has_device = seed % 2;
		changes = below(2);
		look_at_all();
		changes = false;
		find_file_of_original();
		find_daemon_of_file();
		find_originals_of_loop();
		find_device_of_loop();
		find_context_above_overlay();
	}
	printf("%llu rounds from seed %llu\n", (unsigned long long)rounds,
	       (unsigned long long)first);
	return 0;
}
