#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tour.py: the Python package in one go; each part may be a cell of a notebook.

PYTHONPATH=python WEFT_LIBRARY=build/libweft.so.0 python3 examples/tour.py
"""

import weft

# %% A plan has a value, a proven bound, and the gap between them. A notebook shows its report page.
plan = weft.place("googlenet", on="edge-soc", time_limit=5)
print(f"{plan.model} on {plan.platform}: {1e3 * plan.value:.2f} ms, {plan.status} (gap {plan.gap:.1%})")

# %% Its decisions are a table: rows() for everybody, to_dataframe() with pandas.
busy = {}
for row in plan.rows():
    busy[row["device"]] = busy.get(row["device"], 0) + row["end_s"] - row["start_s"]
print("busy:", ", ".join(f"{d} {1e3 * s:.2f} ms" for d, s in sorted(busy.items())))

# %% Nobody has to believe it: check recomputes everything, explain says what binds.
print("legal:", plan.check().legal)
print("why:", plan.explain(upgrades="none").why["text"])

# %% A sweep: what is a faster link worth?
platform = weft.list("platforms", show="edge-soc")
for bandwidth in ("10GB/s", "30GB/s", "90GB/s"):
    for link in platform["links"]:
        link["bandwidth"] = bandwidth
    print(f"links of {bandwidth}: {1e3 * weft.place('googlenet', on=platform, time_limit=5).value:.3f} ms")

# %% The example of HEFT's paper as a document: tasks, seconds on three devices, amounts sent.
seconds = [[14, 16, 9], [13, 19, 18], [11, 13, 19], [13, 8, 17], [12, 13, 10], [13, 16, 9], [7, 15, 11],
           [5, 11, 14], [18, 12, 20], [21, 7, 16]]
edges = [(1, 2, 18), (1, 3, 12), (1, 4, 9), (1, 5, 11), (1, 6, 14), (2, 8, 19), (2, 9, 16), (3, 7, 23), (4, 8, 27),
         (4, 9, 23), (5, 9, 13), (6, 8, 15), (7, 10, 17), (8, 10, 11), (9, 10, 13)]
tasks = {
    "schema": "weft.tasks/1",
    "devices": ["P1", "P2", "P3"],
    "tasks": [{"name": f"T{i + 1}", "seconds": s} for i, s in enumerate(seconds)],
    "edges": [{"from": f"T{a}", "to": f"T{b}", "amount": n} for a, b, n in edges],
}
heft, best = weft.place(tasks, solver="heft"), weft.place(tasks)
print(f"HEFT's paper: {heft.value:.0f}, proved {'optimum' if best.status == 'optimal' else 'bound'} {best.bound:.0f}")

# %% Progress comes through a function; Ctrl-C returns the best plan so far.
steps = []
weft.train("gpt2", on="dgx-a100", batch=64, time_limit=2, progress=lambda value, bound: steps.append((value, bound)))
print("progress:", len(steps), "times")

# %% Wrong input is an exception with one line.
try:
    weft.place("googlnet", on="edge-soc")
except weft.InputError as error:
    print("error:", error)
