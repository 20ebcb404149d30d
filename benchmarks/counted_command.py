"""Monitor's command with its transactions counted: `python -m benchmarks.counted_command FILE ARGUMENT…`."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from monitor.cli.main import main

_counts: Counter[str] = Counter(transactions=0, statements=0)


@event.listens_for(Engine, "begin")
def _count_transaction(connection: Any) -> None:  # noqa: ARG001  the library's signature
    _counts["transactions"] += 1


@event.listens_for(Engine, "before_cursor_execute")
def _count_statement(*given: Any) -> None:  # noqa: ARG001  the library's signature
    _counts["statements"] += 1


try:
    main(sys.argv[2:])
finally:
    Path(sys.argv[1]).write_text(json.dumps(_counts), encoding="utf-8")
