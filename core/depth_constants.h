/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The constants of the learnt depth, for the files that depth.h includes, apart
 * from saturation.c, a controller of its own with a table of its own.
 *
 * Units: _NS is nanoseconds, _SECTORS 512 bytes. A _SHARE of n is one part in
 * n. A _STEP of n changes a value by one part in n of itself. All others are
 * counts, or state their unit.
 *
 * A test or a document in brackets says what was measured with the value;
 * tests are in tests/test_depth.c unless their file is named. A value without
 * one was chosen, not measured. Array sizes are with their structs
 * (FGIO_ARRIVAL_PAUSES, FGIO_ROTATION_STREAMS, FGIO_SAMPLES).
 */
#ifndef FGIO_CORE_DEPTH_CONSTANTS_H
#define FGIO_CORE_DEPTH_CONSTANTS_H

#include "chance.h"
#include "service_cost.h"
#include "types.h"

#define MICROSECOND 1000ULL
#define MILLISECOND 1000000ULL

/* ---- quiet looks: when base latencies are measured again (depth.c) ---- */

/* Time between two looks at first, and after anything that casts doubt. */
#define WINDOW_FIRST_NS (250 * MILLISECOND)
/* It doubles up to this [throughput lost: 1 to 5 %, 6 to 12 % without]. */
#define WINDOW_MOST_NS (2000 * MILLISECOND)
/* A look holds background I/O back for at most this long. */
#define QUIET_WAIT_NS (8 * MILLISECOND)
/* Time between two dispatch attempts in a look; below REST_NEAR_NS. */
#define QUIET_RETRY_NS (MILLISECOND / 4)

/* ---- base latency (base_latency.c) ---- */

/* I/Os in a quiet drive that end a look. */
#define BASE_FRESH 4
/* Step of the median once BASE_CERTAIN I/Os are known; until then it is exact. */
#define BASE_STEP 32
/* Longer ones count as this long: what 32 bits hold. */
#define BASE_MOST_NS 0xffffffffULL
/*
 * I/Os over which the mean deviation is taken; the first one assumes a share.
 */
#define BASE_DEVIATION_SPAN 16
#define BASE_DEVIATION_SHARE 8
/* One I/O counts as off by at most this many medians. */
#define BASE_OFF_MOST 4ULL
/* Slack: at least this share of the median [tests/test_base_latency.c]. */
#define BASE_SLACK_LEAST_SHARE 8
/* Slack in mean deviations [test_late_by_chance_is_no_limit]. */
#define BASE_SLACK_DEVIATIONS 3ULL
/* Slack: at most this many medians. */
#define BASE_SLACK_MOST 2ULL

/* ---- chance: whether late I/Os in a row are tails (chance.c) ---- */

/* I/Os over which the share of late ones is taken. */
#define CHANCE_SPAN 256
/* I/Os on time that are assumed before the first; one after all may be late. */
#define CHANCE_FIRST 16
/* I/Os beside others over which the share of late ones is taken. */
#define CHANCE_BESIDE 1024
/* The least such share rises by this step. */
#define CHANCE_RISE_STEP 16
/* A row of this length is never chance. */
#define CHANCE_ROW_MOST 8
/* Rows rarer than 1 in 100 drain the drive [docs/depth.md, "by chance"]. */
#define CHANCE_SEEN (FGIO_CHANCE_ALL / 100)
/* Rows rarer than 1 in 16,384 show the limit [the same]. */
#define CHANCE_CERTAIN (FGIO_CHANCE_ALL / 16384)

/* ---- the bucket: what a request adds (depth.c, service_cost.c) ---- */

/* Cost of any request beside its length: 32 KiB. */
#define OVERHEAD_SECTORS 64
/* Length beyond which a request costs no more: 4 MiB. */
#define LONGEST_SECTORS 8192
/* First service cost: this time for a request of 4 KiB. */
#define FIRST_NS (2 * MILLISECOND)
#define FIRST_SECTORS (OVERHEAD_SECTORS + 8)
/* Dispatch or completions seen this late cost no throughput. */
#define CREDIT_NS (50 * MICROSECOND)
/* The bucket holds at most this. */
#define BUCKET_MOST_NS (100 * MILLISECOND)
/* Bounds of the service cost of one sector, in ns << FGIO_COST_SHIFT. */
#define COST_LEAST 1024ULL
#define COST_MOST (250 * MICROSECOND << FGIO_COST_SHIFT)

/* ---- intervals: how often the service cost changes (depth_learn.c) ---- */

/* Least length, plus this many requests (each counted up to the next). */
#define INTERVAL_NS (16 * MILLISECOND)
#define INTERVAL_REQUESTS 8
#define REQUEST_MOST_NS (10 * MILLISECOND)
/* Least completions. */
#define INTERVAL_SAMPLES 4
/* In the race, it is this share of that [tests/test_batch.c]. */
#define RACE_INTERVAL_SHARE 2
/* Idle for more than this share: the interval says nothing of the limit. */
#define IDLE_SHARE 4
/* Given work for this share: pressed [test_bursts_do_not_lower_the_cost]. */
#define PRESSED_SHARE 2

/* ---- the limit is met (depth_learn.c) ---- */

/* Unknown work that shows the limit, of an interval: at first and later. */
#define FOUND_SHARE_FIRST 8
#define FOUND_SHARE 64
/* Where FOUND_SHARE is more than the work of this many requests, they do. */
#define FOUND_REQUESTS 4
/* Until the limit was met: in-flight limit at most. */
#define RACE_IN_FLIGHT_MOST 1024
/* Then the drive rests for this many times the wait, within these bounds. */
#define REST_FACTOR 4
#define REST_LEAST_NS (1 * MILLISECOND)
#define REST_MOST_NS (8 * MILLISECOND)
/* A disk rests for the work of this many requests: its cache drains. */
#define DISK_RESTS 32
/* A retry this near spares the completion path a run of the queue. */
#define REST_NEAR_NS (MILLISECOND / 2)
/* Work that caches and credits may hide ["A cache is not a faster drive"]. */
#define HIDDEN_NS (100 * MILLISECOND)
#define HIDDEN_REQUESTS 32

/* ---- raising and lowering the service cost (service_cost.c) ---- */

/* The cost stays this share above that of the limit. */
#define COST_MARGIN_SHARE 32
/* It is below the limit's when it is this share lower. */
#define COST_BELOW_SHARE 64
/* Work was at most this many times more than expected. */
#define COST_FOUND_MOST 3
/* After each limit of a disk, this share of what it did before is forgotten. */
#define DISK_FORGETS_SHARE 4
/* Pressed intervals from the limit to the first step down. */
#define TRY_AFTER 8
/* To larger steps, since the drive seems to have become faster. */
#define PRESS_AFTER 32
/* To the largest steps; not on disks. */
#define RACE_AFTER 48
/* To the first step down after a limit that was met once. */
#define UNSURE_AFTER 2
/* More for each limit in a row at the same cost: the look costs a request. */
#define CONFIRMED_AFTER 8
/* The same on a disk, where it costs most: a look every 2 to 3 s. */
#define CONFIRMED_AFTER_DISK 40
/* Such limits counted. */
#define CONFIRMED_MOST 2
/* The limit is at the same cost where that differs by less than this share. */
#define CONFIRMED_SHARE 8
/* It moved where it differs by this share. */
#define MOVED_SHARE 4
/* The cost counts as near the limit's within this share. */
#define COST_NEAR_SHARE 32
/* Steps down: near the limit, */
#define COST_NEAR_STEP 128
/* after PRESS_AFTER, */
#define COST_PRESS_STEP 64
/* after RACE_AFTER, */
#define COST_RACE_STEP 16
/*
 * and while the limit is unsure: near it, and beyond it [larger ones pass a limit
 * that credits hide for an interval or two: docs/depth.md].
 */
#define COST_UNSURE_NEAR_STEP 32
#define COST_UNSURE_STEP 8
/* The cost is spent when this share of an interval or less was left of it, */
#define SPENT_SHARE 8
/* in this many intervals in a row. */
#define SPENT_LEAST 4

/* ---- harm: critical I/O takes longer (depth_learn.c) ---- */

/* Unit of harm: a base latency more. */
#define HARM_ONE 4096

/* A tenth longer, as a mean over HARM_SPAN I/Os: cuts the tolerance. */
#define HARM 416
#define HARM_SPAN 16
/* I/Os in a quiet drive over which the same is averaged: what is no harm. */
#define HARM_ALONE_SPAN 128
/* I/Os without harm that are assumed before the first one. */
#define HARM_ALONE_FIRST 32
/* A fifth longer: the limit was met. */
#define HARM_CERTAIN (2 * HARM)
/* Two fifths longer: the race is lost where nothing is held back any more. */
#define HARM_LOST (2 * HARM_CERTAIN)
/* One I/O counts as at most this much, less if it may be a tail. */
#define HARM_MOST 768
#define HARM_MOST_TAIL 256
/* Tails are known from this share of late I/Os in a quiet drive. */
#define HARM_TAILS (FGIO_CHANCE_ALL / 64)
/* Within the known limit: this many times the usual harm shows it. */
#define HARM_UNUSUAL 4
/* Steps of the usual harm up and down, per interval. */
#define USUAL_RISE_STEP 16
#define USUAL_FALL_STEP 256
/* Unknown work per harm; four times the harm, since that decays. */
#define FOUND_OF_HARM (4 * HARM_ONE)
/* Such work is at most this share of an interval. */
#define FOUND_OF_HARM_SHARE 8

/* ---- tolerance: background I/Os wait for each other (both files) ---- */

/* Bounds, in 1/TOLERANCE_ONE of a base latency. */
#define TOLERANCE_ONE 16
#define TOLERANCE_LEAST 2
#define TOLERANCE_MOST 256
/* Steps up (without harm) and down (with harm). */
#define TOLERANCE_STEP 4
/* The remembered maximum grows by this step each TOLERANCE_MOST_INTERVALS. */
#define TOLERANCE_MOST_STEP 8
#define TOLERANCE_MOST_INTERVALS 16
/* Waiting allowed in a recent window [tests/test_recent.c]. */
#define RECENT_WAIT_NS (1 * MILLISECOND)
/* Background I/Os over which the mean base latency of their mix is taken. */
#define MIX_SPAN 16
/* I/Os that keep the drive busy beside those that wait. */
#define BUSY_OTHERS 2

/* ---- minimum service: one I/O per interval, whatever was learnt ---- */

/* Its share of a disk [test_minimum_service_leaves_an_arm_to_commits]. */
#define MIN_SERVICE_SHARE 10
/* The interval is stretched at most this many times for that. */
#define MIN_SERVICE_MOST 10

/* ---- arrival prediction (arrival.c) ---- */

/* Pauses are alike when they differ by less than this share. */
#define ARRIVAL_ALIKE_SHARE 8
/* An I/O is late for the prediction beyond this share, or the slack. */
#define ARRIVAL_SLACK_SHARE 2
/* A pause is long, or short, beside work that differs by this factor. */
#define ARRIVAL_WORTH_FACTOR 8
/* No prediction over longer pauses. */
#define ARRIVAL_LONGEST_NS (100 * MILLISECOND)
/* An arrival is overdue this long, and this share of the pause, after it. */
#define ARRIVAL_LATE_NS (20 * MICROSECOND)
#define ARRIVAL_LATE_SHARE 64
/* The margin decays over 1,000 critical I/Os: 1 in 100 of them may wait. */
#define ARRIVAL_MARGIN_STEP 1024
/* Its bounds, as shares of the pause. */
#define ARRIVAL_MARGIN_MOST_SHARE 16
#define ARRIVAL_MARGIN_LEAST_SHARE 64

/* ---- rotation probe (rotation.c) [tests/test_rotation.c] ---- */

/* A read is far beyond what a disk reads ahead, or has in a few tracks. */
#define ROTATION_FAR_SECTORS (16ULL << 11)
/* Reads quicker than a seek and part of a turn, plus 125 MB/s for the data. */
#define ROTATION_QUICK_NS (3 * MILLISECOND)
#define ROTATION_NS_PER_BYTE 8
/* No arm reaches 1,000 places a second, whatever the queue's depth. */
#define ROTATION_MOVE_NS (1 * MILLISECOND)
/* Doubts at which a declared disk counts as not rotating, and their bound. */
#define ROTATION_DOUBTS_ENOUGH 8
#define ROTATION_DOUBTS_MOST 16
/* Doubts that an interval adds at most: a disk's cache may be as quick. */
#define ROTATION_DOUBTS_AT_ONCE 4
/* Doubts that an interval with slow reads removes. */
#define ROTATION_DOUBTS_GONE 3

/* ---- several arms (arms.c) [tests/test_arms.c] ---- */

/* Reads of either sort that a verdict takes, and the most in a mean. */
#define ARMS_LEAST 16
#define ARMS_SPAN 64
/* One counts as at most this many base latencies. */
#define ARMS_TIMES_MOST 4ULL
/*
 * One arm makes them take half as long again or more, of n arms one in n does:
 * this share longer is between two arms and four.
 */
#define ARMS_SHARE 4

/* ---- flushes (flush.c) [test_flushes_find_an_empty_cache] ---- */

/* After a flush, the next one is expected for this long. */
#define FLUSH_MEMORY_NS (2000 * MILLISECOND)
/* Flushes over which the usual time is taken, and its bound. */
#define FLUSH_USUAL_SPAN 8
#define FLUSH_USUAL_MOST_NS (100 * MILLISECOND)
/* A flush is late beyond this many times its base latency. */
#define FLUSH_LATE_FACTOR 2

/* ---- the longest request (depth_learn.c) [tests/test_split.c] ---- */

/* Time of the drive that a piece takes, unless the least length takes longer. */
#define SPLIT_TAKES_NS (1250 * MICROSECOND)
/* Demand through which the cost has to allow longer pieces... */
#define SPLIT_LONGER_NS (2000 * MILLISECOND)
/* ...and by how much that time may be exceeded, by these and by those in use. */
#define SPLIT_LONGER_SHARE 8
#define SPLIT_KEPT_SHARE 4
/* A foreground that saturates the drive for longer has nothing split. */
#define SPLIT_SATURATED_NS (4000 * MILLISECOND)

#endif /* FGIO_CORE_DEPTH_CONSTANTS_H */
