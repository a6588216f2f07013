/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM asap

#if !defined(_TRACE_ASAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_ASAP_H

#include <linux/kobject.h>
#include <linux/tracepoint.h>

struct asap_outcome;

TRACE_EVENT(asap_start,

	TP_PROTO(struct kobject *app, unsigned int nr),

	TP_ARGS(app, nr),

	TP_STRUCT__entry(
		__string(app, kobject_name(app))
		__field(unsigned int, nr)
	),

	TP_fast_assign(
		__assign_str(app);
		__entry->nr = nr;
	),

	TP_printk("app=%s planned=%u", __get_str(app), __entry->nr)
);

TRACE_EVENT(asap_end,

	TP_PROTO(struct kobject *app, u64 duration_ns, u32 fetched, u32 used,
		 u32 faulted),

	TP_ARGS(app, duration_ns, fetched, used, faulted),

	TP_STRUCT__entry(
		__string(app, kobject_name(app))
		__field(u64, duration_ns)
		__field(u32, fetched)
		__field(u32, used)
		__field(u32, faulted)
	),

	TP_fast_assign(
		__assign_str(app);
		__entry->duration_ns = duration_ns;
		__entry->fetched = fetched;
		__entry->used = used;
		__entry->faulted = faulted;
	),

	TP_printk("app=%s duration_ns=%llu fetched=%u used=%u faulted=%u",
		  __get_str(app), __entry->duration_ns, __entry->fetched,
		  __entry->used, __entry->faulted)
);

TRACE_EVENT(asap_fault,

	TP_PROTO(struct kobject *app, struct mm_struct *mm, unsigned long addr,
		 unsigned int nr),

	TP_ARGS(app, mm, addr, nr),

	TP_STRUCT__entry(
		__string(app, kobject_name(app))
		__field(struct mm_struct *, mm)
		__field(unsigned long, addr)
		__field(unsigned int, nr)
	),

	TP_fast_assign(
		__assign_str(app);
		__entry->mm = mm;
		__entry->addr = addr;
		__entry->nr = nr;
	),

	TP_printk("app=%s mm=%p addr=%#lx nr=%u", __get_str(app), __entry->mm,
		  __entry->addr, __entry->nr)
);

TRACE_EVENT(asap_prefetch,

	TP_PROTO(struct mm_struct *mm, unsigned long addr, unsigned int result),

	TP_ARGS(mm, addr, result),

	TP_STRUCT__entry(
		__field(struct mm_struct *, mm)
		__field(unsigned long, addr)
		__field(unsigned int, result)
	),

	TP_fast_assign(
		__entry->mm = mm;
		__entry->addr = addr;
		__entry->result = result;
	),

	TP_printk("mm=%p addr=%#lx result=%s", __entry->mm, __entry->addr,
		  __print_symbolic(__entry->result,
				   { 0, "mapped" },
				   { 1, "cached" }))
);

TRACE_EVENT(asap_learn,

	TP_PROTO(struct kobject *app, u32 promoted, u32 dropped, u32 candidates,
		 u32 targets),

	TP_ARGS(app, promoted, dropped, candidates, targets),

	TP_STRUCT__entry(
		__string(app, kobject_name(app))
		__field(u32, promoted)
		__field(u32, dropped)
		__field(u32, candidates)
		__field(u32, targets)
	),

	TP_fast_assign(
		__assign_str(app);
		__entry->promoted = promoted;
		__entry->dropped = dropped;
		__entry->candidates = candidates;
		__entry->targets = targets;
	),

	TP_printk("app=%s promoted=%u dropped=%u candidates=%u targets=%u",
		  __get_str(app), __entry->promoted, __entry->dropped,
		  __entry->candidates, __entry->targets)
);

#endif /* _TRACE_ASAP_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
