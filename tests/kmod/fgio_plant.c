// SPDX-License-Identifier: GPL-2.0
/*
 * Makes one mistake when the module is loaded: a debug kernel that does not report
 * it would not report fgio's either.
 */
#include <linux/compiler.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#define BYTES 192
/* A stale pointer on some stack may hide one of them from kmemleak. */
#define LEAKS 16

static char *plant;
module_param(plant, charp, 0);
MODULE_PARM_DESC(plant, "leak, sleep, rcu, warn, locks, use_after_free or write_after_free");

static DEFINE_SPINLOCK(spinlock);
static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static int __rcu *nowhere;

static void leak(void)
{
	unsigned int i;

	for (i = 0; i < LEAKS; i++) {
		void *memory = kmalloc(BYTES, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(memory);
	}
}

static void sleep_in_atomic(void)
{
	spin_lock(&spinlock);
	might_sleep();
	spin_unlock(&spinlock);
}

static void dereference_outside(void)
{
	int *value = rcu_dereference(nowhere);

	OPTIMIZER_HIDE_VAR(value);
}

static void lock_both_ways(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void use_after_free(void)
{
	char *memory = kzalloc(BYTES, GFP_KERNEL), *gone = memory;

	OPTIMIZER_HIDE_VAR(gone);
	kfree(memory);
	/* On a debug kernel alone: elsewhere the memory may have a new owner by now. */
	if (IS_ENABLED(CONFIG_KASAN) && gone)
		(void)READ_ONCE(*gone);
}

/*
 * With slub_debug alone, which looks at what it hands out again: elsewhere the memory may have a
 * new owner by now.
 */
static void write_after_free(void)
{
	void *again[LEAKS];
	unsigned int i;
	char *memory = kzalloc(BYTES, GFP_KERNEL), *gone = memory;

	OPTIMIZER_HIDE_VAR(gone);
	kfree(memory);
	if (gone)
		WRITE_ONCE(gone[BYTES / 2], 1);
	for (i = 0; i < LEAKS; i++)
		again[i] = kmalloc(BYTES, GFP_KERNEL);
	while (i--)
		kfree(again[i]);
}

static int __init plant_init(void)
{
	if (!plant)
		return -EINVAL;
	if (!strcmp(plant, "leak"))
		leak();
	else if (!strcmp(plant, "sleep"))
		sleep_in_atomic();
	else if (!strcmp(plant, "rcu"))
		dereference_outside();
	else if (!strcmp(plant, "warn"))
		WARN(1, "planted");
	else if (!strcmp(plant, "locks"))
		lock_both_ways();
	else if (!strcmp(plant, "use_after_free"))
		use_after_free();
	else if (!strcmp(plant, "write_after_free"))
		write_after_free();
	else
		return -EINVAL;
	return 0;
}
module_init(plant_init);

static void __exit plant_exit(void)
{
}
module_exit(plant_exit);

MODULE_DESCRIPTION("A mistake for debug kernels to find");
MODULE_LICENSE("GPL");
