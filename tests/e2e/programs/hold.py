# SPDX-License-Identifier: BSD-2-Clause
# hold.py SEED SECONDS COMMAND...: stops the recorder that COMMAND is, or one of its processes, for a while, at any
# moment after its program runs ("the program runs" in record.log).
import os
import random
import signal
import subprocess
import sys
import time

random.seed(int(sys.argv[1]))


def named(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().startswith("gcprof")
    except OSError:
        return False


def own(recorder):
    found = [recorder]
    for task in os.listdir(f"/proc/{recorder}/task"):
        with open(f"/proc/{recorder}/task/{task}/children") as file:
            found += [int(pid) for pid in file.read().split() if named(pid)]
    return found


def runs():
    with open("record.log") as file:
        return "the program runs" in file.read()


with open("record.log", "w") as log:
    recorder = subprocess.Popen(sys.argv[3:], stderr=log)
while recorder.poll() is None and not runs():
    time.sleep(0.001)
all_own = own(recorder.pid)
end = time.time() + float(sys.argv[2])
while recorder.poll() is None and time.time() < end:
    pid = random.choice(all_own + [recorder.pid] * len(all_own))
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(random.random() ** 2 * 0.15)
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
    time.sleep(random.random() ** 3 * 0.02)
sys.exit(recorder.wait())
