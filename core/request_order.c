// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "number.h"
#include "queue.h"
#include "request_id.h"
#include "request_order.h"

/*
 * The key of a rank, from below: order of insertion, for I/Os of one request; its
 * id, without the highest bits; and the level. Ids that are believed, and
 * deadlines, are within 2^20 ms of each other.
 */
#define NUMBER_BITS 12
#define LEVEL (1ULL << (NUMBER_BITS + FGIO_REQUEST_MS_SHIFT + 20))
#define LEVELS 16U

#define SETS (FGIO_REQUEST_MEMOS / FGIO_REQUEST_MEMO_WAYS)

/* Weight of one request in a mean, as a shift. */
#define TYPICAL_SHIFT 3

enum { LIGHT, HEAVY };

void fgio_request_order_init(struct fgio_request_order *by_request,
			     enum fgio_request_policy policy)
{
	*by_request = (struct fgio_request_order){
		.policy = policy,
		.heavy_x16 = 16 * FGIO_REQUEST_HEAVY_LEAST,
	};
	fgio_request_bound_init(&by_request->bound);
}

/* ---- what requests had ---- */

/* The sets are of ids that differ in the counter or the time: mix all bits. */
static struct fgio_request_memo *set_of(struct fgio_request_order *by_request,
					u64 id)
{
	u64 set = (id * 0x9e3779b97f4a7c15ULL) >> 32 & (SETS - 1);

	return &by_request->memo[set * FGIO_REQUEST_MEMO_WAYS];
}

/* Brings a memo to the front of its set. */
static struct fgio_request_memo *touch(struct fgio_request_memo *set, u32 way)
{
	struct fgio_request_memo memo = set[way];

	for (; way; way--)
		set[way] = set[way - 1];
	set[0] = memo;
	return set;
}

static struct fgio_request_memo *find(struct fgio_request_order *by_request,
				      u64 id)
{
	struct fgio_request_memo *set = set_of(by_request, id);

	for (u32 way = 0; way < FGIO_REQUEST_MEMO_WAYS; way++)
		if (set[way].id == id)
			return touch(set, way);
	return NULL;
}

/*
 * A request that is not served any more: what it had is what such requests
 * have. The bound of heavy ones moves by four where one is beyond it and by one
 * where not: to where one of five is.
 */
static void learn(struct fgio_request_order *by_request,
		  const struct fgio_request_memo *memo)
{
	u32 *typical_x16 = &by_request->typical_x16[memo->size];
	u32 served_x16 = 16 * (u32)smaller(memo->served, 1U << 20);
	u32 step = 1 + by_request->heavy_x16 / 64;

	if (!memo->id || !memo->served)
		return;
	*typical_x16 += (served_x16 >> TYPICAL_SHIFT) -
			(*typical_x16 >> TYPICAL_SHIFT);
	if (served_x16 > by_request->heavy_x16)
		by_request->heavy_x16 += 4 * step;
	else
		by_request->heavy_x16 = (u32)larger(
			16 * FGIO_REQUEST_HEAVY_LEAST,
			by_request->heavy_x16 - step);
}

/* The memo of a request, a new one in place of the best to do without. */
static struct fgio_request_memo *
remember(struct fgio_request_order *by_request, u64 id, u32 parts)
{
	struct fgio_request_memo *memo = find(by_request, id);
	struct fgio_request_memo *set = set_of(by_request, id);
	u32 way = FGIO_REQUEST_MEMO_WAYS - 1;
	u32 size = 0;

	if (memo)
		return memo;
	while (way && set[way].queued)
		way--;
	if (set[way].queued) {
		way = FGIO_REQUEST_MEMO_WAYS - 1;
		fgio_store(&by_request->forgotten, by_request->forgotten + 1);
	}
	learn(by_request, &set[way]);
	while (size < FGIO_REQUEST_SIZES - 1 && parts >> (size + 1))
		size++;
	set[way] = (struct fgio_request_memo){ .id = id, .size = (u8)size };
	return touch(set, way);
}

/* ---- ranks ---- */

static u32 logarithm(u32 number)
{
	return number ? 31U - (u32)__builtin_clz(number) : 0;
}

/* The level of a request by its work, the least first. */
static u32 level_by_work(const struct fgio_request_order *by_request,
			 const struct fgio_request_memo *memo)
{
	u32 typical = by_request->typical_x16[memo->size] / 16;

	return (u32)smaller(LEVELS - 1,
			    logarithm((u32)larger(memo->served + 1ULL,
						  typical)));
}

/*
 * Twice as heavy, a level later: a scan does not hold up requests that are heavy
 * by little.
 */
static u32 level_by_weight(const struct fgio_request_order *by_request,
			   const struct fgio_request_memo *memo)
{
	u64 times = 16ULL * memo->served / by_request->heavy_x16;

	return (u32)smaller(LEVELS - 1,
			    logarithm((u32)times / FGIO_REQUEST_HEAVY_TIMES));
}

static u32 level_of(const struct fgio_request_order *by_request,
		    const struct fgio_request_memo *memo)
{
	switch (by_request->policy) {
	case FGIO_BY_BATCH:
		return !memo || !memo->served;
	case FGIO_BY_LIMITED:
		return memo ? level_by_weight(by_request, memo) : 0;
	case FGIO_BY_BOTTLENECK:
		return memo ? level_by_work(by_request, memo) : 0;
	default:
		return 0;
	}
}

static u64 by_deadline(const struct fgio_request_order *by_request,
		       const struct fgio_request *request, u64 id)
{
	u32 deadline_ms = request->rank.deadline_ms ?: FGIO_REQUEST_DEADLINE_MS;

	if (by_request->policy != FGIO_BY_SLACK)
		return id;
	return id + fgio_request_id_ms(smaller(deadline_ms,
					       FGIO_REQUEST_DEADLINE_MOST_MS));
}

/* The request id that counts; 0: none. */
static u64 believed(const struct fgio_request_order *by_request,
		    const struct fgio_request *request, u64 now)
{
	if (by_request->policy == FGIO_BY_NONE)
		return 0;
	return fgio_request_id_believed(request->rank.id, now);
}

static u64 key_of(struct fgio_request_order *by_request, u64 id)
{
	u64 number = by_request->number++ & ((1U << NUMBER_BITS) - 1);

	return id << NUMBER_BITS | number;
}

/* Whether two keys are of one id, and of one level. */
static bool is_alike(u64 one, u64 other)
{
	return one >> NUMBER_BITS == other >> NUMBER_BITS;
}

void fgio_request_order_added(struct fgio_request_order *by_request,
			      struct fgio_order *order,
			      struct fgio_request *request)
{
	struct fgio_ranked *ranked = &order->ranked[request->write];
	u64 now = fgio_request_id_at(request->queued_ns + by_request->real_ns);
	u64 id = believed(by_request, request, now);
	struct fgio_request_memo *memo = NULL;
	struct fgio_rank *rank = &request->rank;

	if (!id && !ranked->heap[LIGHT].count && !ranked->heap[HEAVY].count)
		return;
	if (id) {
		memo = remember(by_request, rank->id, rank->parts);
		memo->queued += memo->queued < 0xffff;
	}
	rank->heap = memo && by_request->policy == FGIO_BY_LIMITED &&
		     16ULL * memo->served / by_request->heavy_x16 >=
			     FGIO_REQUEST_HEAVY_TIMES;
	fgio_heap_add(&ranked->heap[rank->heap], &rank->node,
		      key_of(by_request, by_deadline(by_request, request,
						     id ?: now)) +
			      level_of(by_request, memo) * LEVEL);
	order->ranked_count++;
	fgio_store(&by_request->ranked, by_request->ranked + 1);
}

void fgio_request_order_taken(struct fgio_request_order *by_request,
			      struct fgio_order *order,
			      struct fgio_request *request)
{
	struct fgio_rank *rank = &request->rank;
	struct fgio_request_memo *memo;

	fgio_heap_remove(&order->ranked[request->write].heap[rank->heap],
			 &rank->node);
	order->ranked_count--;
	fgio_store(&by_request->ranked, by_request->ranked - 1);
	memo = rank->id ? find(by_request, rank->id) : NULL;
	if (memo && memo->queued)
		memo->queued--;
}

void fgio_request_order_joined(struct fgio_order *order,
			       struct fgio_request *request,
			       const struct fgio_request *other)
{
	struct fgio_rank *rank = &request->rank;

	if (fgio_before(other->rank.node.key, rank->node.key))
		fgio_heap_change(&order->ranked[request->write].heap[rank->heap],
				 &rank->node, other->rank.node.key);
}

/* ---- which goes ---- */

static struct fgio_request *first_of(const struct fgio_heap *heap)
{
	return fgio_container_of(fgio_heap_first(heap), struct fgio_request,
				 rank.node);
}

static struct fgio_request_order *orders(const struct fgio_request *request)
{
	return request->hw->by_request;
}

/* Whether the oldest of a direction goes whatever its rank. */
static bool is_aged(const struct fgio_request *oldest)
{
	const struct fgio_request_order *by_request = orders(oldest);

	return by_request->passed + 1 >= FGIO_REQUEST_AGE_SHARE &&
	       by_request->now_ns >= oldest->queued_ns + FGIO_REQUEST_AGE_NS;
}

struct fgio_request *fgio_order_first_ranked(const struct fgio_order *order,
					     bool write)
{
	const struct fgio_heap *heap = order->ranked[write].heap;
	struct fgio_request *oldest = fgio_order_oldest(order, write);
	bool heavy = !heap[LIGHT].count;

	/* Those that were queued before any had an id are at the front. */
	if (!oldest->rank.node.in_heap || is_aged(oldest))
		return oldest;
	if (heap[LIGHT].count && heap[HEAVY].count)
		heavy = orders(oldest)->light_went[write] >=
			FGIO_REQUEST_LIGHT_RUN;
	return first_of(&heap[heavy]);
}

/* Those like the root of a heap are below each other. */
static bool has_alike(const struct fgio_heap_node *root)
{
	return (root->child[0] && is_alike(root->child[0]->key, root->key)) ||
	       (root->child[1] && is_alike(root->child[1]->key, root->key));
}

/*
 * A request begins: its queued I/Os join those of requests that have begun. They
 * have one rank, so they follow @request, the first of @heap.
 */
static void begin(struct fgio_heap *heap, struct fgio_request *request)
{
	u64 key = request->rank.node.key, id = request->rank.id;
	struct fgio_heap_node *chain = NULL, *node;

	fgio_heap_remove(heap, &request->rank.node);
	while ((node = fgio_heap_first(heap)) && is_alike(node->key, key) &&
	       first_of(heap)->rank.id == id) {
		fgio_heap_remove(heap, node);
		node->parent = chain;
		chain = node;
	}
	while ((node = chain)) {
		chain = node->parent;
		fgio_heap_add(heap, node, node->key - LEVEL);
	}
	fgio_heap_add(heap, &request->rank.node, key);
}

/* Of those that went in turn with heavy ones. */
static void count_light(u8 *light_went, const struct fgio_request *request,
			bool heavy_queued)
{
	if (request->rank.heap == HEAVY || !heavy_queued)
		*light_went = 0;
	else
		(*light_went)++;
}

void fgio_order_went_ranked(struct fgio_order *order,
			    struct fgio_request *request)
{
	struct fgio_request_order *by_request = orders(request);
	struct fgio_heap *heap = order->ranked[request->write].heap;
	struct fgio_request_memo *memo;
	bool aged;

	if (!request->rank.node.in_heap)
		return;
	aged = request == fgio_order_oldest(order, request->write) &&
	       is_aged(request);
	by_request->passed = aged ? 0 : by_request->passed + 1;
	fgio_store(&by_request->aged, by_request->aged + aged);
	if (!aged)
		count_light(&by_request->light_went[request->write], request,
			    heap[HEAVY].count);
	memo = request->rank.id ? find(by_request, request->rank.id) : NULL;
	if (!memo)
		return;
	if (!memo->served && by_request->policy == FGIO_BY_BATCH &&
	    first_of(&heap[request->rank.heap]) == request &&
	    has_alike(&request->rank.node))
		begin(&heap[request->rank.heap], request);
	memo->served++;
}
