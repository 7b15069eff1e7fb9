# SPDX-License-Identifier: BSD-2-Clause
"""nested.py: code of subinterpreters runs for 0.4 s in the first thread, then in another."""
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
end = time.thread_time() + 0.4
while time.thread_time() < end:
    inner_function()
"""


def enters():
    interpreter = interpreters.create()
    run(interpreter, CODE)
    interpreters.destroy(interpreter)


enters()
thread = threading.Thread(target=enters)
thread.start()
thread.join()
