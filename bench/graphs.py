# SPDX-License-Identifier: MIT
"""Random problems for the benchmarks, as weft.tasks/1 documents. Equal arguments, equal problems.

Each family is a list of edges (from, to) over tasks 0 .. n - 1, from < to:

layered          layers of 2 .. 2w - 2 tasks, w = the square root of n, at most 16; each task reads 1 to
                 3 tasks of the layer before, or now and then of the one before that
series_parallel  one task splits into 2 to 4 branches of random length that meet again, over and over
mixed            parts of both kinds, one after the other
fork_join        blocks as in convolutional networks: 2 to 4 chains of 1 to 3 tasks between two tasks
stages           Watts-Strogatz stages of 32 nodes, as in RandWire, between one input and one output

Times are drawn for each task and device, so devices are unrelated: what is fast on one may be slow on
another. Transfers between devices take about `dearness` times as long as a task does.
"""
import random


def layered(n, rng):
    width = max(2, min(16, round(n ** 0.5)))
    layers, used, edges = [], 0, []
    while used < n:
        size = min(n - used, rng.randint(2, max(2, 2 * width - 2)))
        layers.append(range(used, used + size))
        used += size
    for i in range(1, len(layers)):
        for v in layers[i]:
            for _ in range(rng.randint(1, 3)):
                back = 2 if i > 1 and rng.random() < 0.15 else 1
                edges.append((rng.choice(layers[i - back]), v))
    return edges


def series_parallel(n, rng, longest=6):
    edges, at, used = [], 0, 1
    while used < n:
        ends = []
        for _ in range(rng.randint(2, 4)):
            last = at
            for _ in range(rng.randint(1, longest)):
                if used < n:
                    edges.append((last, used))
                    last, used = used, used + 1
            if last != at:
                ends.append(last)
        if used < n:
            edges += [(u, used) for u in ends]
            at, used = used, used + 1
    return edges


def fork_join(n, rng):
    return series_parallel(n, rng, longest=3)


def mixed(n, rng):
    edges, used, kind = [], 0, 0
    while used < n:
        size = min(n - used, rng.randint(8, 16))
        part = (layered if kind else series_parallel)(size, rng)
        edges += [(u + used, v + used) for u, v in part]
        if used > 0:  # what nobody reads, to what reads nothing
            ends = set(range(old, used)) - {u for u, v in edges if u < used}
            starts = set(range(used, used + size)) - {v + used for _, v in part}
            edges += [(u, min(starts)) for u in sorted(ends)]
            edges += [(max(ends), v) for v in sorted(starts)]
        old, used, kind = used, used + size, 1 - kind
    return edges


def stage(first, rng, n=32, k=4, rewire=0.75):
    """A ring whose nodes are tied to k neighbours, some ties rewired; edges go up."""
    ties = {(i, (i + j) % n) for i in range(n) for j in range(1, k // 2 + 1)}
    for i, j in sorted(ties):
        if rng.random() < rewire:
            free = [x for x in range(n) if x != i and (i, x) not in ties and (x, i) not in ties]
            if free:
                ties.remove((i, j))
                ties.add((i, rng.choice(free)))
    return [(first + min(t), first + max(t)) for t in sorted(ties)]


def stages(n, rng):
    edges, used = [], 1
    while used < n:
        size = min(32, n - used - 1)
        if size < 6:
            break
        inner = stage(used, rng, size)
        read, reads = {u for u, _ in inner}, {v for _, v in inner}
        nodes = range(used, used + size)
        edges += [(used - 1, v) for v in nodes if v not in reads] + inner
        edges += [(u, used + size) for u in nodes if u not in read]
        used += size + 1
    return edges


FAMILIES = {f.__name__: f for f in (layered, series_parallel, mixed, fork_join, stages)}


def problem(family, n, n_devices, seed, dearness=0.5):
    """A document of the format weft.tasks/1; times of about a millisecond."""
    rng = random.Random("%s %d %d %d" % (family, n, n_devices, seed))
    edges = sorted(set(FAMILIES[family](n, rng)))
    n_tasks = max(v for _, v in edges) + 1
    speed = [1.0 + 0.5 * d for d in range(n_devices)]
    tasks = []
    for u in range(n_tasks):
        work = rng.uniform(0.5e-3, 2e-3)
        seconds = [round(work / speed[d] * rng.uniform(0.4, 1.6), 9) for d in range(n_devices)]
        tasks.append({"name": "t%d" % u, "seconds": seconds})
    mean_s = sum(sum(t["seconds"]) for t in tasks) / n_tasks / n_devices
    amounts = {}  # every reader of a task reads the same result
    for u, _ in edges:
        amounts.setdefault(u, round(dearness * mean_s * rng.uniform(0.2, 1.8), 9))
    return {"schema": "weft.tasks/1", "name": "%s-%d-%d" % (family, n_tasks, seed),
            "devices": ["P%d" % d for d in range(n_devices)], "tasks": tasks,
            "edges": [{"from": "t%d" % u, "to": "t%d" % v, "amount": amounts[u]} for u, v in edges]}
