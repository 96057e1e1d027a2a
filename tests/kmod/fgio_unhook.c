// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel that does not let itself be hooked, for tests: while this module is
 * loaded, some function cannot be probed, or probes of some tracepoint are
 * taken and never called. Both are so for all modules alike.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

static char *refuse = "";
module_param(refuse, charp, 0444);
MODULE_PARM_DESC(refuse, "a function, whatever the compiler appended to its name, or a tracepoint: it cannot be probed");

static char *mute = "";
module_param(mute, charp, 0444);
MODULE_PARM_DESC(mute, "a tracepoint: its probes are never called");

/* Functions that run instead of the kernel's, of no matter which arguments. */
static int fail(void)
{
	return -EINVAL;
}

static int pretend(void)
{
	return 0;
}

static int run_instead(struct pt_regs *regs, int (*function)(void))
{
	instruction_pointer_set(regs, (unsigned long)function);
	return 1;
}

static bool is_refused(const char *name)
{
	size_t length = strlen(refuse);

	return length && name && !strncmp(name, refuse, length) &&
	       (!name[length] || name[length] == '.');
}

/* Kretprobes come here, too. */
static int on_kprobe(struct kprobe *probe, struct pt_regs *regs)
{
	const struct kprobe *of = (void *)regs_get_kernel_argument(regs, 0);

	return is_refused(of->symbol_name) ? run_instead(regs, fail) : 0;
}

static int on_tracepoint(struct kprobe *probe, struct pt_regs *regs)
{
	const struct tracepoint *of = (void *)regs_get_kernel_argument(regs, 0);

	if (!strcmp(of->name, mute))
		return run_instead(regs, pretend);
	return is_refused(of->name) ? run_instead(regs, fail) : 0;
}

static int on_tracepoint_gone(struct kprobe *probe, struct pt_regs *regs)
{
	const struct tracepoint *of = (void *)regs_get_kernel_argument(regs, 0);

	return strcmp(of->name, mute) ? 0 : run_instead(regs, pretend);
}

/* Tells ftrace that the function may be left out, as by a livepatch. */
static void after(struct kprobe *probe, struct pt_regs *regs,
		  unsigned long flags)
{
}

#define PROBE(function, handler)                                      \
	{                                                             \
		.symbol_name = function,                              \
		.pre_handler = handler,                               \
		.post_handler = after,                                \
	}

static struct kprobe kprobe_registers = PROBE("register_kprobe", on_kprobe);
static struct kprobe tracepoint_registers =
	PROBE("tracepoint_probe_register", on_tracepoint);
static struct kprobe tracepoint_unregisters =
	PROBE("tracepoint_probe_unregister", on_tracepoint_gone);

static struct kprobe *probes[] = {
	&kprobe_registers,
	&tracepoint_registers,
	&tracepoint_unregisters,
};

static int __init unhook_init(void)
{
	return register_kprobes(probes, ARRAY_SIZE(probes));
}
module_init(unhook_init);

/* Only once the module that it deceived is gone. */
static void __exit unhook_exit(void)
{
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	synchronize_rcu_tasks();
}
module_exit(unhook_exit);

MODULE_DESCRIPTION("A kernel that refuses hooks, for tests");
MODULE_LICENSE("GPL");
