#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws task graphs like those of the Standard Task Graph Set, as files of its format.

    tests/stg_graphs.py FOLDER N [SEED]

The set mixes ways to draw the edges and the times; so does this: graphs in layers, graphs with edges between any two
tasks, and trees; times that are uniform, exponential or of two sizes; every third graph with communication costs. Graph I
of a seed is the same for any N.
"""

import os
import random
import sys


def layers(rng, n):
    """Tasks in layers, with edges from the layer before."""
    rows, task = [], 1
    while task <= n:
        width = min(rng.randint(1, max(2, n // 5)), n - task + 1)
        rows.append(list(range(task, task + width)))
        task += width
    before = {task: [] for task in range(1, n + 1)}
    for above, below in zip(rows, rows[1:]):
        for task in below:
            before[task] = sorted(rng.sample(above, rng.randint(1, min(3, len(above)))))
    return before


def pairs(rng, n):
    """Any earlier task may be one that a task waits for."""
    chance = rng.uniform(0.05, 0.2)
    return {v: [u for u in range(1, v) if rng.random() < chance] for v in range(1, n + 1)}


def tree(rng, n):
    """Each task waits for one, or, turned around, each is waited for by one."""
    parent = {v: rng.randint(max(1, v - 8), v - 1) for v in range(2, n + 1)}
    if rng.random() < 0.5:
        return {v: [parent[v]] if v > 1 else [] for v in range(1, n + 1)}
    before = {v: [] for v in range(1, n + 1)}
    for v, u in parent.items():
        before[n + 1 - u].append(n + 1 - v)
    return {v: sorted(list_) for v, list_ in before.items()}


def times(rng, n):
    kind = rng.randrange(3)
    if kind == 0:
        return [rng.randint(1, 19) for _ in range(n)]
    if kind == 1:
        return [1 + int(rng.expovariate(1 / 9)) for _ in range(n)]
    return [rng.choice((2, 20)) for _ in range(n)]


def draw(rng, with_costs):
    n = rng.randint(8, 30)
    before = rng.choice((layers, pairs, tree))(rng, n)
    seconds = [0] + times(rng, n) + [0]
    ends = set(range(1, n + 1)) - {u for list_ in before.values() for u in list_}
    before[0] = []
    before[n + 1] = sorted(ends)
    lines = ["%11d" % n]
    for task in range(n + 2):
        waits = before[task] if task in (0, n + 1) else before[task] or [0]
        numbers = [task, seconds[task], len(waits)]
        for u in waits:
            numbers.append(u)
            if with_costs:
                numbers.append(0 if u == 0 or task == n + 1 else rng.randint(1, 10))
        lines.append("".join("%11d" % x for x in numbers))
    return "\n".join(lines) + "\n# drawn, not taken from the Standard Task Graph Set\n"


def main():
    folder, n = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    os.makedirs(folder, exist_ok=True)
    for i in range(n):
        rng = random.Random("%d %d" % (seed, i))
        with open(os.path.join(folder, "rand%04d.stg" % i), "w", encoding="ascii") as file:
            file.write(draw(rng, i % 3 == 2))


if __name__ == "__main__":
    main()
