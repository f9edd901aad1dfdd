# SPDX-License-Identifier: MIT
"""The commands as functions: arguments become a request, the reply a Result."""

import json
import os
import tempfile
from typing import Any, Dict, Optional

from ._call import Progress, Stop, call
from ._result import Result

_SECONDS = ("time_limit", "deadline")  # flags that take numbers as seconds
_PAIRS = ("dim", "pin")  # flags that take a map for NAME=VALUE
_PLATFORMS = ("on", "platform")
_PLANS = ("plan", "a", "b")


def _is_graph(value: Any) -> bool:
    return hasattr(value, "nodes") and hasattr(value, "edges") and hasattr(value, "adj")


def _tasks_of_graph(graph: Any) -> Dict[str, Any]:
    """A networkx.DiGraph as a file of tasks: node attribute `seconds` (a list, one for each device, or a
    map from names of devices), edge attribute `amount`; graph attributes are further keys."""
    keys = dict(graph.graph)
    tasks = []
    for node, data in graph.nodes(data=True):
        data = dict(data)
        seconds = data.get("seconds")
        if isinstance(seconds, dict):
            keys.setdefault("devices", list_of(seconds))
            data["seconds"] = [seconds.get(d) for d in keys["devices"]]
        elif isinstance(seconds, (list_of, tuple)):
            keys.setdefault("devices", [f"p{i}" for i in range(len(seconds))])
        tasks.append({"name": str(node), **data})
    edges = [{"from": str(a), "to": str(b), **data} for a, b, data in graph.edges(data=True)]
    return {"schema": "weft.tasks/1", **keys, "tasks": tasks, "edges": edges}


class _Files:
    """Objects that stand for files, written to a folder that goes with the call."""

    def __init__(self) -> None:
        self.folder: Optional[tempfile.TemporaryDirectory[str]] = None

    def write(self, name: str, document: Dict[str, Any]) -> str:
        path = self.place_for(name)
        with open(path, "w", encoding="utf-8") as to:
            json.dump(document, to)
        return path

    def place_for(self, name: str) -> str:
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="weft-")
        return os.path.join(self.folder.name, f"{name}.json")

    def remove(self) -> None:
        if self.folder is not None:
            self.folder.cleanup()


def _plain(name: str, value: Any, files: _Files) -> Any:
    """An argument as JSON has it."""
    if isinstance(value, Result):
        document = value.plan_document()
        if document is None:
            raise ValueError(f"{name}: this result of weft {value.command} has no plan")
        return files.write(name, document)
    if _is_graph(value):
        value = _tasks_of_graph(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if name in _PAIRS and isinstance(value, dict):
        return [f"{k}={v}" for k, v in value.items()]
    if name == "together" and isinstance(value, (list_of, tuple)):
        if all(isinstance(v, str) for v in value):
            return ",".join(value)
        return ";".join(",".join(v) for v in value)  # a list of groups
    if isinstance(value, dict):
        return files.write(name, value)
    if name in _SECONDS and isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value!r}s"
    if isinstance(value, (list_of, tuple)):
        return [_plain(name, v, files) for v in value]
    return value


def _sources(arguments: Dict[str, Any]) -> Dict[str, Any]:
    """Objects among the arguments that no file has: a plan needs them when it is opened again."""
    found = {}
    for key, name in (("model", "model"), ("on", "on"), ("platform", "on")):
        value = arguments.get(key)
        if isinstance(value, dict) or _is_graph(value):
            found[name] = value
    return found


def _run(
    command: str,
    arguments: Dict[str, Any],
    progress: Optional[Progress] = None,
    stop: Optional[Stop] = None,
) -> Any:
    for name in _PLANS:
        plan = arguments.get(name)
        if isinstance(plan, Result) and command in ("check", "explain", "report", "split"):
            arguments = {**plan._sources, **arguments}
    files = _Files()
    design = None
    try:
        request = {k.replace("_", "-"): _plain(k, v, files) for k, v in arguments.items() if v is not None}
        if command == "mine" and not request.get("show"):
            request.setdefault("output", files.place_for("design"))
        reply = call(command, request, progress, stop)
        if command == "mine":
            design = _read_if_there(request.get("output"))
    finally:
        files.remove()
    if command == "list" or not isinstance(reply.result, dict):
        return reply.result
    result = Result(
        command, reply.result, reply.notes, reply.status, reply.interrupted, _sources(arguments)
    )
    result._plan = design
    return result


def _read_if_there(path: Optional[str]) -> Optional[Dict[str, Any]]:
    """The design that mine has written, which is no part of what it prints."""
    if path is None or not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def inspect(model: Any = None, **arguments: Any) -> Result:
    """Operators, shapes, parameters, work and memory of a network (or platform=...)."""
    return _run("inspect", {"model": model, **arguments})


def place(
    model: Any, *, progress: Optional[Progress] = None, stop: Optional[Stop] = None, **arguments: Any
) -> Result:
    """Which device runs each operator, and when. model: a file, the name of a built-in network, a
    document of tasks or a networkx.DiGraph; on: a preset, a file or a platform document."""
    return _run("place", {"model": model, **arguments}, progress, stop)


def shard(
    model: Any, *, progress: Optional[Progress] = None, stop: Optional[Stop] = None, **arguments: Any
) -> Result:
    """Accelerator sets, designs and a split for each layer."""
    return _run("shard", {"model": model, **arguments}, progress, stop)


def train(
    model: Any, *, progress: Optional[Progress] = None, stop: Optional[Stop] = None, **arguments: Any
) -> Result:
    """Pipeline stages, replicas, tensor-parallel widths, recomputation of a training step."""
    return _run("train", {"model": model, **arguments}, progress, stop)


def serve(
    model: Any, *, progress: Optional[Progress] = None, stop: Optional[Stop] = None, **arguments: Any
) -> Result:
    """Which node holds which layers of a language model: a file or a document of weft.serving/1."""
    return _run("serve", {"model": model, **arguments}, progress, stop)


def mine(
    *models: Any, progress: Optional[Progress] = None, stop: Optional[Stop] = None, **arguments: Any
) -> Result:
    """The accelerator to build for networks, within area= and power=."""
    return _run("mine", {"model": list_of(models), **arguments}, progress, stop)


def simulate(file: Any, **arguments: Any) -> Result:
    """What decisions that were made elsewhere are worth: a file or a document of weft.decisions/1."""
    return _run("simulate", {"file": file, **arguments})


def compare(
    model: Any, *, progress: Optional[Progress] = None, stop: Optional[Stop] = None, **arguments: Any
) -> Result:
    """All solvers on one problem."""
    return _run("compare", {"model": model, **arguments}, progress, stop)


def check(plan: Any, **arguments: Any) -> Result:
    """Is the plan legal, is it worth what it claims, does the bound hold? plan: a Result or a file."""
    return _run("check", {"plan": plan, **arguments})


def explain(
    plan: Any, *, progress: Optional[Progress] = None, stop: Optional[Stop] = None, **arguments: Any
) -> Result:
    """Why a plan takes as long as it does, and what upgrades are worth."""
    return _run("explain", {"plan": plan, **arguments}, progress, stop)


def report(plan: Any, **arguments: Any) -> Result:
    """The data of the report page; output=FILE writes the page."""
    return _run("report", {"plan": plan, **arguments})


def diff(a: Any, b: Any, **arguments: Any) -> Result:
    """What two plans do differently, and what it costs."""
    return _run("diff", {"a": a, "b": b, **arguments})


def profile(model: Any = None, **arguments: Any) -> Any:
    """Measured times of the operators of a network on this machine."""
    return _run("profile", {"model": model, **arguments})


def split(plan: Any, **arguments: Any) -> Any:
    """A placed network as one ONNX file for each segment."""
    return _run("split", {"plan": plan, **arguments})


def run(split: Any, **arguments: Any) -> Any:
    """Executes a split network (a folder of split, or a plan) on this machine."""
    return _run("run", {"what": split, **arguments})


def validate(set: Any = None, **arguments: Any) -> Any:
    """Predicted times beside published or own measurements."""
    return _run("validate", {"what": set, **arguments})


def calibrate(measured: Any, **arguments: Any) -> Any:
    """Constants of a device fitted to measurements."""
    return _run("calibrate", {"measured": measured, **arguments})


def flags(command: str) -> Dict[str, str]:
    """The arguments of a function, each with its help: names of flags with '_' for '-'."""
    for row in list("commands"):
        if row["name"] == command:
            return {f["name"].replace("-", "_"): f["help"] for f in row["flags"]}
    raise ValueError(f"weft has no command '{command}'")


def page_html(plan: Result) -> str:
    """The report page of a plan, as a text."""
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        path = os.path.join(folder, "plan.html")
        report(plan, output=path)
        with open(path, encoding="utf-8") as page:
            return page.read()


list_of = list  # the built-in type; the command has its name


def list(what: str, **arguments: Any) -> Any:  # noqa: A001
    """Models, platforms, templates, sets, solvers, operators or commands, as a list of dictionaries."""
    return _run("list", {"what": what, **arguments})
