# SPDX-License-Identifier: BSD-2-Clause
"""eval_each.py: a formula is compiled for each row."""


def apply(formula, x):
    return eval(formula, {"x": x})


print(sum(apply("(x * 3 + 7) % 11 + x ** 2 - (x + 1) * (x - 1)", i) for i in range(60000)))
