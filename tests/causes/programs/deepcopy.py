# SPDX-License-Identifier: BSD-2-Clause
"""deepcopy.py: a configuration is copied for each request."""
import copy

config = {f"key{i}": {"a": [1, 2, 3], "b": {"c": i}} for i in range(60)}


def handle(i):
    settings = copy.deepcopy(config)
    settings["request"] = i
    return len(settings)


print(sum(handle(i) for i in range(1500)))
