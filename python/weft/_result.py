# SPDX-License-Identifier: MIT
"""What a command answers, as an object with the keys of its JSON as attributes."""

import html
import json
import os
from typing import Any, Dict, Iterator, List, Optional

# The list that stands for a result as a table, by command: the first that is there.
_TABLES = {
    "inspect": ("layers", "operators"),
    "place": ("decisions", "front"),
    "shard": ("steps",),
    "train": ("stages",),
    "serve": ("nodes",),
    "mine": ("front", "stages"),
    "compare": ("rows", "solvers"),
    "check": ("wrong",),
    "explain": ("upgrades",),
    "diff": ("figures",),
    "validate": ("sets",),
}
_SHOWN = ("status", "value", "bound", "gap", "legal", "solver", "model", "platform")


class Result:
    """A result: result.gap and result["gap"] are entries of to_dict(). Immutable by convention.

    notes: lines that the program prints on standard error. interrupted: Ctrl-C ended the search.
    ok: False if no plan exists or a check failed."""

    def __init__(
        self,
        command: str,
        document: Dict[str, Any],
        notes: Optional[List[str]] = None,
        status: int = 0,
        interrupted: bool = False,
        sources: Optional[Dict[str, Any]] = None,
    ) -> None:
        self._document = document
        self._sources = sources or {}  # model and platform that were given as objects
        self._plan: Optional[Dict[str, Any]] = None  # of mine: its design
        self.command = command
        self.notes = notes or []
        self.ok = status == 0
        self.interrupted = interrupted

    def __getattr__(self, name: str) -> Any:
        document = self.__dict__.get("_document", {})  # empty while it is being unpickled
        if name in document:
            return document[name]
        raise AttributeError(f"a result of weft {self.__dict__.get('command')} has no '{name}'")

    def __getitem__(self, name: str) -> Any:
        return self._document[name]

    def __contains__(self, name: object) -> bool:
        return name in self._document

    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    def keys(self) -> Any:
        return self._document.keys()

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *(k for k in self._document if k.isidentifier())})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._document == other._document

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [f"{k}={self._document[k]!r}" for k in _SHOWN if self._document.get(k) is not None]
        return f"<weft {self.command}: {', '.join(shown)}>"

    def to_dict(self) -> Dict[str, Any]:
        """The document that --json prints, a copy."""
        return json.loads(json.dumps(self._document))

    def to_json(self) -> str:
        return json.dumps(self._document, indent=1)

    def rows(self, key: Optional[str] = None) -> List[Dict[str, Any]]:
        """The table of the result as dictionaries: of place the decisions, of inspect the operators,
        of compare the solvers. key: another list of the document."""
        if key is None and self.command in ("place", "simulate") and self._decisions():
            return self._decisions()
        for name in (key,) if key else _TABLES.get(self.command, ()):
            found = self._document.get(name)
            if isinstance(found, list):
                return [r if isinstance(r, dict) else {name: r} for r in found]
        raise KeyError(key or f"a result of weft {self.command} has no table")

    def _decisions(self) -> List[Dict[str, Any]]:
        plan = self._document.get("plan")
        decisions = plan.get("decisions") if isinstance(plan, dict) else None
        if not isinstance(decisions, list):
            return []
        ends = self._document.get("end_s")
        if not isinstance(ends, list) or len(ends) != len(decisions):
            return [dict(d) for d in decisions]
        return [{**d, "end_s": end} for d, end in zip(decisions, ends)]

    def to_dataframe(self, key: Optional[str] = None) -> Any:
        """rows() as a pandas.DataFrame."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_dataframe needs pandas; rows() does not") from None
        return pandas.DataFrame(self.rows(key))

    def to_networkx(self) -> Any:
        """The placed network as a networkx.DiGraph: nodes have op, device, seconds, start, shape."""
        try:
            import networkx
        except ImportError:
            raise ImportError("to_networkx needs networkx") from None
        from ._commands import report

        page = report(self)
        drawn, devices = page["graph"]["nodes"], page["graph"]["devices"]
        graph = networkx.DiGraph(name=page["title"])
        for i, name in enumerate(drawn["name"]):
            graph.add_node(
                name,
                device=devices[drawn["device"][i]],
                **{k: drawn[k][i] for k in ("op", "seconds", "bytes", "shape", "start") if drawn.get(k)},
            )
        edges = page["graph"]["edges"]
        for a, b, n in zip(edges["from"], edges["to"], edges["bytes"]):
            graph.add_edge(drawn["name"][a], drawn["name"][b], amount=n, unit=edges["unit"])
        return graph

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Writes the plan (of mine: the design) for weft check, report and explain."""
        document = self.plan_document()
        if document is None:
            raise ValueError(f"this result of weft {self.command} has no plan to save")
        part = f"{os.fspath(path)}.part"
        with open(part, "w", encoding="utf-8") as to:
            json.dump(document, to, indent=1)
            to.write("\n")
        os.replace(part, path)

    def plan_document(self) -> Optional[Dict[str, Any]]:
        """The plan or design of the result; None: there is none."""
        if self._plan is not None:
            return self._plan
        if isinstance(self._document.get("plan"), dict):
            return self._document["plan"]
        schema = str(self._document.get("schema", ""))
        return self._document if schema.startswith(("weft.plan/", "weft.design/")) else None

    def check(self, **arguments: Any) -> "Result":
        from ._commands import check

        return check(self, **arguments)

    def explain(self, **arguments: Any) -> "Result":
        from ._commands import explain

        return explain(self, **arguments)

    def report(self, output: "str | os.PathLike[str]", **arguments: Any) -> "Result":
        from ._commands import report

        return report(self, output=output, **arguments)

    def _repr_html_(self) -> str:
        """In a notebook: the report page of a plan, a table of anything else."""
        if self.plan_document() is not None:
            from ._commands import page_html

            page = html.escape(page_html(self), quote=True)
            return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'
        return _html_table(
            [{"": k, self.command: v} for k, v in self._document.items() if not isinstance(v, (dict, list))]
        )


def _html_table(rows: List[Dict[str, Any]]) -> str:
    if not rows:
        return "<table></table>"
    head = "".join(f"<th>{html.escape(str(k))}</th>" for k in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(v))}</td>" for v in row.values()) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
