// SPDX-License-Identifier: GPL-2.0
/*
 * Stretches a window for tests: a function of the kernel or of a module is delayed
 * at its beginning. It can also clear a variable there, as if the caller had
 * cleared it before the call, not after it.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

static char *function = "";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "its name");

static unsigned int ms = 20;
module_param(ms, uint, 0644);
MODULE_PARM_DESC(ms, "how much longer, in milliseconds (20)");

static char *clears = "";
module_param(clears, charp, 0444);
MODULE_PARM_DESC(clears, "a bool that is false from the function's beginning on");

static bool *cleared;

/*
 * By the clock: mdelay() counts loops where the kernel found no better way, and
 * an emulator runs them at another rate than when they were counted.
 *
 * Context: preemption off, perhaps locks held: it spins.
 */
static int delay(struct kprobe *probe, struct pt_regs *regs)
{
	u64 end = ktime_get_mono_fast_ns() +
		  READ_ONCE(ms) * (u64)NSEC_PER_MSEC;

	if (cleared)
		WRITE_ONCE(*cleared, false);
	while (ktime_get_mono_fast_ns() < end)
		cpu_relax();
	return 0;
}

static struct kprobe probe = { .pre_handler = delay };

/* kallsyms_lookup_name() is not exported: a probe of it knows its address. */
static bool *find_bool(const char *name)
{
	unsigned long (*lookup)(const char *name);
	struct kprobe finder = { .symbol_name = "kallsyms_lookup_name" };

	if (register_kprobe(&finder))
		return NULL;
	lookup = (void *)finder.addr;
	unregister_kprobe(&finder);
	return (bool *)lookup(name);
}

static int __init stretch_init(void)
{
	if (*clears) {
		cleared = find_bool(clears);
		if (!cleared)
			return -ENOENT;
	}
	probe.symbol_name = function;
	return register_kprobe(&probe);
}
module_init(stretch_init);

static void __exit stretch_exit(void)
{
	unregister_kprobe(&probe);
}
module_exit(stretch_exit);

MODULE_DESCRIPTION("A function that takes longer, for tests");
MODULE_LICENSE("GPL");
