"""Readers that a test kills: `python reading.py ROOT TASK CURSOR OUT`.

For each line on stdin a process of its own begins to read, writes a line for each result that it is handed, and marks
it. Its number is printed, and when it ended, how.
"""

import datetime as dt
import os
import sys
from pathlib import Path

from monitor.search.bundles.bundle import BundleFolder
from monitor.search.bundles.reader import BundleReader


def read_on(root: Path, task_id: str, cursor: str, out: Path) -> None:
    reader = BundleReader(BundleFolder(root), task_id=task_id, cursor=cursor)
    with out.open("ab", buffering=0) as handed:
        while (reading := reader.peek()) is not None:
            handed.write(f"{reading.query_id} {reading.item.source_id}\n".encode())
            reader.mark_consumed(reading, at=dt.datetime.now(dt.UTC))


def main() -> None:
    root, task_id, cursor, out = sys.argv[1:]
    for _ in sys.stdin:
        number = os.fork()
        if number == 0:
            read_on(Path(root), task_id, cursor, Path(out))
            os._exit(0)
        print(number, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
