// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The table of cells: each drive of the family with each foreground and
 * background, under the learnt depth, fixed limits and none. Prints for each
 * policy in how many cells it is good. docs/results/cells has the criteria.
 */
#include <getopt.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "model_cells.h"

#define SECOND 1000000000.0
#define DRIVES_MAX 256
#define STREAMS_MAX 16
#define JOBS_MAX 256

/* Not in the family by name: by how uneven a volume is. */
static const char *const more_drives[] = {
	"volume", "volume:sigma=0.3", "volume:sigma=0.7",
	"volume:tail_share=1%,tail_factor=10", "ssd", "nvme", "hdd",
};

struct options {
	const char *drives[DRIVES_MAX];
	struct simdisk_parameters parameters[DRIVES_MAX];
	u32 drive_count;
	u32 foregrounds[STREAMS_MAX];
	u32 foreground_count;
	u32 backgrounds[STREAMS_MAX];
	u32 background_count;
	struct cell_policies policies;
	u32 seeds;
	u64 seed;
	bool seed_given;
	u32 jobs;
	double seconds;
	double warm_up;
	bool failing_only;
};

/* Cells that share what their foreground has alone. */
struct group {
	struct cell cell; /* with the first background */
	u32 drive;
	struct cell_alone alone;
	struct cell_figures figures[STREAMS_MAX];
	bool done;
};

/* Shared by the processes that run the groups. */
struct work {
	u32 next;
	struct group groups[];
};

/* Of one policy in some of the cells. */
struct counts {
	u32 cells;
	u32 good;
	u32 dominated;
	u32 of_kind[CELL_KINDS];
	u32 kept[CELL_KINDS];
};

/* Learnt: by drive, foreground and background. All: by policy. */
struct tables {
	struct counts policy[CELL_POLICIES_MAX];
	struct counts drive[DRIVES_MAX];
	struct counts drive_foreground[DRIVES_MAX][STREAMS_MAX];
	struct counts foreground[STREAMS_MAX];
	struct counts background[STREAMS_MAX];
	struct counts foreground_background[STREAMS_MAX][STREAMS_MAX];
};

/* ---- options ---- */

static void print_streams(FILE *out, const char *title,
			  const char *name(u32), const char *text(u32))
{
	fprintf(out, "\n%s:\n", title);
	for (u32 i = 0; name(i); i++)
		fprintf(out, "  %-12s %s\n", name(i), text(i));
}

static void print_usage(FILE *out)
{
	fputs("usage: cells [OPTION...] [DRIVE...]\n"
	      "\n"
	      "Runs a foreground and a background on simulated drives, under the learnt depth,\n"
	      "fixed limits and none, and counts the cells in which a policy is good: it lets\n"
	      "through what it must, the foreground has what it had alone as far as any policy\n"
	      "can give that, and no other policy is better.\n"
	      "\n"
	      "A DRIVE is a model, a drive of the family or any spec, as in\n"
	      "volume:iops=16000,sigma=0.5. Default: all of them. A LIST has commas.\n"
	      "\n"
	      "  --foregrounds LIST   default: all\n"
	      "  --backgrounds LIST   default: all\n"
	      "  --limits LIST        fixed limits beside the learnt depth and none; default: 1,2,4,8,16\n"
	      "  --seeds N            seeds of each cell; default: 3\n"
	      "  --seed N             the first of them; also SEED=N; default: a fresh one, printed\n"
	      "  --seconds S          measured of each run; default: 3, and up to five times that\n"
	      "                       where the foreground makes few I/Os\n"
	      "  --warm-up S          before that; default: 1.5\n"
	      "  --jobs N             processes; default: one for each processor\n"
	      "  --failing            print only cells in which the learnt depth is not good\n"
	      "  --help\n", out);
	print_streams(out, "Foregrounds", cell_foreground,
		      cell_foreground_text);
	print_streams(out, "Backgrounds", cell_background,
		      cell_background_text);
	fputs("\nDrives:\n", out);
	for (u32 i = 0; i < ARRAY_SIZE(more_drives); i++)
		fprintf(out, "  %s\n", more_drives[i]);
	for (u32 i = 0; simdisk_preset(i); i++)
		fprintf(out, "  %-20s %s\n", simdisk_preset(i)->name,
			simdisk_preset(i)->what);
}

static void refuse(const char *what, const char *value)
{
	fprintf(stderr, "cells: %s: %s (see --help)\n", value, what);
	exit(2);
}

static double positive(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0) || isinf(value))
		refuse("give a number above 0", text);
	return value;
}

static u64 integer(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	if (end == text || *end)
		refuse("must be a whole number", text);
	return value;
}

static u32 within(const char *text, u32 most)
{
	u64 value = integer(text);

	if (!value || value > most)
		refuse("is out of range", text);
	return (u32)value;
}

static u32 choose(u32 chosen[STREAMS_MAX], const char *name(u32),
		  const char *list)
{
	char *copy = strdup(list), *rest = copy, *token;
	u32 count = 0;

	CHECK(copy);
	while ((token = strsep(&rest, ","))) {
		u32 i = 0;

		while (name(i) && strcmp(name(i), token))
			i++;
		if (!name(i))
			refuse("there is no such stream", token);
		if (count == STREAMS_MAX)
			refuse("too many", list);
		chosen[count++] = i;
	}
	free(copy);
	return count;
}

static u32 choose_all(u32 chosen[STREAMS_MAX], const char *name(u32))
{
	u32 count = 0;

	for (; name(count); count++) {
		CHECK(count < STREAMS_MAX);
		chosen[count] = count;
	}
	return count;
}

static void add_drive(struct options *options, const char *spec)
{
	char error[SIMDISK_TEXT_BYTES];
	u32 number = options->drive_count;

	if (number == DRIVES_MAX)
		refuse("too many drives", spec);
	if (!simdisk_parse(&options->parameters[number], spec, error,
			   sizeof(error)))
		refuse(error, spec);
	options->drives[number] = spec;
	options->drive_count++;
}

static void add_all_drives(struct options *options)
{
	for (u32 i = 0; i < ARRAY_SIZE(more_drives); i++)
		add_drive(options, more_drives[i]);
	for (u32 i = 0; simdisk_preset(i); i++)
		add_drive(options, simdisk_preset(i)->name);
}

static void set_option(struct options *options, int option, const char *value)
{
	switch (option) {
	case 'f':
		options->foreground_count = choose(options->foregrounds,
						   cell_foreground, value);
		break;
	case 'b':
		options->background_count = choose(options->backgrounds,
						   cell_background, value);
		break;
	case 'l':
		if (!cell_read_limits(&options->policies, value))
			refuse("is no list of limits", value);
		break;
	case 'n':
		options->seeds = within(value, 10000);
		break;
	case 's':
		options->seed = integer(value);
		options->seed_given = true;
		break;
	case 't':
		options->seconds = positive(value);
		break;
	case 'w':
		options->warm_up = positive(value);
		break;
	case 'j':
		options->jobs = within(value, JOBS_MAX);
		break;
	case 'x':
		options->failing_only = true;
		break;
	case 'h':
		print_usage(stdout);
		exit(0);
	default:
		print_usage(stderr);
		exit(2);
	}
}

static void read_options(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "foregrounds", required_argument, NULL, 'f' },
		{ "backgrounds", required_argument, NULL, 'b' },
		{ "limits", required_argument, NULL, 'l' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 't' },
		{ "warm-up", required_argument, NULL, 'w' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "failing", no_argument, NULL, 'x' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int option;

	options->seeds = 3;
	options->seconds = 3;
	options->warm_up = 1.5;
	options->jobs = processors > 0 && processors < JOBS_MAX ?
				(u32)processors : 1;
	cell_read_limits(&options->policies, "1,2,4,8,16");
	options->foreground_count = choose_all(options->foregrounds,
					       cell_foreground);
	options->background_count = choose_all(options->backgrounds,
					       cell_background);
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
		set_option(options, option, optarg);
	for (; optind < argc; optind++)
		add_drive(options, argv[optind]);
	if (!options->drive_count)
		add_all_drives(options);
	if (!options->seed_given)
		options->seed = fresh_seed("cells");
	else
		printf("    cells: SEED=%llu\n",
		       (unsigned long long)options->seed);
}

/* ---- running ---- */

static u32 group_count(const struct options *options)
{
	return options->drive_count * options->foreground_count *
	       options->seeds;
}

static struct work *plan(const struct options *options)
{
	size_t bytes = sizeof(struct work) +
		       group_count(options) * sizeof(struct group);
	struct work *work = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct group *group = work->groups;

	CHECK(work != MAP_FAILED);
	for (u32 drive = 0; drive < options->drive_count; drive++)
		for (u32 i = 0; i < options->foreground_count; i++)
			for (u32 seed = 0; seed < options->seeds; seed++)
				*group++ = (struct group){
					.drive = drive,
					.cell = {
						.drive = &options->parameters[drive],
						.foreground = options->foregrounds[i],
						.seed = options->seed + seed,
						.warm_ns = (u64)(options->warm_up * SECOND),
						.measured_ns = (u64)(options->seconds * SECOND),
					},
				};
	return work;
}

static void run_group(const struct options *options, struct group *group)
{
	group->alone = cell_run_alone(&group->cell);
	for (u32 i = 0; i < options->background_count; i++) {
		struct cell cell = group->cell;

		cell.background = options->backgrounds[i];
		group->figures[i] = cell_run(&cell, &options->policies,
					     &group->alone);
	}
	group->done = true;
}

static void run_groups(const struct options *options, struct work *work,
		       int told)
{
	u32 count = group_count(options), number;

	while ((number = __atomic_fetch_add(&work->next, 1, __ATOMIC_SEQ_CST)) <
	       count) {
		run_group(options, &work->groups[number]);
		CHECK(write(told, "", 1) == 1);
	}
}

static void fork_jobs(const struct options *options, struct work *work,
		      int told[2])
{
	CHECK(!pipe(told));
	fflush(stdout);
	for (u32 i = 0; i < options->jobs; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (child)
			continue;
		run_groups(options, work, told[1]);
		_exit(0);
	}
	close(told[1]);
}

/* ---- printing ---- */

static const char *policy_name(const struct options *options, u32 policy)
{
	static char name[16];

	if (!policy)
		return "learnt";
	if (policy == options->policies.count - 1)
		return "none";
	snprintf(name, sizeof(name), "%u", options->policies.limit[policy]);
	return name;
}

static void print_cell(const struct options *options, const struct group *group,
		       u32 background, struct cell_verdict verdict)
{
	const struct cell_figures *figures = &group->figures[background];
	u32 none = options->policies.count - 1;

	printf("%-20s %-8s %-10s seed %llu, read %.3f ms",
	       options->drives[group->drive],
	       cell_foreground(group->cell.foreground),
	       cell_background(options->backgrounds[background]),
	       (unsigned long long)group->cell.seed,
	       (double)group->alone.service_ns / 1e6);
	for (u32 i = 0; i < options->policies.count; i++)
		printf(" | %s %.0f%% %.2f %.2f", policy_name(options, i),
		       100 * figures->background_bytes_per_s[i] /
		       figures->background_bytes_per_s[none],
		       figures->mean[i], figures->p99[i]);
	printf(" | %.1f MB/s => %s %s",
	       figures->background_bytes_per_s[none] / 1e6,
	       cell_kind_name(verdict.kind), verdict.kept ? "ok" : "FAILS");
	if (verdict.dominated_by)
		printf(", DOMINATED by %s",
		       policy_name(options, verdict.dominated_by));
	putchar('\n');
}

static void count(struct counts *counts, struct cell_verdict verdict)
{
	counts->cells++;
	counts->good += cell_is_good(verdict);
	counts->dominated += !!verdict.dominated_by;
	counts->of_kind[verdict.kind]++;
	counts->kept[verdict.kind] += verdict.kept;
}

/* Position of a stream among those that were chosen. */
static u32 place_of(const u32 *chosen, u32 stream)
{
	u32 place = 0;

	while (chosen[place] != stream)
		place++;
	return place;
}

static void report_group(const struct options *options,
			 const struct group *group, struct tables *tables)
{
	u32 foreground = place_of(options->foregrounds,
				  group->cell.foreground);

	for (u32 i = 0; i < options->background_count; i++) {
		struct cell_verdict verdict = cell_judge(&group->figures[i],
							 &options->policies, 0);

		if (!options->failing_only || !cell_is_good(verdict))
			print_cell(options, group, i, verdict);
		count(&tables->drive[group->drive], verdict);
		count(&tables->drive_foreground[group->drive][foreground],
		      verdict);
		count(&tables->foreground[foreground], verdict);
		count(&tables->background[i], verdict);
		count(&tables->foreground_background[foreground][i], verdict);
		for (u32 j = 0; j < options->policies.count; j++)
			count(&tables->policy[j],
			      cell_judge(&group->figures[i],
					 &options->policies, j));
	}
	fflush(stdout);
}

/* In order, each as soon as those before it are there. */
static bool report(const struct options *options, const struct work *work,
		   int told, struct tables *tables)
{
	u32 next = 0;
	char byte;

	while (read(told, &byte, 1) == 1)
		for (; next < group_count(options) && work->groups[next].done;
		     next++)
			report_group(options, &work->groups[next], tables);
	while (wait(NULL) > 0)
		;
	return next == group_count(options);
}

static void print_share(u32 part, u32 all)
{
	char text[32];

	snprintf(text, sizeof(text), "%u/%u", part, all);
	printf(" %12s", text);
}

static void print_policies(const struct options *options,
			   const struct tables *tables)
{
	printf("\nCells in which a policy does what it must, and others do not dominate it:\n\n");
	printf("%-20s %12s %12s %12s %12s %12s\n", "policy", "good", "free",
	       "kept", "beyond", "dominated");
	for (u32 i = 0; i < options->policies.count; i++) {
		const struct counts *counts = &tables->policy[i];

		printf("%-20s", policy_name(options, i));
		print_share(counts->good, counts->cells);
		for (u32 kind = 0; kind < CELL_KINDS; kind++)
			print_share(counts->kept[kind], counts->of_kind[kind]);
		print_share(counts->dominated, counts->cells);
		putchar('\n');
	}
}

static void print_row(const char *name, const struct counts *columns,
		      u32 count, const struct counts *all)
{
	printf("%-20s", name);
	for (u32 i = 0; i < count; i++)
		print_share(columns[i].good, columns[i].cells);
	print_share(all->good, all->cells);
	putchar('\n');
}

static void print_heads(const char *first, const u32 *chosen, u32 count,
			const char *name(u32))
{
	printf("\n%-20s", first);
	for (u32 i = 0; i < count; i++)
		printf(" %12s", name(chosen[i]));
	printf(" %12s\n", "all");
}

static void print_tables(const struct options *options,
			 const struct tables *tables)
{
	print_policies(options, tables);
	printf("\nCells in which the learnt depth is good:\n");
	print_heads("drive", options->foregrounds, options->foreground_count,
		    cell_foreground);
	for (u32 i = 0; i < options->drive_count; i++)
		print_row(options->drives[i], tables->drive_foreground[i],
			  options->foreground_count, &tables->drive[i]);
	print_row("all", tables->foreground, options->foreground_count,
		  &tables->policy[0]);
	print_heads("foreground", options->backgrounds,
		    options->background_count, cell_background);
	for (u32 i = 0; i < options->foreground_count; i++)
		print_row(cell_foreground(options->foregrounds[i]),
			  tables->foreground_background[i],
			  options->background_count, &tables->foreground[i]);
	print_row("all", tables->background, options->background_count,
		  &tables->policy[0]);
}

int main(int argc, char **argv)
{
	static struct options options;
	static struct tables tables;
	struct work *work;
	int told[2];

	read_options(&options, argc, argv);
	work = plan(&options);
	fork_jobs(&options, work, told);
	if (!report(&options, work, told[0], &tables)) {
		fputs("cells: a process did not end well\n", stderr);
		return 1;
	}
	print_tables(&options, &tables);
	return 0;
}
