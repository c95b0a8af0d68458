# SPDX-License-Identifier: MIT
# Ruby threads that wait for each other: handoffs.rb KIND COUNT

kind = ARGV[0]
count = Integer(ARGV[1])

# 4 producers and 4 consumers at a queue of 8 places.
def queues(count)
  queue = SizedQueue.new(8)
  threads = 8.times.map do |mine|
    Thread.new do
      count.times { |n| mine < 4 ? queue.push(n) : queue.pop }
    end
  end
  threads.each(&:join)
end

# 4 threads that pass on a turn, each with a condition of its own.
def ring(count)
  lock = Mutex.new
  turn = 0
  conditions = 4.times.map { ConditionVariable.new }
  threads = 4.times.map do |mine|
    Thread.new do
      mine.step(4 * count - 1, 4) do |n|
        lock.synchronize do
          conditions[mine].wait(lock) while turn != n
          turn += 1
          conditions[(mine + 1) % 4].signal
        end
      end
    end
  end
  threads.each(&:join)
end

case kind
when 'queues' then queues(count)
when 'ring' then ring(count)
else abort "no #{kind}"
end
