# SPDX-License-Identifier: MIT
"""Plans neural networks on hardware: every answer has a value, a proven bound and the gap between.

    import weft

    plan = weft.place("googlenet", on="edge-soc")
    print(plan.value, plan.bound, plan.gap, plan.status)
    plan.save("plan.json")
    print(weft.check(plan).legal)

The functions are the commands of the program. Arguments have the names of its flags with '_' for '-'
(`weft place --help`, or weft.flags("place")); results are what it prints with --json, with the keys
as attributes (docs/python.md, docs/formats.md).
"""

from ._call import Error, InputError, InternalError, Stop, call, version
from ._commands import (
    calibrate,
    check,
    compare,
    diff,
    explain,
    flags,
    inspect,
    list,
    mine,
    place,
    profile,
    report,
    run,
    serve,
    shard,
    simulate,
    split,
    train,
    validate,
)
from ._result import Result

__version__ = version()
__all__ = [
    "Error",
    "InputError",
    "InternalError",
    "Result",
    "Stop",
    "calibrate",
    "call",
    "check",
    "compare",
    "diff",
    "explain",
    "flags",
    "inspect",
    "list",
    "mine",
    "place",
    "profile",
    "report",
    "run",
    "serve",
    "shard",
    "simulate",
    "split",
    "train",
    "validate",
    "version",
]
