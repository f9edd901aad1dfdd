#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""HEFT (Topcuoglu et al. 2002) as a program: weft place tasks.json --solver exec:own_solver.py"""

import json
import sys

p = json.load(sys.stdin)  # weft.problem/1, see docs/formats.md
tasks = [t["name"] for t in p["tasks"]]  # in topological order
devices = [d["name"] for d in p["devices"]]
seconds = {t["name"]: [float("inf") if s is None else s for s in t["seconds"]] for t in p["tasks"]}
n, pairs = len(devices), [(i, k) for i in range(len(devices)) for k in range(len(devices)) if i != k]
before, after = ({t: [] for t in tasks} for _ in range(2))
for tensor in p["tensors"]:
    for to in tensor["to"] if tensor["from"] is not None else []:
        before[to].append((tensor["from"], tensor["amount"]))
        after[tensor["from"]].append((to, tensor["amount"]))


def send(amount, i, k):
    return 0 if i == k else float("inf") if p["link"][i][k] is None else p["latency"][i][k] + amount * p["link"][i][k]


rank = {}
for t in reversed(tasks):
    can = [s for s in seconds[t] if s < float("inf")]
    tail = [rank[v] + sum(send(a, i, k) for i, k in pairs) / max(1, len(pairs)) for v, a in after[t]]
    rank[t] = sum(can) / max(1, len(can)) + max(tail, default=0)

start, end, at = {}, {}, {}
for t in sorted(tasks, key=lambda t: -round(rank[t], 9)):  # ties in the order of the file
    best = (float("inf"), 0, 0)
    for d in range(n):
        ready = max((end[u] + send(a, at[u], d) for u, a in before[t]), default=0)
        for begin in sorted([ready] + [end[v] for v in at if at[v] == d and end[v] > ready]):  # the first gap
            if all(begin + seconds[t][d] <= start[v] or begin >= end[v] for v in at if at[v] == d):
                best = min(best, (begin + seconds[t][d], begin, d))
                break
    end[t], start[t], at[t] = best
json.dump({"schema": "weft.decisions/1", "decisions": {t: devices[at[t]] for t in tasks},
           "order": sorted(tasks, key=lambda t: start[t])}, sys.stdout)
