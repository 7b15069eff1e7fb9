# SPDX-License-Identifier: BSD-2-Clause
# collect.rb SECONDS: allocates until the interpreter has collected often, and then asks for some
# collections.
#
# Prints, for the time from the first line to the last: CLOCK_MONOTONIC ns at its begin and end, how
# many collections there were of young objects and of all by the interpreter's own account, and why
# each of those that it asked for was of all.

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

def counts = GC.stat.values_at(:minor_gc_count, :major_gc_count)

kept = []
GC.disable
began = now
before = counts
GC.enable
deadline = began + ARGV[0].to_f * 1e9
while now < deadline || counts[0] - before[0] < 20
  20_000.times { |i| kept[i] = "x" * (i % 100) }
end
reasons = 5.times.map do
  GC.start
  GC.latest_gc_info(:major_by)
end
GC.disable
after = counts
puts [began, now, after[0] - before[0], after[1] - before[1], *reasons].join(" ")
$stdout.flush
