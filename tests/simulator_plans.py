#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""weft against simulator.py, which follows docs/simulator.md alone.

    simulator_plans.py WEFT DRAW_PLANS DOC [PLANS [FILES [SEED]]]

The worked examples of DOC; PLANS random plans (300) for each transfer model, drawn and evaluated by
DRAW_PLANS; and FILES random files of tasks (16), placed by weft with several solvers. Long form:

    tests/simulator_plans.py build/weft build/tests/draw_plans docs/simulator.md 6000 400
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import simulator

MODELS = ("overlap", "contend", "block", "calls")
SOLVERS = ("random", "heft", "cpop", "greedy", "auto")


def is_near(x, y):
    if isinstance(x, list):
        return len(x) == len(y) and all(map(is_near, x, y))
    return x == y or abs(x - y) <= 1e-9 * max(abs(x), abs(y))


def differences(found, expected):
    if found is None or expected is None:
        return [] if found is expected else ["one refuses the plan"]
    return ["%s: found %s, weft says %s" % (key, found[key], expected[key])
            for key in expected if not is_near(found[key], expected[key])]


def complain(what, faults):
    for fault in faults:
        print("FAIL %s: %s" % (what, fault))
    return bool(faults)


# --- random plans ------------------------------------------------------------------------------------


def check_case(case):
    case.setdefault("switch", [0] * len(case["latency"]))
    case["tensors"] = [simulator.Tensor(**x) for x in case["tensors"]]
    expected = case["expect"]
    if expected is not None:
        expected["links"] = [s for s in expected["links"] if s > 0]
    return differences(simulator.simulate(simulator.Problem(case), case["device"], case["start"]), expected)


def check_plans(draw_plans, n, seed):
    counts, refused, n_failed = collections.Counter(), collections.Counter(), 0
    with subprocess.Popen([draw_plans, str(n), str(seed)], stdout=subprocess.PIPE, text=True) as drawn:
        for number, line in enumerate(drawn.stdout):
            case = json.loads(line)
            counts[case["transfer"]] += 1
            refused[case["transfer"]] += case["expect"] is None
            n_failed += complain("plan %d (%s)" % (number, case["transfer"]), check_case(case))
    if drawn.returncode != 0 or any(counts[m] < n for m in MODELS):
        n_failed += complain(draw_plans, ["ended with exit code %d, plans: %s" % (drawn.returncode, counts)])
    print("random plans: %s; differences: %d" % (", ".join(
        "%s %d and %d that are refused" % (m, counts[m] - refused[m], refused[m]) for m in MODELS), n_failed))
    return n_failed


# --- files of tasks ----------------------------------------------------------------------------------


def draw_number(r, scale):
    return r.choice([0, 0, 1, 1, 2, 3, 0.5, r.random(), 10 ** r.uniform(-12, 9) if scale else 4])


def draw_tasks(r, transfer):
    """A file with tasks in any order, tasks and transfers of no time, parallel edges, all kinds of magnitudes."""
    n, n_devices, scale = r.randint(1, 12), r.randint(1, 4), r.random() < 0.2
    place = r.sample(range(n), n) if r.random() < 0.5 else range(n)
    d = {"schema": "weft.tasks/1", "devices": ["p%d" % k for k in range(n_devices)], "transfer": transfer,
         "tasks": [{"name": "t%d" % place[u], "seconds": [draw_number(r, scale) for _ in range(n_devices)],
                    "memory": r.randint(0, 9)} for u in range(n)], "edges": []}
    for x in d["tasks"]:
        sure = r.randrange(n_devices)
        x["seconds"] = [None if k != sure and r.random() < 0.1 else s for k, s in enumerate(x["seconds"])]
    for _ in range(r.randint(0, 2 * n) if n > 1 else 0):
        u, v = sorted(r.sample(range(n), 2))
        d["edges"].append({"from": "t%d" % u, "to": "t%d" % v, "amount": draw_number(r, scale)})
    for key in ("link", "latency"):
        if r.random() < 0.7:
            d[key] = [[0 if p == q else draw_number(r, False) for q in range(n_devices)] for p in range(n_devices)]
    if r.random() < 0.5:
        d["switch"] = [draw_number(r, False) for _ in range(n_devices)]
    if transfer == "calls":
        d["host"] = r.choice(d["devices"])
    return d


def check_file(weft, folder, tasks, solver, goal, seed, rows=None):
    """Faults of a file, or None: the solver has no plan. rows: the times it should have."""
    paths = [os.path.join(folder, name) for name in ("tasks.json", "plan.json")]
    with open(paths[0], "w") as file:
        json.dump(tasks, file)
    command = [weft, "place", paths[0], "-o", paths[1], "--quiet", "--goal", goal, "--solver", solver]
    command += ["--no-mix"] * (goal == "throughput")  # one way for all items
    if os.path.exists(paths[1]):
        os.remove(paths[1])
    done = subprocess.run(command + ["--seed", str(seed), "--steps", "200"], capture_output=True, text=True)
    if not os.path.exists(paths[1]):
        return None if done.returncode in (1, 2) else ["exit code %d: %s" % (done.returncode, done.stderr)]
    with open(paths[1]) as file:
        plan = json.load(file)
    names, p = simulator.read_tasks(tasks, plan["goal"], plan["transfer"])
    at = {x["task"]: x for x in plan["decisions"]}
    start, measures = [at[x]["start_s"] for x in names], plan["measures"]
    device = [tasks["devices"].index(at[x]["device"]) for x in names]
    if rows is not None and start != [rows[x, ""][0] for x in names]:
        return ["weft's plan has the starts %s" % dict(zip(names, start))]
    return differences(simulator.simulate(p, device, start), {
        "start": start, "makespan": measures["makespan_s"], "period": measures["period_s"],
        "sent": measures["sent_bytes"], "transfers": measures["transfers"],
        "load": [x["load_s"] for x in measures["devices"]], "peak": [x["peak_bytes"] for x in measures["devices"]],
        "links": [x["seconds"] for x in measures["links"]]})


def check_files(weft, n, seed):
    r, counts, n_failed = random.Random(seed), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n):
            transfer, goal = MODELS[number % len(MODELS)], r.choice(["latency", "throughput"])
            tasks, solver = draw_tasks(r, transfer), r.choice(SOLVERS)
            faults = check_file(weft, folder, tasks, solver, goal, number)
            counts[transfer] += faults is not None
            if complain("file %d (%s, %s, %s)" % (number, transfer, goal, solver), faults or []):
                print(json.dumps(tasks))
                n_failed += 1
    print("files of tasks with a plan: %s, of %d; differences: %d" % (
        ", ".join("%s %d" % (m, counts[m]) for m in MODELS), n, n_failed))
    return n_failed + complain("files", ["hardly any has a plan"] if 2 * sum(counts.values()) < n else [])


# --- examples ----------------------------------------------------------------------------------------


def examples_of(text):
    """Files of tasks in a page, each with the rows of the table behind it."""
    for block in re.finditer(r"```json\n(.*?)```\n(.*?)(?=\n```|\n##|\Z)", text, re.S):
        rows = re.findall(r"^\| `(\w+)`(?: to `(\w+)`)? \| ([\d.]+) \| ([\d.]+) \|$", block.group(2), re.M)
        yield json.loads(block.group(1)), {(a, b): (float(s), float(e)) for a, b, s, e in rows}


def check_example(weft, folder, tasks, rows):
    faults = check_file(weft, folder, tasks, "auto", "latency", 1, rows)
    names, p = simulator.read_tasks(tasks, "latency", tasks.get("transfer", "overlap"))
    device = [next(k for k, s in enumerate(x) if s is not None) for x in p.seconds]
    start = [rows[x, ""][0] for x in names]
    jobs = simulator.jobs_of_calls(p, device) if p.transfer == "calls" else simulator.jobs_of(p, device, start)
    found = {}
    for j, span in simulator.run(jobs).items():
        tensor = p.tensors[j[1]]
        key = (names[j[1]], "") if j[0] == 1 else (names[tensor.producer], names[tensor.readers[0]])
        found[key] = span
    if found != rows:
        faults = (faults or []) + ["the page says %s, found %s" % (rows, found)]
    return faults if faults is not None else ["weft has no plan"]


def check_examples(weft, doc):
    with open(doc) as file:
        examples = list(examples_of(file.read()))
    with tempfile.TemporaryDirectory() as folder:
        n_failed = sum(complain("example '%s'" % tasks["name"], check_example(weft, folder, tasks, rows))
                       for tasks, rows in examples)
    print("examples of the page: %d, %d jobs; wrong: %d" % (
        len(examples), sum(len(rows) for _, rows in examples), n_failed))
    return n_failed + (len(examples) < 4)


def main(weft, draw_plans, doc, plans="300", files="16", seed="1"):
    n_failed = check_examples(weft, doc)
    n_failed += check_plans(draw_plans, int(plans), int(seed))
    n_failed += check_files(weft, int(files), int(seed))
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
