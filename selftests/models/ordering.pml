/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shapes of pairs that memory-ordering.rst names, on memory that is weaker
 * than Spin's own.
 *
 * Message passing: one CPU writes what it has to say, then a flag, with release;
 * another one that acquires the flag sees what was said before:
 *
 * @model message-passing -DMESSAGE_PASSING
 * @run quick
 * @twin quick RELEASE what_was_said_is_seen: the flag is in memory first
 * @twin quick ACQUIRE what_was_said_is_seen: what was said is read first
 *
 * Store buffering: each of two CPUs changes its own word, and then looks at the
 * other's. With a full barrier between the two on both sides, at least one finds
 * the other's change:
 *
 * @model store-buffering -DSTORE_BUFFERING
 * @run quick
 * @twin quick BARRIER one_sees_the_other: its store is still in the buffer
 *
 * Who is done with some memory says so with release; who learns of it uses the
 * memory for something else, which must stay ([G-STATE], group_unpin()). The
 * acquire of the second keeps its own writes behind it. No CPU here stores what
 * it may have to take back, so that has no twin:
 *
 * @model overwriting -DOVERWRITING
 * @run quick
 * @twin quick RELEASE nothing_is_overwritten: the old value reaches memory last
 */
#include "guard.inc"

#define NR_CPUS 2
#define NR_WORDS 2

hidden byte what_was_said_is_seen, one_sees_the_other, nothing_is_overwritten;

/*
 * Each CPU has a store buffer, with room for one store to each word, which reach
 * memory at any time and in any order. A CPU reads its own stores from its
 * buffer.
 *
 *   relaxed store	into the buffer
 *   release store	into the buffer, once it is empty: after all before it
 *   seq_cst store	a store, and a wait until the buffer is empty
 *   loads		in program order, unless the model says that two of
 *			them may change places (both relaxed)
 *
 * x86 is stronger (the buffer is a queue); Arm and POWER can do all of this.
 */
byte memory[NR_WORDS];
bool buffered[NR_CPUS * NR_WORDS];
byte buffer[NR_CPUS * NR_WORDS];
byte nr_buffered[NR_CPUS];

#define SLOT(cpu, word)	((cpu) * NR_WORDS + (word))
#define IS_EMPTY(cpu)	(nr_buffered[cpu] == 0)
#define LOAD(cpu, word)							\
	(buffered[SLOT(cpu, word)] -> buffer[SLOT(cpu, word)] : memory[word])

/* One slot for each word: a second store to it waits for the first. */
#define STORE(cpu, word, value, may)					\
	atomic {							\
		may ->							\
		buffered[SLOT(cpu, word)] = true;			\
		nr_buffered[cpu]++;					\
		buffer[SLOT(cpu, word)] = value				\
	}

inline store_relaxed(cpu, word, value)
{
	STORE(cpu, word, value, !buffered[SLOT(cpu, word)])
}

inline store_release(cpu, word, value)
{
	STORE(cpu, word, value, IS_EMPTY(cpu))
}

inline store_seq_cst(cpu, word, value)
{
	store_release(cpu, word, value);
	IS_EMPTY(cpu)
}

/* The buffers, in the background: each drains one word of one CPU. */
active [NR_CPUS * NR_WORDS] proctype Buffer()
{
end_buffer:
	do
	:: atomic {
		buffered[_pid] ->
		memory[_pid % NR_WORDS] = buffer[_pid];
		buffered[_pid] = false;
		nr_buffered[_pid / NR_WORDS]--;
		buffer[_pid] = 0
	   }
	od
}

#if defined(MESSAGE_PASSING)
#define SAID	0
#define FLAG	1

inline thread(cpu)
{
	if
	:: cpu == 0 ->
		store_relaxed(0, SAID, 1);
		BUSTED_OR(RELEASE, store_relaxed(0, FLAG, 1),
			  store_release(0, FLAG, 1))
	:: cpu == 1 ->
		BUSTED(ACQUIRE, seen = LOAD(1, SAID);)
		flag = LOAD(1, FLAG);
		GUARD(ACQUIRE, seen = LOAD(1, SAID);)
		CHECK(what_was_said_is_seen, !flag || seen)
	fi
}

#define IS_RIGHT	true

#elif defined(STORE_BUFFERING)
/* CPU n changes word n. */
bool saw[NR_CPUS];

inline thread(cpu)
{
	BUSTED_OR(BARRIER,
		if
		:: cpu -> store_seq_cst(cpu, cpu, 1)
		:: !cpu -> store_release(cpu, cpu, 1)
		fi,
		store_seq_cst(cpu, cpu, 1));
	saw[cpu] = LOAD(cpu, 1 - cpu)
}

#define IS_RIGHT	CHECK(one_sees_the_other, saw[0] || saw[1])

#elif defined(OVERWRITING)
#define MEMORY		0
#define NR_GONE		1

/* Read-modify-write, of memory itself; what was stored before may come later. */
inline thread(cpu)
{
	store_relaxed(cpu, MEMORY, 1);
	atomic {
		BUSTED_OR(RELEASE, !buffered[SLOT(cpu, NR_GONE)],
			  IS_EMPTY(cpu)) ->
		memory[NR_GONE]++;
		seen = memory[NR_GONE]
	}
	WHEN(seen == NR_CPUS, store_relaxed(cpu, MEMORY, 2))
}

#define IS_RIGHT	CHECK(nothing_is_overwritten, memory[MEMORY] == 2)
#endif

#define CPU	(_pid - NR_CPUS * NR_WORDS)

active [NR_CPUS] proctype Thread()
{
	byte seen, flag;

	thread(CPU)
}

active proctype Judge()
{
	atomic { timeout -> IS_RIGHT }
}
