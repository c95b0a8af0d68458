/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conduct.h - what is done to those who wait in a storm, and how it ends
 *
 * A signal or broadcast is written into the ledger under the mutex, and sent
 * either there and then or after the mutex has been released.
 */
#ifndef DROVER_SELFTESTS_CONDUCT_H
#define DROVER_SELFTESTS_CONDUCT_H

#include <limits.h>

#include "storm.h"

static inline void conduct_result(const char *what, int err)
{
	if (err)
		ledger_wrong(&storm->ledger, "%s: %s", what, strerror(err));
}

static inline void conduct_signal(bool keep)
{
	struct ledger *l = &storm->ledger;
	api_cond_t *cond;
	bool allowed;

	pthread_rwlock_rdlock(&storm->conductors);
	storm_lock();
	cond = storm->target.cond;
	allowed = ledger_signal(l, !keep);
	if (allowed && keep)
		conduct_result("signal", api_cond_signal(cond));
	else if (allowed)
		atomic_fetch_add(&l->sending, 1);
	storm_unlock();
	if (allowed && !keep) {
		conduct_result("signal", api_cond_signal(cond));
		atomic_fetch_sub(&l->sending, 1);
	}
	pthread_rwlock_unlock(&storm->conductors);
}

/* @destroy: at once, and whoever waits from now on does so on another one */
static inline void conduct_broadcast(bool keep, bool destroy)
{
	struct target *t = &storm->target;
	api_cond_t *cond;

	pthread_rwlock_wrlock(&storm->conductors);
	storm_lock();
	cond = t->cond;
	ledger_broadcast(&storm->ledger);
	if (destroy)
		t->cond = target_new_cond(t);
	/* Without the mutex, newcomers could not know whether it is for them. */
	atomic_store(&storm->hold_back, !keep && !destroy);
	if (!keep)
		storm_unlock();
	conduct_result("broadcast", kind_broadcast(cond, &t->mutex));
	if (destroy)
		target_end_cond(t, cond);
	atomic_store(&storm->hold_back, false);
	if (keep)
		storm_unlock();
	pthread_rwlock_unlock(&storm->conductors);
}

/* Take one out of its system call. One signal restarts it, one does not. */
static inline void conduct_interrupt(struct worker *victim, bool restart)
{
	int number = restart ? SIGUSR1 : SIGUSR2;

	if (victim->pid)
		kill(victim->pid, number);
	else
		pthread_kill(victim->thread, number);
}

/*
 * Whom a signal or broadcast has been sent to before must not notice. No signal
 * is on its way, so it cannot have been meant for this one alone.
 */
static inline void conduct_cancel(struct worker *victim)
{
	if (victim->role != QUITTER)
		return;
	pthread_rwlock_wrlock(&storm->conductors);
	storm_lock();
	if (!atomic_exchange(&victim->cancelled, true)) {
		if (victim->wait &&
		    ledger_may_leave(&storm->ledger, victim->wait->number)) {
			victim->wait->kind = LEAVES;
			atomic_store(&victim->state, ACTIVE);
		}
		pthread_cancel(victim->thread);
	}
	storm_unlock();
	pthread_rwlock_unlock(&storm->conductors);
}

static inline void conduct_once(struct worker *w)
{
	uint32_t nr_others = storm->nr_workers;
	struct worker *other;

	other = &storm->workers[random_below(&w->random, nr_others)];
	switch (random_below(&w->random, 16)) {
	case 0:
		conduct_broadcast(true, random_below(&w->random, 2));
		break;
	case 1:
		conduct_broadcast(false, random_below(&w->random, 2));
		break;
	case 2 ... 5:
		conduct_signal(true);
		break;
	case 6 ... 9:
		conduct_signal(false);
		break;
	case 10 ... 11:
		conduct_interrupt(other, random_below(&w->random, 2));
		break;
	case 12 ... 13:
		conduct_cancel(other);
		break;
	default:
		storm_dawdle(w);
	}
}

/* Its actions of one round. */
void worker_conduct(struct worker *w)
{
	int nr = 1 + random_below(&w->random, 12);

	while (nr--)
		conduct_once(w);
}

static inline const char *role_name(const struct worker *w)
{
	static const char *const names[] = { "waiter", "quitter", "locker",
					     "conductor" };

	return names[w->role];
}

/* With the system call that it sleeps in, as the kernel tells. */
static inline void worker_report(const struct worker *w)
{
	static const char *const states[] = { "active", "parked", "waits",
					      "gone" };
	char call[256];
	ssize_t len = blocked_read(w->pid ? w->pid : getpid(), w->tid,
				   "syscall", call, sizeof(call));

	tap_diag("%s %d: %s%s, system call %.*s", role_name(w), w->tid,
		 states[atomic_load(&w->state)],
		 atomic_load(&w->cancelled) ? ", cancelled" : "",
		 len > 0 ? (int)strcspn(call, "\n") : 1, len > 0 ? call : "?");
}

/* Something is wrong: say all that is known, and end this storm. */
static inline _Noreturn void storm_fail(const char *what)
{
	struct ledger *l = &storm->ledger;

	tap_diag("%s", what);
	if (atomic_load(&l->nr_wrong))
		tap_diag("wrong: %s (and %d more)", l->wrong,
			 atomic_load(&l->nr_wrong) - 1);
	tap_diag("%s mutex, late=%u spurious=%u expire=%u refuse=%d",
		 storm->target.kind, fake_futex.late, fake_futex.spurious,
		 fake_futex.expire, fake_futex.refuse_with);
	tap_diag("waits=%lu broadcast=%lu stay=%d due=%d signals=%d", l->begun,
		 l->broadcast, l->stay, l->due, l->nr_signals);
	tap_diag("mutex %p: %#x, owner %d", (void *)&storm->target.mutex,
		 *(uint32_t *)&storm->target.mutex,
		 API_IS_PTHREAD ? ((int *)&storm->target.mutex)[2] :
				  ((int *)&storm->target.mutex)[1]);
	for (int i = 0; i < storm->nr_workers; i++)
		worker_report(&storm->workers[i]);
	fflush(stdout);
	_exit(1);
}

static inline bool storm_settled(int *nr_waiting)
{
	*nr_waiting = 0;
	if (atomic_load(&storm->ledger.owed))
		return false;
	for (int i = 0; i < storm->nr_workers; i++) {
		int state = atomic_load(&storm->workers[i].state);

		if (state == ACTIVE)
			return false;
		*nr_waiting += state == WAITING;
	}
	return true;
}

static inline bool storm_conductors_done(uint32_t gate)
{
	for (int i = 0; i < storm->nr_workers; i++) {
		struct worker *w = &storm->workers[i];

		if (w->role == CONDUCTOR &&
		    (atomic_load(&w->state) != PARKED ||
		     atomic_load(&w->last_round) != gate))
			return false;
	}
	return true;
}

/* Wait without a lock. @gate: of which conductors must be done; 0: all */
static inline void storm_await(uint32_t gate)
{
	int64_t deadline = blocked_deadline_in(storm->patience);
	unsigned int nr_steps = 0;
	int nr_waiting = 0;

	while (!(gate ? storm_conductors_done(gate) :
			storm_settled(&nr_waiting))) {
		if (atomic_load(&storm->ledger.nr_wrong))
			storm_fail("stopped");
		if (nr_steps != atomic_load(&storm->nr_steps)) {
			nr_steps = atomic_load(&storm->nr_steps);
			deadline = blocked_deadline_in(storm->patience);
		}
		if (blocked_over(deadline))
			storm_fail("somebody was forgotten");
		nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
	}
	if (!gate && nr_waiting != storm->ledger.stay)
		storm_fail("not those wait who should");
}

static inline void storm_turn_gate(void)
{
	atomic_fetch_add(&storm->gate, 1);
	sys_futex_wake(&storm->gate, 0, INT_MAX);
}

static inline void storm_revive(void)
{
	for (int i = 0; i < storm->nr_workers; i++) {
		struct worker *w = &storm->workers[i];

		if (atomic_load(&w->state) == GONE) {
			worker_join(w);
			worker_start(w);
		}
	}
}

/* All actions of a round, and what comes of them. */
static inline void storm_round(void)
{
	storm_turn_gate();
	storm_await(atomic_load(&storm->gate));
	storm_turn_gate();
	storm_await(0);
	if (atomic_load(&storm->ledger.nr_wrong))
		storm_fail("stopped");
	storm_revive();
}

/*
 * Everybody goes home: one last broadcast, and the mutex is free after it. Who
 * does not come ends it by SIGALRM.
 */
static inline void storm_end(void)
{
	alarm(3 * storm->patience);
	atomic_store(&storm->stop, true);
	conduct_broadcast(false, true);
	storm_turn_gate();
	for (int i = 0; i < storm->nr_workers; i++)
		worker_join(&storm->workers[i]);
	if (api_mutex_trylock(&storm->target.mutex))
		ledger_wrong(&storm->ledger, "the mutex is held at the end");
	if (atomic_load(&storm->ledger.nr_wrong) ||
	    atomic_load(&storm->ledger.owed))
		storm_fail("ended");
}

#endif /* DROVER_SELFTESTS_CONDUCT_H */
