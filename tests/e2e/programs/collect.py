# SPDX-License-Identifier: BSD-2-Clause
# collect.py SECONDS: for PyPy, with PYPY_GC_NURSERY=1M; allocates until it has collected often, and again
# in a process that it forks. Ends with status 3.
#
# Each prints, for the time from the first line to the last: its pid, CLOCK_MONOTONIC ns at its begin and
# end, the number of minor collections, their ns, the same of steps of major ones, the bytes in use after
# its last minor one, and the ns of the longest of both, all by its own hooks.

import gc, os, sys, time

so_far = [0, 0, 0, 0]
longest = [0, 0]
used = 0

def minor(stats):
    global used
    so_far[0] += stats.count
    so_far[1] += int(stats.duration * 1e9)
    longest[0] = max(longest[0], int(stats.duration * 1e9))
    used = stats.total_memory_used

def step(stats):
    so_far[2] += stats.count
    so_far[3] += int(stats.duration * 1e9)
    longest[1] = max(longest[1], int(stats.duration * 1e9))

# A time, and what there was until then: hooks run right behind a collection.
def mark():
    while True:
        before = list(so_far)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if before == so_far:
            return now, before

def work():
    deadline = time.clock_gettime(time.CLOCK_MONOTONIC) + float(sys.argv[1])
    kept = []
    began, before = mark()
    while so_far[2] < before[2] + 20 or time.clock_gettime(time.CLOCK_MONOTONIC) < deadline:
        kept.append([object() for _ in range(100)])
        if len(kept) > 5000:
            kept = []
    now, after = mark()
    print(os.getpid(), began, now, *(a - b for a, b in zip(after, before)), used, *longest)
    sys.stdout.flush()

gc.hooks.on_gc_minor = minor
gc.hooks.on_gc_collect_step = step
work()
if os.fork() == 0:
    time.sleep(1) # the recorder attaches to a child in some 10 ms, later on a busy machine
    work()
    os._exit(0)
os.wait()
sys.exit(3)
