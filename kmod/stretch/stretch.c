// SPDX-License-Identifier: GPL-2.0
/*
 * For tests: a function of the kernel, or of fgio, takes longer. A window that
 * a race needs is open for milliseconds then, and a test can hit it each time.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static char *function = "";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "name of the function");

static unsigned int ms = 2;
module_param(ms, uint, 0644);
MODULE_PARM_DESC(ms, "how long each call is held up before it begins (2)");

/* Context: preemption off, perhaps locks held: it spins. */
static int hold_up(struct kprobe *unused, struct pt_regs *regs)
{
	mdelay(READ_ONCE(ms));
	return 0;
}

static struct kprobe probe = {
	.pre_handler = hold_up,
};

static int __init stretch_init(void)
{
	probe.symbol_name = function;
	return register_kprobe(&probe);
}

static void __exit stretch_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(stretch_init);
module_exit(stretch_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("holds up one function, for tests of fgio");
