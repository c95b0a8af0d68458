// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is as weak as C11 allows, and nearly as weak as Arm's.
 *
 * Each atomic object has a history of messages, one for each store, the newest
 * last. Each thread has a view: for each object the oldest message that it may
 * still read. (J. Kang et al., "A Promising Semantics for Relaxed-Memory
 * Concurrency", POPL 2017, without its promises.)
 *
 *  - A load reads any message that is not older than the thread's view. From
 *    then on the view is no older than that message. So a thread may find a
 *    later store of another thread, and not that thread's earlier store to
 *    another place: only memory orders make loads and stores seem to come in
 *    order.
 *  - A release puts the thread's view into its message; an acquire adds the
 *    view of the message to the thread's view.
 *  - A read-modify-write reads the newest message, and hands that message's
 *    view on in its own message. A compare-and-swap that fails may have read
 *    an older message.
 *  - A sequentially consistent load reads nothing older than what an earlier
 *    sequentially consistent access of the same place has found or written.
 *  - A full barrier adds the views of all earlier barriers to the thread's
 *    view. The kernel's futex calls are full barriers.
 *
 * The model does not show a load that reads a store which comes after it in all
 * other respects ("load buffering"), nor a store that is older in the history
 * of its place than a store which was made before it. Arm allows both. Nor does
 * it show what a compiler may do with relaxed accesses.
 *
 * No store is overlooked for ever: in a schedule, at most MOST_LATE loads of a
 * place find an old message.
 *
 * The histories begin anew in each schedule. The real memory always has the
 * newest value, so code that the compiler has not instrumented finds that
 * value. If such code has written to a place, the history of the place begins
 * anew.
 */
#include "engine.h"

#define MOST_OLD  3 /* messages that a load chooses from */
#define MOST_LATE 4 /* loads of a place that find an old one */
#define LOG_BYTES (64 << 20)
#define SLOTS	  2048

struct message {
	struct message *older;
	uint64_t value;
	stamp at;
	stamp nr_known; /* the length of @known; 0: it was no release */
	stamp known[];
};

struct place {
	uintptr_t addr;
	int size;
	stamp at;	/* of the newest message */
	stamp least;	/* no load reads an older message */
	stamp in_order; /* no sequentially consistent load reads an older one */
	int nr_late;
	bool renewed; /* a plain write is about to begin it anew */
	struct message *newest;
	stamp used[MAX_THREADS]; /* the clock of each thread's last access */
};

static struct place places[MAX_PLACES];
static int nr_places;

/* A hash table of the places, by their addresses. */
static struct slot {
	uintptr_t addr;
	unsigned int schedule;
	struct place *place;
} slots[SLOTS];
static unsigned int schedule;

static char log_bytes[LOG_BYTES] __attribute__((aligned(16)));
static size_t log_used;

/* The union of the threads' views at their last full barriers. */
static stamp barrier_view[VIEW];

/* ---- views ---- */

/* The part of a view that is in use, rounded up to whole vectors. */
static int view_width(void)
{
	int width = (MAX_THREADS + nr_places + 15) / 16 * 16;

	return width < VIEW ? width : VIEW;
}

static void view_add(stamp *to, const stamp *from, int width)
{
	for (int i = 0; i < width; i++)
		to[i] = to[i] > from[i] ? to[i] : from[i];
}

#define view_of(fiber, place) ((fiber)->view[MAX_THREADS + ((place)-places)])

void memory_tell(struct fiber *to, struct fiber *from)
{
	int width = view_width();

	view_add(to->view, from->view, width);
	from->view[nr_of(from)]++;
}

void memory_fence(void)
{
	int width = view_width();

	view_add(self->view, barrier_view, width);
	memcpy(barrier_view, self->view, (size_t)width * sizeof(stamp));
	self->view[nr_of(self)]++;
}

void memory_see_all(void)
{
	for (struct fiber *f = fibers; f < fibers + MAX_THREADS; f++)
		view_add(self->view, f->view, view_width());
	for (struct place *p = places; p < places + nr_places; p++)
		view_of(self, p) = p->at;
}

/* ---- places ---- */

static uint64_t raw_load(uintptr_t addr, int size)
{
	uint64_t value = 0;

	memcpy(&value, (void *)addr, (size_t)size);
	return value;
}

static struct slot *slot_of(uintptr_t addr)
{
	uint64_t mixed = addr * UINT64_C(0x9e3779b97f4a7c15);
	struct slot *slot = &slots[mixed >> 53];

	while (slot->schedule == schedule && slot->addr != addr)
		if (++slot == slots + SLOTS)
			slot = slots;
	return slot;
}

static struct message *message_new(struct place *p, uint64_t value)
{
	size_t bytes = sizeof(struct message) + VIEW * sizeof(stamp);
	struct message *m;

	log_used = (log_used + 15) & ~(size_t)15;
	if (log_used + bytes > LOG_BYTES)
		fault("more stores than the explorer remembers");
	m = (struct message *)(log_bytes + log_used);
	log_used += sizeof(*m);
	m->older = p->newest;
	m->value = value;
	m->at = ++p->at;
	m->nr_known = 0;
	p->newest = m;
	return m;
}

static struct place *place_new(uintptr_t addr, int size)
{
	struct slot *slot = slot_of(addr);
	struct place *p = &places[nr_places];

	if (slot->schedule == schedule) {
		/* The halves of a word were used before the whole of it. */
		p = slot->place;
		p->size = size;
		message_new(p, raw_load(addr, size));
		p->least = p->at;
		return p;
	}
	if (nr_places == MAX_PLACES)
		fault("more than %d atomic objects", MAX_PLACES);
	nr_places++;
	*slot = (struct slot){ addr, schedule, p };
	memset(p, 0, sizeof(*p));
	p->addr = addr;
	p->size = size;
	message_new(p, raw_load(addr, size));
	return p;
}

/* The place of an object, or of the 64-bit word of which it is a half. */
static struct place *place_of(const void *object, int size)
{
	uintptr_t addr = (uintptr_t)object;
	struct slot *slot = slot_of(addr), *whole;
	struct place *p = slot->schedule == schedule ? slot->place : NULL;

	if ((!p || p->size != size) && size < 8) {
		whole = slot_of(addr & ~(uintptr_t)7);
		if (whole->schedule == schedule && whole->place->size == 8)
			p = whole->place;
	}
	if (!p || p->size < size)
		p = place_new(addr, size);
	if (p->renewed || raw_load(p->addr, p->size) != p->newest->value) {
		message_new(p, raw_load(p->addr, p->size));
		p->least = p->at;
		p->renewed = false;
	}
	return p;
}

void memory_renew(const void *object)
{
	struct slot *slot = slot_of((uintptr_t)object);

	if (slot->schedule == schedule)
		slot->place->renewed = true;
}

stamp memory_used(const void *object, int nr)
{
	struct slot *slot = slot_of((uintptr_t)object);

	return slot->schedule == schedule ? slot->place->used[nr] : 0;
}

void memory_begin(void)
{
	schedule++;
	nr_places = 0;
	log_used = 0;
	memset(barrier_view, 0, sizeof(barrier_view));
}

/* ---- accesses ---- */

static bool acquires(int order)
{
	return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
}

static bool releases(int order)
{
	return order >= __ATOMIC_RELEASE;
}

static uint64_t part_of(const struct place *p, const void *object, int size,
			uint64_t value)
{
	value >>= 8 * ((uintptr_t)object - p->addr);
	return size == 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1);
}

static uint64_t with_part(const struct place *p, const void *object, int size,
			  uint64_t value)
{
	uint64_t mask = size == 8 ? ~UINT64_C(0) :
				    (UINT64_C(1) << 8 * size) - 1;
	unsigned int shift = 8 * (unsigned int)((uintptr_t)object - p->addr);

	return (p->newest->value & ~(mask << shift)) | (value & mask) << shift;
}

/* Read @m. */
static void read_message(struct place *p, const struct message *m, int order)
{
	stamp *known = &view_of(self, p);

	*known = m->at > *known ? m->at : *known;
	if (acquires(order) && m->nr_known)
		view_add(self->view, m->known, m->nr_known);
	if (order == __ATOMIC_SEQ_CST && m->at > p->in_order)
		p->in_order = m->at;
	p->used[nr_of(self)] = self->view[nr_of(self)];
}

/* Choose a message that the caller may read. */
static struct message *some_message(struct place *p, int order)
{
	stamp least = view_of(self, p);
	struct message *m = p->newest;
	int nr = 0, way;

	if (p->least > least)
		least = p->least;
	if (order == __ATOMIC_SEQ_CST && p->in_order > least)
		least = p->in_order;
	if (m->at == least || p->nr_late == MOST_LATE)
		return m;
	while (m && m->at >= least && nr < MOST_OLD) {
		m = m->older;
		nr++;
	}
	m = p->newest;
	way = choose('r', nr);
	p->nr_late += way != 0;
	while (way--)
		m = m->older;
	return m;
}

/* Write; @read: the message that a read-modify-write has read, or NULL. */
static void write_message(struct place *p, uint64_t value, int order,
			  const struct message *read)
{
	int width = releases(order) ? view_width() : 0;
	struct message *m;

	if (read && read->nr_known > width)
		width = read->nr_known;
	m = message_new(p, value);
	view_of(self, p) = m->at;
	m->nr_known = (stamp)width;
	log_used += (size_t)width * sizeof(stamp);
	memset(m->known, 0, (size_t)width * sizeof(stamp));
	if (read && read->nr_known)
		view_add(m->known, read->known, read->nr_known);
	p->used[nr_of(self)] = self->view[nr_of(self)];
	if (releases(order)) {
		view_add(m->known, self->view, width);
		self->view[nr_of(self)]++;
	}
	if (order == __ATOMIC_SEQ_CST)
		p->in_order = m->at;
	memcpy((void *)p->addr, &value, (size_t)p->size);
}

static const char *order_name(int order)
{
	static const char *const names[] = { "relaxed", "consume", "acquire",
					     "release", "acq_rel", "seq_cst" };

	return names[order];
}

uint64_t memory_load(void *object, int size, int order)
{
	struct place *p = place_of(object, size);
	struct message *m = some_message(p, order);
	uint64_t value = part_of(p, object, size, m->value);

	read_message(p, m, order);
	tell(caller_pc, "load %s %s: %#lx%s", order_name(order),
	     name_of(object), value,
	     m == p->newest ? "" : ", which is not the newest");
	return value;
}

void memory_store(void *object, int size, uint64_t value, int order)
{
	struct place *p = place_of(object, size);

	tell(caller_pc, "store %s %s: %#lx", order_name(order), name_of(object),
	     value);
	write_message(p, with_part(p, object, size, value), order, NULL);
}

uint64_t memory_change(void *object, int size, enum change change, uint64_t by,
		       int order)
{
	struct place *p = place_of(object, size);
	struct message *m = p->newest;
	uint64_t old = part_of(p, object, size, m->value), to = by;

	if (change == ADD)
		to = old + by;
	else if (change == AND)
		to = old & by;
	else if (change == OR)
		to = old | by;
	else if (change == XOR)
		to = old ^ by;
	tell(caller_pc, "change %s %s: %#lx to %#lx", order_name(order),
	     name_of(object), old, to);
	read_message(p, m, order);
	write_message(p, with_part(p, object, size, to), order, m);
	return old;
}

bool memory_cas(void *object, int size, uint64_t *old, uint64_t to, int order,
		int order_failed)
{
	struct place *p = place_of(object, size);
	struct message *m = some_message(p, order_failed);
	uint64_t found = part_of(p, object, size, m->value);

	if (m != p->newest && found == *old) {
		m = p->newest;
		found = part_of(p, object, size, m->value);
	}
	if (found == *old) {
		tell(caller_pc, "cas %s %s: %#lx to %#lx", order_name(order),
		     name_of(object), found, to);
		read_message(p, m, order);
		write_message(p, with_part(p, object, size, to), order, m);
		return true;
	}
	tell(caller_pc, "cas %s %s: fails, %#lx is not %#lx%s",
	     order_name(order), name_of(object), found, *old,
	     m == p->newest ? "" : " (and not the newest)");
	read_message(p, m, order_failed);
	*old = found;
	return false;
}
