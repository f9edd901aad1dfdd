#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The simulator once more, by the rules of docs/simulator.md alone.

    simulator.py TASKS.json PLAN.json    what the plan takes, as JSON
"""
import collections
import heapq
import json
import math
import sys

# producer: a task, or -1. weight and output are true or false.
Tensor = collections.namedtuple("Tensor", "producer readers amount memory weight output")
# What it waits for (jobs), what it holds, and the two devices of a transfer. A job is called (0, tensor, to)
# or (1, task): jobs that become ready at one time are served in the order of these names.
Job = collections.namedtuple("Job", "length needs holds way")


class Problem:
    """seconds[task][device]; latency, link and route[from][to]; host (-1: none); transfer; goal; tensors; switch[device]."""

    def __init__(self, fields):
        self.__dict__.update(fields)
        self.tasks, self.devices = range(len(self.seconds)), range(len(self.latency))
        self.args = [[t for t, x in enumerate(self.tensors) if u in x.readers] for u in self.tasks]
        self.makers = [{self.tensors[t].producer for t in args} - {-1} for args in self.args]

    def send(self, t, p, q):
        amount = self.tensors[t].amount
        return self.latency[p][q] + (amount * self.link[p][q] if amount > 0 else 0.0)

    def length(self, u, device):
        """Seconds of a task where it is placed, with those of a switch if it pays for one."""
        d, own = device[u], [v for v in self.tasks if v < u and device[v] == device[u]]
        if self.transfer == "calls":
            is_switched = d != self.host and not own
        else:
            is_switched = any(device[m] != d and not any(m in self.makers[v] for v in own) for m in self.makers[u])
        return self.seconds[u][d] + (self.switch[d] if is_switched else 0)

    def homes(self, device):
        """Where each tensor is made, or lies at time 0 (-1: everywhere)."""
        return [self.host if x.producer < 0 else device[x.producer] for x in self.tensors]


def order_of(p, device, start):
    """The tasks in the order of the plan; not all of them if it contradicts the dependences."""
    listed, length = [], [p.length(u, device) for u in p.tasks]
    for _ in p.tasks:
        left = [u for u in p.tasks if u not in listed]
        free = [u for u in left if p.makers[u] <= set(listed)
                and not any(device[v] == device[u] and start[v] < start[u] for v in left)]
        listed += sorted(free, key=lambda u: (start[u], length[u] > 0, start[u] + length[u] > start[u], u))[:1]
    return listed


def jobs_of(p, device, start):
    """The jobs of a run under overlap, contend and block."""
    jobs, before, home = {}, collections.defaultdict(list), p.homes(device)
    for t, x in enumerate(p.tensors):
        for q in {device[v] for v in x.readers} - {home[t]} if home[t] >= 0 and not x.weight else ():
            length, needs = p.send(t, home[t], q), {(1, x.producer)} if x.producer >= 0 else set()
            held = {"overlap": [], "contend": [("link", k) for k in p.route[home[t]][q]], "block": [home[t], q]}
            jobs[0, t, q] = Job(length, needs, set(held[p.transfer] if length > 0 else []), (home[t], q))
    for u in order_of(p, device, start):
        d, length = device[u], p.length(u, device)
        needs = {(1, v) for v in before[d] if length > 0 or jobs[1, v].length > 0}
        needs |= {(1, v) for v in p.makers[u]} | {(0, t, d) for t in p.args[u] if (0, t, d) in jobs}
        jobs[1, u] = Job(length, needs, {d} if p.transfer == "block" and length > 0 else set(), None)
        before[d].append(u)
    return jobs


def jobs_of_calls(p, device):
    """The jobs of a run under calls. A write is (0, tensor, 0, from), a read (0, tensor, 1, to)."""
    jobs, home, is_call = {}, p.homes(device), p.goal == "latency"
    away = {t: {device[v] for v in x.readers} - {home[t]} for t, x in enumerate(p.tensors) if x.producer >= 0}
    reads = {a: [(0, t, 1, a) for t in away if a in away[t] - {p.host}] for a in p.devices}
    writes = {a: [(0, t, 0, a) for t in away if away[t] and a == home[t] != p.host] for a in p.devices}
    call = {a: reads[a] + [(1, u) for u in p.tasks if device[u] == a] + writes[a] for a in p.devices}

    def available(t):  # the job after which a tensor lies in the memory of the host
        if home[t] == p.host:
            return 1, p.tensors[t].producer
        return call[home[t]][-1] if is_call else (0, t, 0, home[t])

    def arrival(t, d):
        return (1, p.tensors[t].producer) if home[t] == d else available(t) if d == p.host else (0, t, 1, d)

    for a in p.devices:
        for j in reads[a]:
            jobs[j] = Job(p.send(j[1], p.host, a), {available(j[1])}, {a}, (p.host, a))
        for j in writes[a]:
            jobs[j] = Job(p.send(j[1], a, p.host), {(1, p.tensors[j[1]].producer)}, {a}, (a, p.host))
    for u in p.tasks:
        needs = {arrival(t, device[u]) for t in p.args[u] if t in away}
        jobs[1, u] = Job(p.length(u, device), needs, {device[u]}, None)
    for a in p.devices if is_call else ():
        outside = {available(j[1]) for j in reads[a]}
        for j, needs in zip(call[a], [outside] + [{j} for j in call[a]]):
            jobs[j] = jobs[j]._replace(needs=jobs[j].needs if a == p.host else needs, holds=set())
    return jobs


def run(jobs):
    """Start and end of every job; those that wait in a circle are left out."""
    span, line, held, ending, now = {}, [], set(), [], 0.0
    waits = {j: len(jobs[j].needs) for j in jobs}
    feeds = {i: [j for j in jobs if i in jobs[j].needs] for i in jobs}

    def begin(j):
        span[j] = now, max(now + jobs[j].length, math.nextafter(now, math.inf) if jobs[j].length > 0 else now)
        held.update(jobs[j].holds)
        heapq.heappush(ending, (span[j][1], j))

    fresh = [j for j in jobs if not waits[j]]
    while True:
        while fresh or ending and ending[0][0] <= now:
            for j in fresh:
                line.append((now, j)) if jobs[j].holds else begin(j)
            fresh = []
            while ending and ending[0][0] <= now:
                i = heapq.heappop(ending)[1]
                held.difference_update(jobs[i].holds)
                for j in feeds[i]:
                    waits[j] -= 1
                    fresh += [] if waits[j] else [j]
        wanted, waiting = set(), []
        for ready, j in sorted(line):
            if jobs[j].holds & (held | wanted):
                wanted |= jobs[j].holds
                waiting.append((ready, j))
            else:
                begin(j)
        line = waiting
        if not ending:
            return span
        now = ending[0][0]


def peaks_of(p, device, span):
    held, peak, home = [[] for _ in p.devices], [0.0 for _ in p.devices], p.homes(device)
    for t, x in enumerate(p.tensors):
        last = {}  # end of the last reader on each device
        for v in x.readers:
            last[device[v]] = max(last.get(device[v], 0.0), span[1, v][1])
        for d in last if x.weight else ():
            peak[d] += x.memory
        if x.weight or p.transfer == "calls":
            continue
        for d in set(last) - {home[t]}:
            begin = span[0, t, d][0] if home[t] >= 0 else 0.0
            held[d].append((begin, float("inf") if x.output and home[t] < 0 else last[d], x.memory))
        if home[t] >= 0:
            begin, end = span[1, x.producer] if x.producer >= 0 else (0.0, 0.0)
            end = max([end, last.get(home[t], 0.0)] + [span[0, t, d][1] for d in set(last) - {home[t]}])
            held[home[t]].append((begin, float("inf") if x.output else end, x.memory))
    return [peak[d] + max([0.0] + [sum(m for b, e, m in held[d] if b <= now < e) for now, _, _ in held[d]])
            for d in p.devices]


def simulate(p, device, start):
    """What is said of a plan, or None: it is refused."""
    jobs = jobs_of_calls(p, device) if p.transfer == "calls" else jobs_of(p, device, start)
    span, load, links = run(jobs), [0.0 for _ in p.devices], collections.Counter()
    if sum(j[0] for j in span) < len(p.tasks):
        return None
    for j in jobs:
        source, q = jobs[j].way or (0, 0)
        if j[0] == 1:
            load[device[j[1]]] += jobs[j].length
        elif p.transfer in ("block", "calls"):
            for d in {source, q} - ({p.host} if p.transfer == "calls" else set()):
                load[d] += jobs[j].length
        links.update({k: jobs[j].length for k in set(p.route[source][q])} if j[0] == 0 else {})
    return {"start": [span[1, u][0] for u in p.tasks], "makespan": max(span[1, u][1] for u in p.tasks),
            "period": max(load + (list(links.values()) if p.transfer == "contend" else [])),
            "sent": sum(p.tensors[j[1]].amount for j in jobs if j[0] == 0), "load": load,
            "transfers": sum(j[0] == 0 for j in jobs), "links": [links[k] for k in sorted(links) if links[k] > 0],
            "peak": peaks_of(p, device, span)}


def read_tasks(d, goal, transfer):
    """The problem of a file of tasks, and the names of its tasks in the order of their numbers."""
    names, edges, n = [], d.get("edges", []), len(d["devices"])
    while len(names) < len(d["tasks"]):
        names.append(next(x["name"] for x in d["tasks"] if x["name"] not in names
                          and all(e["from"] in names for e in edges if e["to"] == x["name"])))
    task, number = {x["name"]: x for x in d["tasks"]}, names.index
    weights = [Tensor(-1, [u], 0, task[x].get("memory", 0), True, False) for u, x in enumerate(names)]
    sent = [Tensor(number(e["from"]), [number(e["to"])], e["amount"], 0, False, False) for e in edges]
    return names, Problem({
        "seconds": [task[x]["seconds"] for x in names], "latency": d.get("latency", [[0.0] * n] * n),
        "link": d.get("link", [[1.0] * n] * n), "route": [[[p * n + q] for q in range(n)] for p in range(n)],
        "host": d["devices"].index(d["host"]) if "host" in d else -1, "tensors": weights + sent,
        "transfer": transfer, "goal": goal, "switch": d.get("switch", [0.0] * n)})


def main(tasks, plan):
    tasks, plan = json.load(open(tasks)), json.load(open(plan))
    names, p = read_tasks(tasks, plan["goal"], plan["transfer"])
    at = {x["task"]: (tasks["devices"].index(x["device"]), x["start_s"]) for x in plan["decisions"]}
    print(json.dumps(simulate(p, *zip(*(at[x] for x in names))), indent=2))


if __name__ == "__main__":
    main(*sys.argv[1:])
