# parts.py SECONDS WAY: functions that PyPy compiles, or does not, for so long on the CPU.
#
# Each process prints a line of JSON: the parts of the functions' CPU time. WAY: plain, ways (a generator,
# recursion, a callback from C, code made by exec), threads, fork, waits.
import json
import os
import sys
import threading
import time


def inner(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def heavy(n=100000):
    return inner(n) + inner(n)


def light(n=100000):
    total = 0
    for i in range(n):
        total = (total + i * 3) ^ (total >> 1)
    return total


def parse(n=10000):
    texts = []
    for i in range(n):
        texts.append(str(i) + "a")
    return len("".join(texts))


def numbers(n):
    for i in range(n):
        yield inner(2000)


def generates():
    return sum(numbers(40))


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def recurses():
    return fib(18)


def key(text):
    return inner(100) ^ len(text)


def sorts():
    return sorted(["a" * (i % 17) for i in range(700)], key=key)


exec(compile("def executed():\n    return [(i * 7919) % 1013 for i in range(40000)]\n", "<made>", "exec"))


def waits():
    time.sleep(0.02)
    return inner(200000)


ways = {"ways": (generates, recurses, sorts, executed), "waits": (waits,)}


def run(functions, spent, stop):
    clock = time.thread_time
    while clock() < stop:
        for function in functions:
            start = clock()
            function()
            spent[function.__name__] = spent.get(function.__name__, 0) + clock() - start


def main(seconds, way):
    functions = ways.get(way, (heavy, light, parse))
    spent = {}
    if way == "threads":
        threads = [threading.Thread(target=run, args=((f,), spent, seconds * s))
                   for f, s in zip(functions, (0.5, 0.3, 0.2))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        child = os.fork() if way == "fork" else None
        run(functions if child is None else functions[:2], spent, seconds)
        if child:
            os.waitpid(child, 0)
    total = sum(spent.values())
    print(json.dumps({name: value / total for name, value in spent.items()}), flush=True)


main(float(sys.argv[1]), sys.argv[2])
