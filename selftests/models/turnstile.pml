/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel/patches/turnstile: waiters on two futexes queue on objects that a
 * requeue moves or merges, and a resize of the hash moves, too. Each waiter may
 * end by itself at any time: with no lock it follows its queue to a bucket.
 *
 * Whatever is written under a bucket's lock is one step, but for the stores that
 * such a waiter reads, in their order. Wakes and ends use the queues again.
 *
 * @run quick
 * @run -DRESIZE
 * @twin quick NO_SECOND_LOOK owner_holds_the_lock: it has moved meanwhile
 * @twin quick ONE_LOCK owner_holds_the_lock: the source is not locked
 * @twin quick NO_REFS spare_is_nobodys: a merged queue that still leads on
 * @twin quick NO_REST queues_are_kept: another one has left without
 * @twin NO_RCU bucket_exists -DRESIZE: the hash was resized and freed
 * @twin QUEUE_FIRST bucket_exists -DRESIZE: no queue, and an old lock
 */
#include "guard.inc"

#define NR_WAITERS	2
#define NR_QUEUES	NR_WAITERS	/* one each; a failed find is the caller's */
#define NR_BUCKETS	4
#define NONE		255

hidden byte owner_holds_the_lock, bucket_exists, spare_is_nobodys,
	queues_are_kept, everybody_has_left, i, x;

/* struct futex_hash_bucket: futex f is in f of the old hash, f + 2 of the new */
bool locked[NR_BUCKETS];
bool gone[NR_BUCKETS];
byte hash;
byte users;			/* references to the hash; no resize meanwhile */
bool resizing;

/* struct futex_queue */
byte bucket[NR_QUEUES];
byte forward[NR_QUEUES] = NONE;
byte members[NR_QUEUES];	/* a bit each: the plist of a root */
byte refs[NR_QUEUES];
byte rank[NR_QUEUES];
byte spares[NR_QUEUES];		/* a bit each */
bool linked[NR_QUEUES];		/* in the bucket's list */

/* struct futex_q, and the spare of its task */
byte queue[NR_WAITERS] = NONE;
byte lock[NR_WAITERS] = NONE;
byte spare[NR_WAITERS];		/* a bit each */
bool in_rcu[NR_WAITERS];
byte waits_left = 2;

#define BIT(n) (1 << (n))
#define IS_IN(q, b) (linked[q] && bucket[q] == (b))

inline take(b)
{
	atomic { !locked[b] -> CHECK(bucket_exists, !gone[b]); locked[b] = true }
}

#define DROP_LOCK(b) locked[b] = false

inline hold_hash()
{
	atomic { !resizing -> users++ }
}

/* The one in @b, or NONE. In an atomic step. */
inline find(b, q)
{
	q = NONE;
	for (i : 0 .. NR_QUEUES - 1) {
		WHEN(IS_IN(i, b), q = i)
	}
}

/* futex_queue_join(), locked */
inline join(t, b)
{
	atomic {
		find(b, q);
		if
		:: q == NONE ->
			/* The lowest of those that it brought. */
			q = (spare[t] & 1 -> 0 : 1);
			CHECK(queues_are_kept, spare[t] & BIT(q));
			/* Who is not in use has no one that leads to it. */
			for (i : 0 .. NR_WAITERS - 1) {
				CHECK(spare_is_nobodys, queue[i] != q)
			}
			spares[q] = spare[t] & ~BIT(q);
			members[q] = 0;
			refs[q] = 0;
			rank[q] = 0
		:: else ->
			spares[q] = spares[q] | spare[t];
			goto joined
		fi
	};
	bucket[q] = b;
	forward[q] = NONE;
joined:	atomic {
		linked[q] = true;
		spare[t] = 0;
		members[q] = members[q] | BIT(t);
		refs[q]++;
		lock[t] = b;
		queue[t] = q
	}
}

/* __futex_unqueue(), locked */
inline unqueue(t, b)
{
	BUSTED(QUEUE_FIRST, q = queue[t]; queue[t] = NONE;)
	atomic {
		GUARD(QUEUE_FIRST, q = queue[t];)
		CHECK(owner_holds_the_lock, q != NONE);
		r = q;
		do
		:: forward[r] != NONE -> r = forward[r]
		:: else -> break
		od;
		CHECK(owner_holds_the_lock,
		      IS_IN(r, b) && (members[r] & BIT(t)));
		members[r] = members[r] & ~BIT(t);
		refs[q]--;
		do
		:: q != r && refs[q] == 0 ->
			spares[r] = spares[r] | BIT(q);
			q = forward[q];
			refs[q]--
		:: else -> break
		od;
		if
		:: members[r] == 0 ->
			linked[r] = false;
			spare[t] = BIT(r) GUARD(NO_REST, | spares[r]);
			spares[r] = 0
		:: else ->
			spare[t] = (spares[r] & 1 -> 1 : spares[r] & 2);
			spares[r] = spares[r] & ~spare[t]
		fi;
		q = NONE;
		r = NONE
	}
	lock[t] = b;
	GUARD(QUEUE_FIRST, queue[t] = NONE;)
}

/* futex_q_lockptr(): to b, NONE if it was woken */
inline follow(t)
{
	q = queue[t];
	if
	:: q == NONE -> b = lock[t]
	:: else ->
		do
		:: atomic { forward[q] != NONE -> q = forward[q] }
		:: atomic { forward[q] == NONE -> break }
		od;
		b = bucket[q]
	fi
}

/* futex_unqueue() */
inline leave(t)
{
	GUARD(NO_RCU, in_rcu[t] = true;)
	do
	:: follow(t);
		WHEN(b == NONE, break);
		take(b);
		was = b;
		GUARD(NO_SECOND_LOOK, follow(t);)
		if
		:: b == was ->
			unqueue(t, b);
			atomic { lock[t] = NONE; DROP_LOCK(b) };
			break
		:: else -> DROP_LOCK(was)
		fi
	od;
	atomic { q = NONE; b = NONE; was = NONE; in_rcu[t] = false }
}

proctype Waiter(byte t)
{
	byte q = NONE, r = NONE, b = NONE, was = NONE;

	spare[t] = BIT(t);
	do
	:: atomic { waits_left -> waits_left-- };
		atomic {
			hold_hash();
			if
			:: b = hash
			:: b = hash + 1
			fi
		};
		take(b);
		join(t, b);
		atomic { DROP_LOCK(b); users--; q = NONE; b = NONE };
		leave(t);
		WHEN(spare[t] == 0, break)
	:: break
	od
}

/* futex_wake() of one waiter */
proctype Waker()
{
	byte q = NONE, r = NONE, b, t;

	atomic { hold_hash(); b = hash };
	take(b);
	atomic {
		find(b, q);
		if
		:: q == NONE -> t = NONE
		:: else -> t = (members[q] & 1 -> 0 : 1)
		fi
	};
	WHEN(t != NONE, unqueue(t, b));
	atomic {
		WHEN(t != NONE, lock[t] = NONE);
		DROP_LOCK(b);
		users--
	}
}

/* futex_queue_move(), locked: q to c, where r is, or none */
inline move(c)
{
	atomic {
		if
		:: q == NONE -> goto moved
		:: q != NONE && r == NONE -> bucket[q] = c; goto moved
		:: else
		fi;
		members[r] = members[r] | members[q];
		linked[q] = false;
		WHEN(rank[q] > rank[r],
			members[q] = members[r];
			linked[r] = false;
			linked[q] = true;
			bucket[q] = c;
			i = q;
			q = r;
			r = i);
		rank[r] = rank[r] + (rank[r] == rank[q]);
		refs[r]++;
		spares[r] = spares[r] | spares[q];
		BUSTED(NO_REFS, spares[r] = spares[r] | BIT(q);)
		spares[q] = 0;
		members[q] = 0
	};
	forward[q] = r;
moved:	skip
}

/* One way, and perhaps back. */
proctype Requeuer(byte to)
{
	byte q = NONE, r = NONE, b, c;

	atomic { hold_hash(); b = hash + 1 - to; c = hash + to };
	/* The lower one first */
	if
	:: to == 0 -> take(c); GUARD(ONE_LOCK, take(b))
	:: to == 1 -> GUARD(ONE_LOCK, take(b);) take(c)
	fi;
	atomic { find(b, q); find(c, r) };
	move(c);
	atomic { GUARD(ONE_LOCK, DROP_LOCK(b);) DROP_LOCK(c); users-- }
}

/* futex_rehash_private(), and the old hash is freed */
proctype Resizer()
{
	byte q, b = 0;

	atomic { users == 0 -> resizing = true };
	do
	:: b < 2 ->
		take(b);
		take(b + 2);
		atomic {
			find(b, q);
			WHEN(q != NONE, bucket[q] = b + 2);
			q = NONE
		};
		atomic { DROP_LOCK(b + 2); DROP_LOCK(b); b++ }
	:: else -> break
	od;
	atomic { hash = 2; resizing = false };
	/* Those that read before, one after the other */
	!in_rcu[0];
	!in_rcu[1];
	atomic { gone[0] = true; gone[1] = true }
}

init
{
	atomic {
		for (x : 0 .. NR_WAITERS - 1) {
			run Waiter(x)
		}
		run Waker();
		run Requeuer(1);
#ifdef RESIZE
		run Resizer()
#else
		run Requeuer(0)
#endif
	};
	_nr_pr == 1;
	atomic {
		CHECK(everybody_has_left, !linked[0] && !linked[1]);
		CHECK(queues_are_kept, (spare[0] | spare[1]) == 3);
		CHECK(spare_is_nobodys, (spare[0] & spare[1]) == 0)
	}
}
