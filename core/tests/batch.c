// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How much later a checkpoint's batch is done because of the foreground's own
 * I/O, and how much because of the policy: batch [--seed N] [--seeds N] [--ios N]
 * [--bytes N] [--first] [DRIVE...]. docs/results/batch has what came out.
 */
#include <getopt.h>

#include "check.h"
#include "model_batch.h"

static const u32 rates[] = { 100, 200, 400, 600, 800, 1200, 1600, 2000 };

static u64 integer(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	if (end == text || *end) {
		fprintf(stderr, "batch: %s: must be a whole number\n", text);
		exit(2);
	}
	return value;
}

static void parse(struct simdisk_parameters *parameters, const char *spec)
{
	char error[SIMDISK_TEXT_BYTES];

	if (simdisk_parse(parameters, spec, error, sizeof(error)))
		return;
	fprintf(stderr, "batch: %s: %s\n", spec, error);
	exit(2);
}

/* Means over the seeds. */
static struct batch_figures mean_of(struct batch batch, u32 seeds)
{
	struct batch_figures mean = { .alone_ns = 0 };

	for (u32 i = 0; i < seeds; i++, batch.seed++) {
		struct batch_figures run = batch_run(&batch);

		mean.alone_ns += run.alone_ns / seeds;
		mean.ideal_ns += run.ideal_ns / seeds;
		mean.one_class_ns += run.one_class_ns / seeds;
		mean.learnt_ns += run.learnt_ns / seeds;
		mean.one_class_served += run.one_class_served;
		mean.learnt_served += run.learnt_served;
		mean.one_class_times += run.one_class_times / seeds;
		mean.learnt_times += run.learnt_times / seeds;
	}
	mean.one_class_served /= seeds;
	mean.learnt_served /= seeds;
	return mean;
}

static void report(const char *drive, struct batch batch, u32 seeds)
{
	for (u32 i = 0; i < ARRAY_SIZE(rates); i++) {
		struct batch_figures mean;

		batch.foreground_rate = rates[i];
		mean = mean_of(batch, seeds);
		printf("%-28s %4u/s alone %.3f s ideal %.3f one class %.3f learnt %.3f served %u %u times %.2f %.2f | ideal/one class %+.1f%% learnt/ideal %+.1f%%\n",
		       drive, rates[i], mean.alone_ns / 1e9,
		       mean.ideal_ns / 1e9, mean.one_class_ns / 1e9,
		       mean.learnt_ns / 1e9, mean.one_class_served,
		       mean.learnt_served, mean.one_class_times,
		       mean.learnt_times,
		       100 * (mean.ideal_ns / mean.one_class_ns - 1),
		       100 * (mean.learnt_ns / mean.ideal_ns - 1));
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "ios", required_argument, NULL, 'i' },
		{ "bytes", required_argument, NULL, 'b' },
		{ "first", no_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const usual[] = { "volume", "volume-sigma", "gp3" };
	struct batch batch = { .ios = 785, .bytes = 8192 };
	u32 seeds = 7;
	bool given = false;
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 's':
			batch.seed = integer(optarg);
			given = true;
			break;
		case 'n':
			seeds = (u32)integer(optarg);
			break;
		case 'i':
			batch.ios = (u32)integer(optarg);
			break;
		case 'b':
			batch.bytes = (u32)integer(optarg);
			break;
		case 'f':
			batch.first = true;
			break;
		default:
			return 2;
		}
	}
	if (given)
		printf("    batch: SEED=%llu\n",
		       (unsigned long long)batch.seed);
	else
		batch.seed = fresh_seed("batch");
	for (u32 i = 0; optind == argc && i < ARRAY_SIZE(usual); i++) {
		struct simdisk_parameters drive;

		parse(&drive, usual[i]);
		batch.drive = &drive;
		report(usual[i], batch, seeds);
	}
	for (; optind < argc; optind++) {
		struct simdisk_parameters drive;

		parse(&drive, argv[optind]);
		batch.drive = &drive;
		report(argv[optind], batch, seeds);
	}
	return 0;
}
