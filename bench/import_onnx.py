# SPDX-License-Identifier: MIT
"""The yardstick of bench_import: the same question put to the onnx package of Python.

import_onnx.py MODEL.onnx... prints one JSON line a model: the best of five processor times
to load it and to infer all shapes.
"""
import json
import os
import sys
import time

import onnx

REPEATS = 5


def seconds(path):
    start = time.process_time()
    onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)
    return time.process_time() - start


for path in sys.argv[1:]:
    line = {"bench": "import", "tool": "onnx " + onnx.__version__, "model": os.path.basename(path)}
    try:
        line["seconds"] = round(min(seconds(path) for _ in range(REPEATS)), 6)
    except Exception as problem:  # a model the package refuses is a result, not a crash
        line["error"] = str(problem).splitlines()[0]
    print(json.dumps(line), flush=True)
