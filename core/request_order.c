// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "atomic.h"
#include "number.h"
#include "queue_internal.h"
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

/* Of how long a memo was not used: it has no I/O queued. */
#define IDLE (1U << 31)

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

static struct fgio_request_memo *touch(struct fgio_request_order *by_request,
				       struct fgio_request_memo *memo)
{
	memo->used = ++by_request->uses;
	return memo;
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

static void count_up(u64 *total)
{
	fgio_store(total, *total + 1);
}

/*
 * How well a memo can be done without: those without queued I/O best, then those
 * that were used longest ago.
 */
static u32 staleness(const struct fgio_request_memo *memo, u32 uses)
{
	u32 unused = uses - memo->used;

	return memo->queued ? unused & ~IDLE : unused | IDLE;
}

static u32 size_of(u32 parts)
{
	u32 size = parts ? 31U - (u32)__builtin_clz(parts) : 0;

	return (u32)smaller(FGIO_REQUEST_SIZES - 1, size);
}

static void forget(struct fgio_request_order *by_request,
		   const struct fgio_request_memo *memo)
{
	if (memo->queued) {
		fgio_store(&by_request->requests, by_request->requests - 1);
		count_up(&by_request->forgotten);
	}
	learn(by_request, memo);
}

/* The memo of a request, a new one in place of the best to do without. */
static struct fgio_request_memo *
remember(struct fgio_request_order *by_request, u64 id, u32 parts)
{
	struct fgio_request_memo *set = set_of(by_request, id);
	struct fgio_request_memo *least = set, *memo;
	u32 uses = by_request->uses, most = 0, stale;

	for (memo = set; memo < set + FGIO_REQUEST_MEMO_WAYS; memo++) {
		if (memo->id == id)
			return touch(by_request, memo);
		stale = staleness(memo, uses);
		if (stale > most) {
			most = stale;
			least = memo;
		}
	}
	forget(by_request, least);
	*least = (struct fgio_request_memo){
		.id = id,
		.size = (u8)size_of(parts),
	};
	return touch(by_request, least);
}

/* NULL: the I/O has none, or it was forgotten. */
static struct fgio_request_memo *memo_of(const struct fgio_rank *rank)
{
	return rank->memo && rank->memo->id == rank->id ? rank->memo : NULL;
}

/* Whether the policy goes by what requests had. */
static bool needs_work(u32 policy)
{
	return policy == FGIO_BY_BATCH || policy == FGIO_BY_LIMITED ||
	       policy == FGIO_BY_BOTTLENECK;
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

static u64 arrived_at(const struct fgio_request_order *by_request,
		      const struct fgio_request *request)
{
	return fgio_request_id_at(request->queued_ns + by_request->real_ns);
}

/* The request id that counts; 0: none. */
static inline u64 believed(const struct fgio_request_order *by_request,
		    const struct fgio_request *request)
{
	u64 id = request->rank.id;

	if (!id || by_request->policy == FGIO_BY_NONE)
		return 0;
	if (fgio_request_id_is_near(id, request->queued_ns + by_request->real_ns))
		return id;
	return fgio_request_id_believed(id, arrived_at(by_request, request));
}

/* An id counts as another. Where no order is in force, none is believed. */
static void count_claim(struct fgio_request_order *by_request, u64 believed)
{
	if (by_request->policy == FGIO_BY_NONE)
		return;
	count_up(believed ? &by_request->clamped : &by_request->foreign);
}

/* The I/O that an I/O follows in its FIFO, if that is ranked; or NULL. */
static struct fgio_request *previous_of(const struct fgio_order *order,
					const struct fgio_request *request)
{
	struct fgio_list *previous = request->link.prev;
	struct fgio_request *before;

	if (previous == &order->fifo[request->write])
		return NULL;
	before = fgio_container_of(previous, struct fgio_request, link);
	return before->rank.state ? before : NULL;
}

/* An I/O with an id is ranked. @previous: mostly of the same request. */
static struct fgio_request_memo *join(struct fgio_request_order *by_request,
				      const struct fgio_rank *rank,
				      const struct fgio_request *previous)
{
	struct fgio_request_memo *memo = NULL;

	if (previous && previous->rank.id == rank->id)
		memo = memo_of(&previous->rank);
	if (memo)
		touch(by_request, memo);
	else
		memo = remember(by_request, rank->id, rank->parts);
	if (!memo->queued)
		fgio_store(&by_request->requests, by_request->requests + 1);
	memo->queued += memo->queued < 0xffff;
	return memo;
}

/* One of them is ranked no more. */
static void leave(struct fgio_request_order *by_request,
		  struct fgio_request_memo *memo)
{
	if (!memo || !memo->queued || --memo->queued)
		return;
	fgio_store(&by_request->requests, by_request->requests - 1);
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

/* Whether no I/O of the same chain comes after it. */
static bool ends_chain(const struct fgio_rank *rank)
{
	return fgio_container_of(rank->chain.next, struct fgio_rank, chain)
		->node.in_heap;
}

static bool follows(const struct fgio_rank *rank, u64 key,
		    const struct fgio_rank *previous)
{
	return previous->id == rank->id && previous->heap == rank->heap &&
	       is_alike(previous->node.key, key) &&
	       fgio_before(previous->node.key, key) && ends_chain(previous);
}

/*
 * What an I/O may follow: the last one of its request, which is in the heap for
 * all of them. No other has its place between the two.
 */
static struct fgio_request *last_of(const struct fgio_order *order,
				    const struct fgio_request *request,
				    struct fgio_request *previous)
{
	const struct fgio_request_memo *memo = request->rank.memo;
	struct fgio_request *last = memo ? memo->last : NULL;

	if (last && last->write == request->write &&
	    fgio_request_order_of(last) == order)
		return last;
	return previous;
}

/* It follows @previous, or has a place of its own. */
static void enter(struct fgio_heap *heap, struct fgio_rank *rank, u64 key,
		  struct fgio_request *previous)
{
	if (!previous || !follows(rank, key, &previous->rank)) {
		fgio_list_init(&rank->chain);
		fgio_heap_add(heap, &rank->node, key);
		return;
	}
	rank->node.key = key;
	rank->node.in_heap = false;
	fgio_list_add_head(&previous->rank.chain, &rank->chain);
}

/* Takes an I/O out of its chain: the next one represents the others. */
static void quit(struct fgio_heap *heap, struct fgio_rank *rank)
{
	struct fgio_rank *next = fgio_container_of(rank->chain.next,
						   struct fgio_rank, chain);

	fgio_list_remove(&rank->chain);
	if (!rank->node.in_heap)
		return;
	if (next == rank)
		fgio_heap_remove(heap, &rank->node);
	else
		fgio_heap_replace(heap, &rank->node, &next->node);
}

/* @id: its request's, as far as it is believed; 0: none. */
static void set_rank(struct fgio_request_order *by_request,
		     struct fgio_order *order, struct fgio_request *request,
		     u64 id)
{
	struct fgio_ranked *ranked = &order->ranked[request->write];
	struct fgio_request *previous = previous_of(order, request);
	struct fgio_rank *rank = &request->rank;

	rank->memo = NULL;
	rank->state = FGIO_RANK_NONE;
	if (!id && !ranked->heap[LIGHT].count && !ranked->heap[HEAVY].count)
		return;
	if (id)
		rank->memo = join(by_request, rank, previous);
	else
		id = arrived_at(by_request, request);
	rank->heap = rank->memo && by_request->policy == FGIO_BY_LIMITED &&
		     16ULL * rank->memo->served / by_request->heavy_x16 >=
			     FGIO_REQUEST_HEAVY_TIMES;
	rank->state = FGIO_RANK_SET;
	enter(&ranked->heap[rank->heap], rank,
	      key_of(by_request, by_deadline(by_request, request, id)) +
		      level_of(by_request, rank->memo) * LEVEL,
	      last_of(order, request, previous));
	if (rank->memo)
		rank->memo->last = request;
	order->ranked_count++;
	fgio_store(&by_request->ranked, by_request->ranked + 1);
}

/*
 * Whether all critical I/O that is queued is of one request, this one included.
 * Lateness is only seen of ranked ones.
 */
static bool is_alone(const struct fgio_request_alone *alone,
		     const struct fgio_order *order,
		     const struct fgio_request *request)
{
	if (request->rank.deadline_ms)
		return false;
	if (!alone->count)
		return !request->hw->queued[FGIO_CRITICAL];
	return request->rank.id == alone->id && order == alone->order &&
	       alone->count < FGIO_REQUEST_ALONE_MOST;
}

static void begin_alone(struct fgio_request_order *by_request,
			struct fgio_order *order,
			const struct fgio_request *request)
{
	struct fgio_request_alone *alone = &by_request->alone;
	const struct fgio_inflight *in_drive =
		&request->hw->in_device[FGIO_CRITICAL];

	alone->id = request->rank.id;
	alone->order = order;
	/* It goes at once, without a look at the clock. */
	fgio_store(&alone->bounds,
		   fgio_inflight_counted(in_drive) >=
			   fgio_request_bound_now(&by_request->bound));
	by_request->light_went[false] = 0;
	by_request->light_went[true] = 0;
}

static void join_alone(struct fgio_request_order *by_request,
		       struct fgio_order *order, struct fgio_request *request,
		       u64 id)
{
	struct fgio_request_alone *alone = &by_request->alone;

	if (alone->count)
		fgio_store(&alone->bounds, true);
	else
		begin_alone(by_request, order, request);
	alone->count++;
	alone->believed_ns = id == request->rank.id ? request->queued_ns :
						      FGIO_NOT_BELIEVED;
	request->rank.state = FGIO_RANK_ALONE;
}

/* Another request has I/O: those of the one that was alone are ranked. */
static void rank_alone(struct fgio_request_order *by_request)
{
	struct fgio_request_alone *alone = &by_request->alone;
	struct fgio_order *order = alone->order;
	struct fgio_list *fifo, *link;

	if (!alone->count)
		return;
	for (u32 write = 0; write < FGIO_DIRECTIONS; write++) {
		fifo = &order->fifo[write];
		for (link = fifo->next; link != fifo; link = link->next) {
			struct fgio_request *request = fgio_container_of(
				link, struct fgio_request, link);

			if (request->rank.state == FGIO_RANK_ALONE)
				set_rank(by_request, order, request,
					 believed(by_request, request));
		}
	}
	alone->count = 0;
	fgio_store(&alone->bounds, false);
}

/* To the tail. Out of line: most of a request that is alone do without it. */
static __attribute__((__noinline__)) void add(
	struct fgio_request_order *by_request, struct fgio_order *order,
	struct fgio_request *request, enum fgio_line_up how)
{
	u64 id = believed(by_request, request);

	if (request->rank.id != id && how != FGIO_TO_TAIL_AGAIN)
		count_claim(by_request, id);
	if (id && is_alone(&by_request->alone, order, request)) {
		join_alone(by_request, order, request, id);
		return;
	}
	rank_alone(by_request);
	set_rank(by_request, order, request, id);
}

void fgio_request_order_added(struct fgio_request_order *by_request,
			      struct fgio_order *order,
			      struct fgio_request *request,
			      enum fgio_line_up how)
{
	struct fgio_request_alone *alone = &by_request->alone;

	if (how == FGIO_TO_HEAD) {
		rank_alone(by_request);
		return;
	}
	if (request->queued_ns == alone->believed_ns && alone->count &&
	    is_alone(alone, order, request)) {
		fgio_store(&alone->bounds, true);
		alone->count++;
		request->rank.state = FGIO_RANK_ALONE;
		return;
	}
	add(by_request, order, request, how);
}

void fgio_request_order_taken_ranked(struct fgio_request_order *by_request,
				     struct fgio_order *order,
				     struct fgio_request *request)
{
	struct fgio_rank *rank = &request->rank;

	rank->state = FGIO_RANK_NONE;
	/* Whatever its memo is of by now: no pointer to it stays. */
	if (rank->memo && rank->memo->last == request)
		rank->memo->last = NULL;
	quit(&order->ranked[request->write].heap[rank->heap], rank);
	order->ranked_count--;
	fgio_store(&by_request->ranked, by_request->ranked - 1);
	leave(by_request, memo_of(rank));
}

void fgio_request_order_joined(struct fgio_order *order,
			       struct fgio_request *request,
			       const struct fgio_request *other)
{
	struct fgio_rank *rank = &request->rank;
	struct fgio_heap *heap = &order->ranked[request->write].heap[rank->heap];

	/* Then both are of one request, in the order of their FIFO. */
	if (rank->state == FGIO_RANK_ALONE)
		return;
	if (!fgio_before(other->rank.node.key, rank->node.key))
		return;
	quit(heap, rank);
	enter(heap, rank, other->rank.node.key, NULL);
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
	if (!oldest->rank.state || is_aged(oldest))
		return oldest;
	if (heap[LIGHT].count && heap[HEAVY].count)
		heavy = orders(oldest)->light_went[write] >=
			FGIO_REQUEST_LIGHT_RUN;
	return first_of(&heap[heavy]);
}

/* Those like the first of a heap follow it, or are below each other. */
static bool has_alike(const struct fgio_rank *rank)
{
	const struct fgio_heap_node *root = &rank->node;

	return rank->chain.next != &rank->chain ||
	       (root->child[0] && is_alike(root->child[0]->key, root->key)) ||
	       (root->child[1] && is_alike(root->child[1]->key, root->key));
}

/*
 * A request begins: its queued I/Os join those of requests that have begun. They
 * have one rank, so they follow @request, the first of @heap.
 */
static void begin(struct fgio_heap *heap, struct fgio_request *request)
{
	u64 key = request->rank.node.key, id = request->rank.id;
	struct fgio_rank *first = NULL, *last = NULL, *rank;
	struct fgio_request *next;

	quit(heap, &request->rank);
	while (heap->root && (next = first_of(heap)) &&
	       is_alike(next->rank.node.key, key) && next->rank.id == id) {
		rank = &next->rank;
		quit(heap, rank);
		rank->node.key -= LEVEL;
		if (last)
			fgio_list_add_head(&last->chain, &rank->chain);
		else
			first = rank;
		last = rank;
	}
	if (first)
		fgio_heap_add(heap, &first->node, first->node.key);
	enter(heap, &request->rank, key, NULL);
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

/* Whether a request that names its deadline is beyond it. */
static bool is_late(const struct fgio_request_order *by_request,
		    const struct fgio_rank *rank)
{
	u64 now;

	if (!rank->deadline_ms)
		return false;
	now = fgio_request_id_at(by_request->now_ns + by_request->real_ns);
	return fgio_request_id_believed(rank->id, now) &&
	       fgio_request_id_before(
		       rank->id + fgio_request_id_ms(rank->deadline_ms), now);
}

void fgio_order_went_alone(const struct fgio_request *request)
{
	struct fgio_request_order *by_request = orders(request);
	struct fgio_request_alone *alone = &by_request->alone;
	struct fgio_request_memo *memo = alone->memo;
	const struct fgio_rank *rank = &request->rank;

	if (!needs_work(by_request->policy))
		return;
	if (memo && memo->id == rank->id)
		touch(by_request, memo);
	else
		memo = remember(by_request, rank->id, rank->parts);
	memo->served++;
	alone->memo = memo;
}

void fgio_order_went_ranked(struct fgio_order *order,
			    struct fgio_request *request)
{
	struct fgio_request_order *by_request = orders(request);
	struct fgio_heap *heap = order->ranked[request->write].heap;
	struct fgio_request_memo *memo;
	bool aged;

	aged = request == fgio_order_oldest(order, request->write) &&
	       is_aged(request);
	by_request->passed = aged ? 0 : by_request->passed + 1;
	if (aged)
		count_up(&by_request->aged);
	if (is_late(by_request, &request->rank))
		count_up(&by_request->late);
	if (!aged)
		count_light(&by_request->light_went[request->write], request,
			    heap[HEAVY].count);
	memo = memo_of(&request->rank);
	if (!memo || !needs_work(by_request->policy))
		return;
	touch(by_request, memo);
	if (!memo->served && by_request->policy == FGIO_BY_BATCH &&
	    first_of(&heap[request->rank.heap]) == request &&
	    has_alike(&request->rank))
		begin(&heap[request->rank.heap], request);
	memo->served++;
}
