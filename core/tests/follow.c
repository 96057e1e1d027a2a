// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How soon the learnt depth follows, on each drive of the family or those
 * given: follow [--seed N] [--seeds N] [DRIVE...]. docs/results/follow has what
 * came out.
 */
#include <getopt.h>
#include <string.h>

#include "check.h"
#include "model_follow.h"

#define DRIVES_MAX 256

/* Not in the family by name. */
static const char *const more_drives[] = {
	"volume", "volume:sigma=0.3", "volume:sigma=0.7",
	"volume:tail_share=1%,tail_factor=10", "ssd", "nvme", "hdd",
};

static u64 integer(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	if (end == text || *end) {
		fprintf(stderr, "follow: %s: must be a whole number\n", text);
		exit(2);
	}
	return value;
}

static void parse(struct simdisk_parameters *parameters, const char *spec)
{
	char error[SIMDISK_TEXT_BYTES];

	if (simdisk_parse(parameters, spec, error, sizeof(error)))
		return;
	fprintf(stderr, "follow: %s: %s\n", spec, error);
	exit(2);
}

static void report(const char *drive, u64 seed, u32 seeds, u32 *held)
{
	struct simdisk_parameters parameters;

	parse(&parameters, drive);
	for (u32 event = 0; event < FOLLOW_EVENTS; event++) {
		struct follow_figures figures =
			follow_median(&parameters, event, seed, seeds);
		bool holds = follow_holds(&figures);

		held[event] += holds;
		printf("%-36s %-7s share %.2f (%.2f) mean %.2f (%.2f) => %s\n",
		       drive, follow_event_name(event), figures.share,
		       figures.always_share, figures.mean, figures.always_mean,
		       holds ? "holds" : "FAILS");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	const char *drives[DRIVES_MAX];
	u32 count = 0, held[FOLLOW_EVENTS] = { 0 }, seeds = 11;
	bool given = false;
	u64 seed = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 's') {
			seed = integer(optarg);
			given = true;
		} else if (option == 'n') {
			seeds = (u32)integer(optarg);
		} else {
			return 2;
		}
	}
	for (; optind < argc && count < DRIVES_MAX; optind++)
		drives[count++] = argv[optind];
	if (!count) {
		for (u32 i = 0; i < ARRAY_SIZE(more_drives); i++)
			drives[count++] = more_drives[i];
		for (u32 i = 0; simdisk_preset(i); i++)
			drives[count++] = simdisk_preset(i)->name;
	}
	if (given)
		printf("    follow: SEED=%llu\n", (unsigned long long)seed);
	else
		seed = fresh_seed("follow");
	for (u32 i = 0; i < count; i++)
		report(drives[i], seed, seeds, held);
	for (u32 event = 0; event < FOLLOW_EVENTS; event++)
		printf("%s: holds on %u of %u drives\n",
		       follow_event_name(event), held[event], count);
	return 0;
}
