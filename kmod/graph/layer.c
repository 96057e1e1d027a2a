// SPDX-License-Identifier: GPL-2.0
/* The table of layers, by kind of wait. */
#define pr_fmt(fmt) "fgio: " fmt

#include <linux/errno.h>
#include <linux/printk.h>

#include "graph/layer.h"

static const struct fgio_layer *const *table;
static unsigned int table_count;
static const struct fgio_layer *by_kind[FGIO_WAIT_KINDS];

static_assert(FGIO_WAIT_KINDS <= 64);

const struct fgio_layer *fgio_layer_of(u8 kind)
{
	return kind < FGIO_WAIT_KINDS ? by_kind[kind] : NULL;
}

const struct fgio_layer *fgio_layer_at(unsigned int index)
{
	return index < table_count ? table[index] : NULL;
}

void fgio_layers_release(const struct fgio_walk *walk)
{
	unsigned int i;

	for (i = 0; i < table_count; i++)
		if (table[i]->release)
			table[i]->release(walk);
}

void fgio_layers_forget(void)
{
	unsigned int i;

	for (i = 0; i < table_count; i++)
		if (table[i]->forget)
			table[i]->forget();
}

bool fgio_layers_look_further(void)
{
	bool found = false;
	unsigned int i;

	for (i = 0; i < table_count; i++)
		if (table[i]->look_further)
			found |= table[i]->look_further();
	return found;
}

static int answer_for_kinds(const struct fgio_layer *layer)
{
	u8 kind;

	for (kind = 0; kind < FGIO_WAIT_KINDS; kind++) {
		if (!(layer->kinds & BIT_ULL(kind)))
			continue;
		if (by_kind[kind]) {
			pr_err("layers %s and %s answer for one kind of wait\n",
			       by_kind[kind]->name, layer->name);
			return -EINVAL;
		}
		by_kind[kind] = layer;
	}
	return 0;
}

int fgio_layers_init(const struct fgio_layer *const *layers,
		     unsigned int count)
{
	unsigned int i;
	int error = 0;

	table = layers;
	table_count = count;
	for (i = 0; i < count && !error; i++)
		error = answer_for_kinds(layers[i]);
	return error;
}
