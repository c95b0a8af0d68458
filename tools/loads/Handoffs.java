// SPDX-License-Identifier: MIT
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.*;

/** Java threads that wait for each other: `java Handoffs KIND COUNT`. */
public class Handoffs {
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
                    throw new IllegalStateException(e);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads)
            thread.join();
    }

    /** 4 producers and 4 consumers at a queue of 16 places. */
    static void queue(int count) throws Exception {
        ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(16);
        threads(8, mine -> {
            for (int n = 0; n < count; n++) {
                if (mine < 4)
                    queue.put(n);
                else
                    queue.take();
            }
        });
    }

    /** 2 threads hand items over to 2 others, and wait for them to do so. */
    static void transfer(int count) throws Exception {
        LinkedTransferQueue<Integer> queue = new LinkedTransferQueue<>();
        threads(4, mine -> {
            for (int n = 0; n < count; n++) {
                if (mine < 2)
                    queue.transfer(n);
                else
                    queue.take();
            }
        });
    }

    /** A pool of 4 threads that gets 8 small tasks at a time. */
    static void executor(int count) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Callable<Integer>> tasks = Collections.nCopies(8, () -> {
            int sum = 0;
            for (int n = 0; n < 2000; n++)
                sum = sum * 31 + n;
            return sum;
        });
        for (int n = 0; n < count; n++)
            pool.invokeAll(tasks);
        pool.shutdown();
    }

    /** 8 threads that meet at a barrier. */
    static void barrier(int count) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(8);
        threads(8, mine -> {
            for (int n = 0; n < count; n++)
                barrier.await();
        });
    }

    /** 8 threads at one monitor, each of which waits for its turn. */
    static void monitor(int count) throws Exception {
        Object monitor = new Object();
        int[] turn = {0};
        threads(8, mine -> {
            for (int n = mine; n < 8 * count; n += 8) {
                synchronized (monitor) {
                    while (turn[0] != n)
                        monitor.wait();
                    turn[0]++;
                    monitor.notifyAll();
                }
            }
        });
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[1]);
        switch (args[0]) {
        case "queue" -> queue(count);
        case "transfer" -> transfer(count);
        case "executor" -> executor(count);
        case "barrier" -> barrier(count);
        case "monitor" -> monitor(count);
        default -> throw new IllegalArgumentException(args[0]);
        }
    }
}
