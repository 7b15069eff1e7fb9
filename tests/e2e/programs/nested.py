# SPDX-License-Identifier: BSD-2-Clause
"""nested.py: code of subinterpreters runs for 0.3 s in the first thread, then twice in others."""
import threading

try:
    import _interpreters as interpreters

    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters

    run = interpreters.run_string

CODE = """
import time
def inner_function():
    return sum(i * i % 7 for i in range(20000))
end = time.thread_time() + 0.3
while time.thread_time() < end:
    inner_function()
"""


def enters(other=None):
    interpreter = other or interpreters.create()
    run(interpreter, CODE)
    # 3.11.7 hangs if another thread does that.
    if not other:
        interpreters.destroy(interpreter)


# The first thread creates this one, the last enters it.
of_first = interpreters.create()
enters()
for arguments in ((), (of_first,)):
    thread = threading.Thread(target=enters, args=arguments)
    thread.start()
    thread.join()
interpreters.destroy(of_first)
