// SPDX-License-Identifier: MIT
/* Two threads wait for each other in synchronized blocks. */
import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;

class Deadlock {
    static final CountDownLatch both = new CountDownLatch(2);

    static Thread take(String name, Object first, Object second) {
        Thread thread = new Thread(() -> {
            synchronized (first) {
                both.countDown();
                try {
                    both.await();
                } catch (InterruptedException e) {
                    return;
                }
                synchronized (second) {
                }
            }
        }, name);
        thread.start();
        return thread;
    }

    public static void main(String[] words) throws Exception {
        Object a = new Object(), b = new Object();
        Thread thread = take("forwards", a, b);
        take("backwards", b, a);
        while (ManagementFactory.getThreadMXBean().findDeadlockedThreads()
                == null)
            Thread.yield();
        System.out.println("stuck");
        thread.join();
    }
}
