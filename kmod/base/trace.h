/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM fgio

#if !defined(FGIO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define FGIO_TRACE_H

#include <linux/blk-mq.h>
#include <linux/tracepoint.h>

#include "core/class.h"
#include "core/inherit.h"

#define fgio_disk_of(q) ((q)->disk ? disk_devt((q)->disk) : 0)
#define fgio_show_class(class)                          \
	__print_symbolic(class,                         \
			 { FGIO_NONCRITICAL, "noncritical" }, \
			 { FGIO_CRITICAL, "critical" })

/* A submitter slept for a slot. */
TRACE_EVENT(fgio_admission_wait,
	TP_PROTO(struct request_queue *q, unsigned int class, u64 waited_ns),
	TP_ARGS(q, class, waited_ns),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(unsigned int, class)
		__field(u64, waited_ns)
	),
	TP_fast_assign(
		__entry->dev = fgio_disk_of(q);
		__entry->class = class;
		__entry->waited_ns = waited_ns;
	),
	TP_printk("%d,%d %s waited_ns=%llu", MAJOR(__entry->dev),
		  MINOR(__entry->dev), fgio_show_class(__entry->class),
		  __entry->waited_ns)
);

/* A task that sleeps for a slot became critical. */
TRACE_EVENT(fgio_admission_promote,
	TP_PROTO(struct request_queue *q, pid_t tid),
	TP_ARGS(q, tid),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(pid_t, tid)
	),
	TP_fast_assign(
		__entry->dev = fgio_disk_of(q);
		__entry->tid = tid;
	),
	TP_printk("%d,%d tid=%d", MAJOR(__entry->dev), MINOR(__entry->dev),
		  __entry->tid)
);

DECLARE_EVENT_CLASS(fgio_request,
	TP_PROTO(struct request *rq, unsigned int class),
	TP_ARGS(rq, class),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(unsigned int, class)
		__field(sector_t, sector)
		__field(unsigned int, sectors)
	),
	TP_fast_assign(
		__entry->dev = fgio_disk_of(rq->q);
		__entry->class = class;
		__entry->sector = blk_rq_pos(rq);
		__entry->sectors = blk_rq_sectors(rq);
	),
	TP_printk("%d,%d %s %llu + %u", MAJOR(__entry->dev),
		  MINOR(__entry->dev), fgio_show_class(__entry->class),
		  (unsigned long long)__entry->sector, __entry->sectors)
);

/* A request joined the queue. */
DEFINE_EVENT(fgio_request, fgio_insert,
	TP_PROTO(struct request *rq, unsigned int class),
	TP_ARGS(rq, class));

/* A request goes to the device. */
DEFINE_EVENT(fgio_request, fgio_dispatch,
	TP_PROTO(struct request *rq, unsigned int class),
	TP_ARGS(rq, class));

/* A queued request became critical. */
DEFINE_EVENT(fgio_request, fgio_promote,
	TP_PROTO(struct request *rq, unsigned int class),
	TP_ARGS(rq, class));

/* A non-critical request goes first because the release interval passed. */
DEFINE_EVENT(fgio_request, fgio_starvation_release,
	TP_PROTO(struct request *rq, unsigned int class),
	TP_ARGS(rq, class));

/* A task was boosted, because a foreground task waits for it. */
TRACE_EVENT(fgio_boost,
	TP_PROTO(s32 tid, const char *name, u32 kind, u64 root, u32 steps),
	TP_ARGS(tid, name, kind, root, steps),
	TP_STRUCT__entry(
		__field(s32, tid)
		__array(char, name, TASK_COMM_LEN)
		__field(u32, kind)
		__field(u64, root)
		__field(u32, steps)
	),
	TP_fast_assign(
		__entry->tid = tid;
		strscpy(__entry->name, name, TASK_COMM_LEN);
		__entry->kind = kind;
		__entry->root = root;
		__entry->steps = steps;
	),
	TP_printk("%s/%d kind=%u root=%llx steps=%u", __entry->name,
		  __entry->tid, __entry->kind, __entry->root, __entry->steps)
);

/* A boost served no wait for part or all of this time, and ends. */
TRACE_EVENT(fgio_boost_in_vain,
	TP_PROTO(u32 kind, u64 elapsed_ns),
	TP_ARGS(kind, elapsed_ns),
	TP_STRUCT__entry(
		__field(u32, kind)
		__field(u64, elapsed_ns)
	),
	TP_fast_assign(
		__entry->kind = kind;
		__entry->elapsed_ns = elapsed_ns;
	),
	TP_printk("kind=%u elapsed_ns=%llu", __entry->kind,
		  __entry->elapsed_ns)
);

/* A foreground task waited longer than blame_threshold_us. */
TRACE_EVENT(fgio_blame,
	TP_PROTO(s32 tid, u32 kind, u64 waited_ns),
	TP_ARGS(tid, kind, waited_ns),
	TP_STRUCT__entry(
		__field(s32, tid)
		__field(u32, kind)
		__field(u64, waited_ns)
	),
	TP_fast_assign(
		__entry->tid = tid;
		__entry->kind = kind;
		__entry->waited_ns = waited_ns;
	),
	TP_printk("tid=%d kind=%u waited_ns=%llu", __entry->tid,
		  __entry->kind, __entry->waited_ns)
);

#endif /* FGIO_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH base
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
