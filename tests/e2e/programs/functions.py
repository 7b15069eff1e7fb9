# SPDX-License-Identifier: BSD-2-Clause
# functions.py: makes functions without end, each with a long name of its own, and calls them: functions.py [SECONDS]
import sys
import time

end = time.monotonic() + float(sys.argv[1]) if len(sys.argv) > 1 else float("inf")
number = 0
while time.monotonic() < end:
    number += 1
    name = "f%d_%s" % (number, "x" * 200)
    scope = {}
    exec(compile("def %s(n):\n return sum(range(n))\n" % name, "/made/%s.py" % name, "exec"), scope)
    scope[name](2000)
