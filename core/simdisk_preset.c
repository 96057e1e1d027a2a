// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The family of drives by name. docs/drives.md has the same list with the
 * figures of each; tests/test_drives.c holds the models to those figures.
 *
 * A "spent" drive has its credits, log or cache nearly used up, so that seconds
 * show the end of it instead of hours.
 */
#include "simdisk_internal.h"

/* Spread and tail of a volume that is not even: the project's own choice. */
#define CHOSEN "chosen: no product, one property far from the usual"
#define EBS "AWS, Amazon EBS volume types"

/* Ends with an entry of no name. */
static const struct simdisk_preset presets[] = {
	{
		.name = "gp3",
		.spec = "volume:bytes_per_s=125Mi,sigma=0.2",
		.what = "cloud volume, 3,000 I/Os a second, 125 MiB/s",
		.source = EBS,
	},
	{
		.name = "gp3-16k",
		.spec = "volume:iops=16000,bytes_per_s=1000Mi,network_bytes_per_s=2500M,queue_depth=256,sigma=0.2",
		.what = "the same, provisioned with 16,000 and 1,000 MiB/s",
		.source = EBS,
	},
	{
		.name = "gp2",
		.spec = "volume:iops=300,burst_iops=3000,credits=5400000,bytes_per_s=128Mi,sigma=0.2",
		.what = "burstable volume of 100 GiB: 3,000 I/Os a second while credits last",
		.source = EBS,
	},
	{
		.name = "gp2-spent",
		.spec = "volume:iops=300,burst_iops=3000,credits=5400000,credits_left=0.001,bytes_per_s=128Mi,sigma=0.2",
		.what = "the same with 5,400 credits left, then 300 I/Os a second",
		.source = EBS,
	},
	{
		.name = "st1-spent",
		.spec = "volume:iops=500,io_size=1Mi,max_io=1Mi,bytes_per_s=20Mi,burst_bytes_per_s=125Mi,byte_credits=512Gi,credits_left=0.0005,latency=4ms,jitter_mean=2ms,jitter_max=20ms,sigma=0.3",
		.what = "burstable volume on hard disks, 512 GiB, 262 MiB of credits left",
		.source = EBS,
	},
	{
		.name = "snapshot",
		.spec = "volume:bytes_per_s=125Mi,sigma=0.2,cold_share=1,cold_block=512Ki,cold_latency=30ms,cold_bytes_per_s=100Mi",
		.what = "gp3 restored from a snapshot: the first I/O to each 512 KiB is slow",
		.source = "AWS, Initialize Amazon EBS volumes; latency chosen",
	},
	{
		.name = "quota",
		.spec = "volume:quota=100ms",
		.what = "volume whose caps are handed out every 100 ms",
		.source = "chosen: a limiter with slices",
	},
	{
		.name = "network",
		.spec = "volume:iops=10000,bytes_per_s=1250M,latency=4500us,jitter_mean=500us,jitter_max=5ms,queue_depth=256,sigma=0.2",
		.what = "network storage 5 ms away, 10,000 I/Os a second",
		.source = CHOSEN,
	},
	{
		.name = "volume-sigma",
		.spec = "volume:sigma=0.5",
		.what = "volume whose p99 is 3.2 times its median",
		.source = CHOSEN,
	},
	{
		.name = "volume-tail",
		.spec = "volume:tail_share=3%,tail_factor=10",
		.what = "volume of which 3 % of the I/Os take ten times as long",
		.source = CHOSEN,
	},
	{
		.name = "volume-swing",
		.spec = "volume:swing=0.5",
		.what = "volume whose caps change by up to half every 100 ms",
		.source = CHOSEN,
	},
	{
		.name = "hdd5400",
		.spec = "hdd:rotation=11111us,seek_settle=1500us,seek_stroke=16ms,outer_bytes_per_s=150M,inner_bytes_per_s=75M",
		.what = "hard disk of 5,400 rpm",
		.source = "arithmetic of rotation; seek and rate chosen",
	},
	{
		.name = "smr",
		.spec = "hdd:rotation=10169us,seek_settle=1500us,seek_stroke=16ms,outer_bytes_per_s=190M,inner_bytes_per_s=95M,smr_band=30Mi,smr_cache=20Gi,smr_idle=1s",
		.what = "shingled disk of 5,900 rpm with an empty log of 20 GiB",
		.source = "Seagate Archive HDD; Aghayev, FAST'15 and FAST'17",
	},
	{
		.name = "smr-spent",
		.spec = "hdd:rotation=10169us,seek_settle=1500us,seek_stroke=16ms,outer_bytes_per_s=190M,inner_bytes_per_s=95M,smr_band=30Mi,smr_cache=32Mi,smr_idle=1s",
		.what = "the same with 32 MiB left of its log",
		.source = "Seagate Archive HDD; Aghayev, FAST'15 and FAST'17",
	},
	{
		.name = "raid0-hdd",
		.spec = "hdd-raid:level=0,members=8",
		.what = "8 hard disks, striped",
		.source = "Patterson, Gibson and Katz, SIGMOD'88",
	},
	{
		.name = "raid5-hdd",
		.spec = "hdd-raid:level=5,members=8,cache_entries=0,volatile_cache=off",
		.what = "8 hard disks with rotating parity, no write cache",
		.source = "Patterson, Gibson and Katz, SIGMOD'88",
	},
	{
		.name = "raid10-hdd",
		.spec = "hdd-raid:level=10,members=8,cache_entries=0,volatile_cache=off",
		.what = "4 mirrored pairs of hard disks, striped, no write cache",
		.source = "Patterson, Gibson and Katz, SIGMOD'88",
	},
	{
		.name = "raid5-hdd-cached",
		.spec = "hdd-raid:level=5,members=8,cache_entries=0,volatile_cache=off,array_cache=1024",
		.what = "raid5-hdd behind a protected write cache of 448 MiB",
		.source = "Patterson, Gibson and Katz, SIGMOD'88; cache chosen",
	},
	{
		.name = "raid10-hdd-cached",
		.spec = "hdd-raid:level=10,members=8,cache_entries=0,volatile_cache=off,array_cache=1024",
		.what = "raid10-hdd behind a protected write cache of 256 MiB",
		.source = "Patterson, Gibson and Katz, SIGMOD'88; cache chosen",
	},
	{
		.name = "raid0-ssd",
		.spec = "ssd-raid:level=0,members=4",
		.what = "4 SATA SSDs, striped",
		.source = "Patterson, Gibson and Katz, SIGMOD'88",
	},
	{
		.name = "raid5-ssd",
		.spec = "ssd-raid:level=5,members=4",
		.what = "4 SATA SSDs with rotating parity",
		.source = "Patterson, Gibson and Katz, SIGMOD'88",
	},
	{
		.name = "raid10-ssd",
		.spec = "ssd-raid:level=10,members=4",
		.what = "2 mirrored pairs of SATA SSDs, striped",
		.source = "Patterson, Gibson and Katz, SIGMOD'88",
	},
	{
		.name = "ssd-tlc",
		.spec = "ssd:sense=49us,program=720us,random_amplification=2,write_overhead=17us",
		.what = "fresh SATA SSD",
		.source = "Samsung SSD 870 EVO data sheet",
	},
	{
		.name = "ssd-m5s",
		.spec = "ssd:dies=16,sense=127us,controller=25600ns,program=1350us,program_size=32Ki,random_amplification=2,link_bytes_per_s=500M",
		.what = "SATA SSD of 2012: 160 MB/s at random, 500 in order, 23 one by one",
		.source = "Valente, LWN 2018 (Plextor PX-256M5S); writes from memory",
	},
	{
		.name = "ssd-erase",
		.spec = "ssd:erase=5ms,erase_every=4Mi",
		.what = "SATA SSD that erases between programs, reads wait",
		.source = "Wu and He, FAST'12; times chosen",
	},
	{
		.name = "ssd-suspend",
		.spec = "ssd:erase=5ms,erase_every=4Mi,suspends=16,suspend=10us",
		.what = "the same with programs and erases that reads suspend",
		.source = "Wu and He, FAST'12; times chosen",
	},
	{
		.name = "ssd-gc",
		.spec = "ssd:gc=15ms,gc_every=16Mi,gc_dies=2",
		.what = "SATA SSD whose collection stops two dies in eight for 15 ms",
		.source = "Yan et al., FAST'17; times chosen",
	},
	{
		.name = "qlc",
		.spec = "ssd:program=3200us,slc=6Gi,slc_program=600us,slc_fold_bytes_per_s=160M",
		.what = "SATA SSD of QLC with an SLC cache of 6 GiB",
		.source = "Samsung SSD 870 QVO, data sheet and KitGuru's review",
	},
	{
		.name = "qlc-spent",
		.spec = "ssd:program=3200us,slc=64Mi,slc_program=600us",
		.what = "the same with 64 MiB left of its cache",
		.source = "Samsung SSD 870 QVO, data sheet and KitGuru's review",
	},
	{
		.name = "nvme-consumer",
		.spec = "nvme:dies=16,sense=45us,die_transfer=3us,read_overhead=9us,write_overhead=14us,link_bytes_per_s=3500M,program=2600us,slc=13Gi,slc_program=450us,slc_fold_bytes_per_s=400M,cache=64Mi,random_amplification=1,volatile_cache=on,fua=on,flush_metadata=420us",
		.what = "NVMe drive without power-loss protection: flushes cost",
		.source = "Samsung 970 EVO Plus 250 GB data sheet; Callaghan on fsync",
	},
	{
		.name = "nvme-consumer-spent",
		.spec = "nvme:dies=16,sense=45us,die_transfer=3us,read_overhead=9us,write_overhead=14us,link_bytes_per_s=3500M,program=2600us,slc=128Mi,slc_program=450us,cache=64Mi,random_amplification=1,volatile_cache=on,fua=on,flush_metadata=420us",
		.what = "the same with 128 MiB left of its SLC cache",
		.source = "Samsung 970 EVO Plus 250 GB data sheet; Callaghan on fsync",
	},
	{ .name = NULL },
};

const struct simdisk_preset *simdisk_preset(u32 number)
{
	u32 i;

	for (i = 0; i < number && presets[i].name; i++)
		;
	return presets[i].name ? &presets[i] : NULL;
}
