// SPDX-License-Identifier: MIT

package main

import (
	"sync"
	"time"
)

// waiters is what cond-perf and broadcast share: all wait for the next round.
type waiters struct {
	lock           sync.Mutex
	round, back    *sync.Cond // with lock
	number, inside int        // lock: rounds so far, goroutines in the wait
	leave          bool       // lock
}

func newWaiters() *waiters {
	h := &waiters{}
	h.round, h.back = sync.NewCond(&h.lock), sync.NewCond(&h.lock)
	return h
}

// await waits for the next round, with the lock held.
func (h *waiters) await(n int) {
	seen := h.number
	h.inside++
	if h.inside == n {
		h.back.Signal()
	}
	for h.number == seen {
		h.round.Wait()
	}
}

// announce starts a round, with the lock held.
func (h *waiters) announce(keep bool) {
	h.number++
	h.inside = 0
	if !keep {
		h.lock.Unlock()
	}
	h.round.Broadcast()
	if !keep {
		h.lock.Lock()
	}
}

// play runs n goroutines through r rounds; each does work in between, and
// leaves the mutex if away is set.
func (h *waiters) play(o options, away bool, work func(),
	measured func(func())) (int, map[string]any) {
	var done sync.WaitGroup
	for range make([]struct{}, o.n) {
		done.Add(1)
		go func() {
			defer done.Done()
			h.lock.Lock()
			defer h.lock.Unlock()
			for h.await(o.n); !h.leave; h.await(o.n) {
				work()
				if away {
					h.lock.Unlock()
					h.lock.Lock()
				}
			}
		}()
	}
	all := func() {
		for h.inside < o.n {
			h.back.Wait()
		}
	}
	h.lock.Lock()
	all()
	measured(func() {
		for i := 0; i < o.r; i++ {
			h.announce(o.keep)
			all()
		}
	})
	h.leave = true
	h.announce(true)
	h.lock.Unlock()
	done.Wait()
	return o.n * o.r, map[string]any{"threads": o.n, "rounds": o.r,
		"keep": o.keep}
}

func condPerf(o options, measured func(func())) (int, map[string]any) {
	n, values := newWaiters().play(o, false, func() {}, measured)
	values["other"] = false
	return n, values
}

func spin(rounds int) uint64 {
	x := uint64(rounds)
	for i := 0; i < rounds; i++ {
		x = x*6364136223846793005 + 1
	}
	return x
}

var sink uint64

// roundsFor returns the argument of spin that takes so many nanoseconds.
func roundsFor(ns int) int {
	const probe = 20000
	least := time.Hour
	for i := 0; i < 50; i++ {
		start := time.Now()
		sink += spin(probe)
		if took := time.Since(start); took < least {
			least = took
		}
	}
	return int(float64(ns) * probe / float64(least.Nanoseconds()))
}

func broadcast(o options, measured func(func())) (int, map[string]any) {
	rounds := roundsFor(o.c)
	operations, result := newWaiters().play(o, true,
		func() { sink += spin(rounds) }, measured)
	result["section_ns"] = o.c
	return operations, result
}

// together starts n goroutines at once and waits for all.
func together(n int, measured func(func()), main func(index int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := 0; i < n; i++ {
		ready.Add(1)
		done.Add(1)
		go func(index int) {
			defer done.Done()
			ready.Done()
			<-start
			main(index)
		}(i)
	}
	ready.Wait()
	measured(func() {
		close(start)
		done.Wait()
	})
}

// ring is a number of goroutines that take turns under one mutex.
type ring struct {
	sync.Mutex
	mine []*sync.Cond // with the mutex
	turn int          // the mutex
}

func newRing(n int) *ring {
	r := &ring{}
	for i := 0; i < n; i++ {
		r.mine = append(r.mine, sync.NewCond(r))
	}
	return r
}

func (r *ring) play(me, turns int) {
	next := (me + 1) % len(r.mine)
	r.Lock()
	defer r.Unlock()
	for i := 0; i < turns; i++ {
		for r.turn != me {
			r.mine[me].Wait()
		}
		r.turn = next
		r.mine[next].Signal()
	}
}

func pp(o options, measured func(func())) (int, map[string]any) {
	games := make([]*ring, o.n)
	for i := range games {
		games[i] = newRing(2)
	}
	together(2*o.n, measured, func(index int) {
		games[index/2].play(index%2, o.i)
	})
	return 2 * o.n * o.i, map[string]any{"games": o.n,
		"iterations": o.i, "threads": 2 * o.n}
}

func turnRing(o options, measured func(func())) (int, map[string]any) {
	r := newRing(o.n)
	together(o.n, measured, func(index int) { r.play(index, o.i) })
	return o.n * o.i, map[string]any{"threads": o.n, "turns": o.i,
		"broadcast": false}
}

func queue(o options, measured func(func())) (int, map[string]any) {
	var lock sync.Mutex
	filled, emptied := sync.NewCond(&lock), sync.NewCond(&lock)
	items, got, total := []int{}, 0, o.p*o.i

	produce := func(number int) {
		lock.Lock()
		defer lock.Unlock()
		for len(items) == o.q {
			emptied.Wait()
		}
		items = append(items, number)
		filled.Signal()
	}
	consume := func() bool {
		lock.Lock()
		defer lock.Unlock()
		for len(items) == 0 && got < total {
			filled.Wait()
		}
		if len(items) == 0 {
			return false
		}
		items = items[1:]
		got++
		if got == total {
			filled.Broadcast()
		} else {
			emptied.Signal()
		}
		return true
	}
	together(o.p+o.c, measured, func(index int) {
		if index < o.p {
			for i := 0; i < o.i; i++ {
				produce(index*o.i + i)
			}
			return
		}
		for consume() {
		}
	})
	return total, map[string]any{"producers": o.p, "consumers": o.c,
		"items": o.i, "capacity": o.q, "threads": o.p + o.c,
		"await": false, "unlocked": false}
}
