# SPDX-License-Identifier: BSD-2-Clause
# hot.rb SECONDS WAY: two parts of the same work, one three times as long, for so long on the CPU.
#
# Prints which part of the CPU time of both the first has had, and the two lines of share().

def now(clock = Process::CLOCK_PROCESS_CPUTIME_ID) = Process.clock_gettime(clock, :nanosecond)

LENGTH = 20_000
SPENT = [] # of both parts, each time

def leaf(n)
  total = i = 0
  while i < n
    total += i * i
    i += 1
  end
  total
end

def one(depth) = depth > 0 ? one(depth - 1) : leaf(3 * LENGTH)

def two(depth) = depth > 0 ? two(depth - 1) : leaf(LENGTH)

def share(depth = 5)
  start = now(Process::CLOCK_THREAD_CPUTIME_ID)
  one(depth)
  middle = now(Process::CLOCK_THREAD_CPUTIME_ID)
  two(depth)
  SPENT << [middle - start, now(Process::CLOCK_THREAD_CPUTIME_ID) - middle]
end

def until_then(stop, &block)
  [stop].each { |at| block.call while now < at }
end

def run(way, stop)
  case way
  when "threads"
    4.times.map { Thread.new { until_then(stop) { share } } }.each(&:join)
  when "fibers"
    fiber = Fiber.new { loop { Fiber.yield share } }
    until_then(stop) { fiber.resume }
  when "deep"
    until_then(stop) { share(2000) }
  else
    until_then(stop) { share }
  end
end

run(ARGV[1], now + (ARGV[0].to_f * 1e9).to_i)
first = method(:share).source_location[1]
puts [SPENT.sum(&:first).to_f / SPENT.flatten.sum, first + 2, first + 4].join(" ")
