// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A sharded database under one policy, as a line of JSON: what lab/run fleet
 * runs. fleet --help has the options.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model_fleet.h"
#include "model_host.h"

struct policy {
	const char *name;
	enum fleet_policy policy;
	enum fgio_request_policy order;
};

static const struct policy policies[] = {
	{ "none", FLEET_NONE, FGIO_BY_NONE },
	{ "mq-deadline", FLEET_DEADLINE, FGIO_BY_NONE },
	{ "fgio-unordered", FLEET_UNORDERED, FGIO_BY_NONE },
	{ "fgio-arrival", FLEET_ORDERED, FGIO_BY_ARRIVAL },
	{ "fgio-batch", FLEET_ORDERED, FGIO_BY_BATCH },
	{ "fgio-fifo-lm", FLEET_ORDERED, FGIO_BY_LIMITED },
	{ "fgio-slack", FLEET_ORDERED, FGIO_BY_SLACK },
	{ "fgio-bottleneck", FLEET_ORDERED, FGIO_BY_BOTTLENECK },
	{ "oracle-slack", FLEET_ORACLE_SLACK, FGIO_BY_ARRIVAL },
	{ "oracle-work", FLEET_ORACLE_WORK, FGIO_BY_ARRIVAL },
	{ "oracle-arrival", FLEET_ORACLE_ARRIVAL, FGIO_BY_ARRIVAL },
};

struct number_option {
	const char *name;
	const char *meaning;
	double value, least, most;
	bool drawn; /* of requests that are drawn at random, not recorded ones */
	bool given;
};

enum {
	DRIVES,
	FANOUT,
	PROXIES,
	RECORDS,
	WIDTH,
	HUGE_PPM,
	LOAD,
	CLIENTS,
	WINDOW,
	SKEW_MS,
	EXCHANGE,
	BACKGROUND,
	SLOW,
	SLOW_FACTOR,
	DEAD,
	HEDGE_MS,
	WITHOUT_IDS,
	LIARS,
	WARM_UP,
	SECONDS,
	SEED,
	NUMBERS,
};

static struct number_option numbers[] = {
	[DRIVES] = { "drives", "shards", 4, 1, 100000, .drawn = true },
	[FANOUT] = { "fanout", "parts of a request", 4, 1, 100000,
		     .drawn = true },
	[PROXIES] = { "proxies", "that requests arrive at", 1, 1, 4096,
		      .drawn = true },
	[RECORDS] = { "records", "that a request reads at most", 100, 1, 100000,
		      .drawn = true },
	[WIDTH] = { "width", "reads of a part at a time", 1, 1, 1000,
		    .drawn = true },
	[HUGE_PPM] = { "huge-ppm", "requests that read 20 times as many", 0, 0,
		       1000000, .drawn = true },
	[LOAD] = { "load", "share of the drives' random reads per s", 0.7, 0.001,
		   10, .drawn = true },
	[CLIENTS] = { "clients", "recorded requests at a time, 0: all", 0, 0,
		      1000000 },
	[WINDOW] = { "window", "critical I/Os in a drive of fgio, 0: learnt with ids",
		     0, 0, 65535 },
	[SKEW_MS] = { "skew-ms", "between the clocks of the first and last proxy", 0,
		      0, 1e6, .drawn = true },
	[EXCHANGE] = { "exchange", "1: answers bring ids back to proxies", 0, 0, 1,
		       .drawn = true },
	[BACKGROUND] = { "background", "1: checkpoints and scans", 0, 0, 1,
			 .drawn = true },
	[SLOW] = { "slow", "shards with a slow drive", 0, 0, 100000 },
	[SLOW_FACTOR] = { "slow-factor", "how slow", 2, 1, 1000 },
	[DEAD] = { "dead", "shards that fail for a third of the time", 0, 0, 100000,
		   .drawn = true },
	[HEDGE_MS] = { "hedge-ms", "until a part runs on a replica, too; 0: never", 0,
		       0, 1e6, .drawn = true },
	[WITHOUT_IDS] = { "without-ids", "shards that get none", 0, 0, 100000 },
	[LIARS] = { "liars-ppm", "requests that claim to be ten seconds older", 0, 0,
		    1000000, .drawn = true },
	[WARM_UP] = { "warm-up", "seconds before measuring", 2, 0, 1000 },
	[SECONDS] = { "seconds", "measured", 10, 0.01, 100000 },
	[SEED] = { "seed", "of all that is random", 1, 0, 1e15 },
};

/* Of a recording, by the option --replay. */
static struct fleet_load recorded;

static const struct policy *find_policy(const char *name)
{
	for (u32 i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i].name, name))
			return &policies[i];
	fprintf(stderr, "fleet: no policy %s\n", name);
	exit(2);
}

static void print_usage(FILE *to)
{
	fprintf(to, "fleet [--OPTION=NUMBER...] POLICY DRIVE\n\n");
	for (u32 i = 0; i < NUMBERS; i++)
		fprintf(to, "  --%-12s %s (%g)\n", numbers[i].name,
			numbers[i].meaning, numbers[i].value);
	fprintf(to, "  --replay=FILE  requests that lab/run sharded recorded, not random ones\n");
	fprintf(to, "\npolicies:");
	for (u32 i = 0; i < ARRAY_SIZE(policies); i++)
		fprintf(to, " %s", policies[i].name);
	fprintf(to, "\nDRIVE: volume, ssd, hdd, nvme, or another of lab/run --device help\n");
}

static void set_number(struct number_option *option, const char *text)
{
	char *end;

	option->value = strtod(text, &end);
	if (end == text || *end || !(option->value >= option->least) ||
	    option->value > option->most) {
		fprintf(stderr, "fleet: --%s %s: give a number from %g to %g\n",
			option->name, text, option->least, option->most);
		exit(2);
	}
	option->given = true;
}

static void read_recording(const char *path)
{
	const char *wrong = fleet_load_read(&recorded, path);

	if (!wrong)
		return;
	fprintf(stderr, "fleet: --replay %s: %s\n", path, wrong);
	exit(2);
}

/* Options that are of the other kind of requests do nothing: that is said. */
static void check_kind(void)
{
	for (int i = 0; recorded.count && i < NUMBERS; i++) {
		if (!numbers[i].drawn || !numbers[i].given)
			continue;
		fprintf(stderr, "fleet: --%s is of random requests: leave it out with --replay\n",
			numbers[i].name);
		exit(2);
	}
	if (numbers[CLIENTS].given && !recorded.count) {
		fprintf(stderr, "fleet: --clients is of recorded requests: give --replay\n");
		exit(2);
	}
	if (recorded.count)
		numbers[DRIVES].value = numbers[FANOUT].value = recorded.shards;
	if (numbers[FANOUT].value > numbers[DRIVES].value) {
		fprintf(stderr, "fleet: --fanout is more than --drives\n");
		exit(2);
	}
}

static void read_options(int argc, char **argv)
{
	struct option names[NUMBERS + 3] = {
		[NUMBERS] = { "help", no_argument, NULL, NUMBERS },
		[NUMBERS + 1] = { "replay", required_argument, NULL,
				  NUMBERS + 1 },
	};
	int option;

	for (int i = 0; i < NUMBERS; i++)
		names[i] = (struct option){ numbers[i].name, required_argument,
					    NULL, i };
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option >= 0 && option < NUMBERS) {
			set_number(&numbers[option], optarg);
			continue;
		}
		if (option == NUMBERS + 1) {
			fleet_load_free(&recorded);
			read_recording(optarg);
			continue;
		}
		print_usage(option == NUMBERS ? stdout : stderr);
		exit(option == NUMBERS ? 0 : 2);
	}
	if (optind != argc - 2) {
		print_usage(stderr);
		exit(2);
	}
	check_kind();
}

/* Seven digits: enough for latencies, and whole numbers stay whole. */
static void print_figure(const char *name, double value)
{
	if (value == floor(value))
		printf(", \"%s\": %.0f", name, value);
	else
		printf(", \"%s\": %.7g", name, value);
}

static u32 whole(int option)
{
	return (u32)numbers[option].value;
}

int main(int argc, char **argv)
{
	struct simdisk_parameters drive;
	struct fleet_figures figures;
	const struct policy *policy;
	struct fleet fleet;
	double reads_per_s;

	read_options(argc, argv);
	policy = find_policy(argv[optind]);
	drive = host_parsed(argv[optind + 1]);
	reads_per_s = fleet_reads_per_s(&drive, whole(SEED));
	fleet = (struct fleet){
		.drive = &drive,
		.seed = (u64)numbers[SEED].value,
		.policy = policy->policy,
		.order = policy->order,
		.window = whole(WINDOW),
		.drives = whole(DRIVES),
		.fanout = whole(FANOUT),
		.proxies = whole(PROXIES),
		.records = whole(RECORDS),
		.width = whole(WIDTH),
		.huge_ppm = whole(HUGE_PPM),
		.per_s = numbers[LOAD].value * numbers[DRIVES].value *
			 reads_per_s /
			 fleet_mean_reads(whole(FANOUT), whole(RECORDS),
					  numbers[HUGE_PPM].value / 1e6),
		.skew_ms = numbers[SKEW_MS].value,
		.exchange = whole(EXCHANGE),
		.background = whole(BACKGROUND),
		.slow = whole(SLOW),
		.slow_factor = numbers[SLOW_FACTOR].value,
		.dead = whole(DEAD),
		.hedge_ms = numbers[HEDGE_MS].value,
		.without_ids = whole(WITHOUT_IDS),
		.liars_ppm = whole(LIARS),
		.load = recorded.count ? &recorded : NULL,
		.clients = whole(CLIENTS),
		.begin_ns = (u64)((1 + numbers[WARM_UP].value) * 1e9),
		.end_ns = (u64)((1 + numbers[WARM_UP].value +
				 numbers[SECONDS].value) *
				1e9),
	};
	fleet_run(&fleet, &figures);
	printf("{\"config\": \"%s\", \"device\": \"%s\"", policy->name,
	       argv[optind + 1]);
	print_figure("seed", numbers[SEED].value);
	print_figure("n", figures.n);
	print_figure("throughput", figures.per_s);
	print_figure("mean_ms", figures.mean_ms);
	print_figure("p50_ms", figures.p50_ms);
	print_figure("p99_ms", figures.p99_ms);
	print_figure("p999_ms", figures.p999_ms);
	print_figure("gap_p50_ms", figures.gap_p50_ms);
	print_figure("gap_p99_ms", figures.gap_p99_ms);
	print_figure("liars_mean_ms", figures.liars_mean_ms);
	print_figure("liars_p99_ms", figures.liars_p99_ms);
	print_figure("background_mb_s", figures.background_mb_s);
	print_figure("reads_per_s", reads_per_s);
	print_figure("ios", (double)figures.ios);
	print_figure("aged", (double)figures.aged);
	print_figure("forgotten", (double)figures.forgotten);
	print_figure("outstanding", figures.outstanding);
	print_figure("bound", figures.bound);
	printf("}\n");
	fleet_load_free(&recorded);
	return 0;
}
