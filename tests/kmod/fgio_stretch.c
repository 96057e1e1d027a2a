// SPDX-License-Identifier: GPL-2.0
/*
 * Stretches a window for tests: a function of the kernel or of a module takes
 * longer from its beginning on. Nothing else changes.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static char *function = "";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "its name");

static unsigned int ms = 20;
module_param(ms, uint, 0644);
MODULE_PARM_DESC(ms, "how much longer, in milliseconds (20)");

/* Context: preemption off, perhaps locks held: it spins. */
static int delay(struct kprobe *probe, struct pt_regs *regs)
{
	mdelay(READ_ONCE(ms));
	return 0;
}

static struct kprobe probe = { .pre_handler = delay };

static int __init stretch_init(void)
{
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
