// SPDX-License-Identifier: GPL-2.0-only
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Work for a Java VM's threads; what it prints does not depend on their timing.
 * Monitors, parked threads and the VM's own threads (collector, compiler,
 * safepoints) all wait on pthread condition variables.
 */
public class Threads {
    interface Body {
        void run(int number) throws Exception;
    }

    /** Run threads 0 to count - 1 to their end. */
    static void threads(int count, Body body) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int number = i;
            Thread thread = new Thread(() -> {
                try {
                    body.run(number);
                } catch (Exception e) {
                    System.out.println("thread " + number + ": " + e);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads)
            thread.join();
    }

    /** Monitors: threads wait for their turn, some with a time limit. */
    static String turns() throws Exception {
        Object monitor = new Object();
        int[] turn = {0};
        StringBuilder order = new StringBuilder();
        threads(6, mine -> {
            for (int n = mine; n < 1200; n += 6) {
                synchronized (monitor) {
                    while (turn[0] != n) {
                        if (n % 3 == 0)
                            monitor.wait(1);
                        else
                            monitor.wait();
                    }
                    turn[0]++;
                    order.append(mine);
                    monitor.notifyAll();
                }
            }
        });
        return order.length() + " " + order.toString().hashCode();
    }

    /** Locks and conditions: many hands on a short queue. */
    static long shortQueue() throws Exception {
        ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(2);
        AtomicLong sum = new AtomicLong();
        threads(8, mine -> {
            for (int n = 0; n < 3000; n++) {
                if (mine < 4)
                    queue.put(mine * 3000 + n);
                else
                    sum.addAndGet(queue.take());
            }
        });
        return sum.get();
    }

    /** Parked threads that are passed a permit in a ring. */
    static int ring() throws Exception {
        int count = 5, laps = 400;
        Thread[] members = new Thread[count];
        int[] token = {0};
        Object guard = new Object();
        CountDownLatch ready = new CountDownLatch(count);
        threads(count, mine -> {
            members[mine] = Thread.currentThread();
            ready.countDown();
            ready.await();
            for (;;) {
                int now;
                synchronized (guard) {
                    now = token[0];
                    if (now < laps * count && now % count == mine)
                        token[0]++;
                }
                LockSupport.unpark(members[(mine + 1) % count]);
                if (now >= laps * count)
                    return;
                if (now % count != mine)
                    LockSupport.parkNanos(2_000_000);
            }
        });
        return token[0];
    }

    /** Threads that are interrupted while they wait. */
    static int interrupted() throws Exception {
        Object never = new Object();
        AtomicLong count = new AtomicLong();
        for (int i = 0; i < 50; i++) {
            CountDownLatch waiting = new CountDownLatch(1);
            Thread thread = new Thread(() -> {
                try {
                    synchronized (never) {
                        waiting.countDown();
                        for (;;)
                            never.wait();
                    }
                } catch (InterruptedException e) {
                    count.incrementAndGet();
                }
            });
            thread.start();
            waiting.await();
            thread.interrupt();
            thread.join();
        }
        return count.intValue();
    }

    /** Sorting in a pool, with garbage and collections meanwhile. */
    static long pool() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> sums = new ArrayList<>();
        for (int i = 0; i < 24; i++) {
            int seed = i;
            sums.add(pool.submit(() -> {
                int[] numbers = new Random(seed).ints(60_000).toArray();
                Arrays.parallelSort(numbers);
                if (seed % 6 == 0)
                    System.gc();
                long sum = 0;
                for (int n = 0; n < numbers.length; n++)
                    sum = sum * 31 + numbers[n];
                return sum;
            }));
        }
        long all = 0;
        for (Future<Long> sum : sums)
            all ^= sum.get();
        pool.shutdown();
        pool.awaitTermination(60, TimeUnit.SECONDS);
        return all;
    }

    public static void main(String[] args) throws Exception {
        System.out.println("turns " + turns());
        System.out.println("short queue " + shortQueue());
        System.out.println("ring " + ring());
        System.out.println("interrupted " + interrupted());
        System.out.println("pool " + pool());
        CyclicBarrier barrier = new CyclicBarrier(5);
        AtomicLong firsts = new AtomicLong();
        threads(5, mine -> {
            for (int n = 0; n < 300; n++)
                if (barrier.await() == 0)
                    firsts.incrementAndGet();
        });
        System.out.println("barrier " + firsts);
    }
}
