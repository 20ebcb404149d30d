import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.pages import measure_tree_memory

MB = 2**20
HOLDS_50_MB = "import sys; held = bytearray(50 * 2**20); print(flush=True); sys.stdin.read()"

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="this system has no smaps_rollup")


def test_a_child_counts_unless_it_is_left_out() -> None:
    alone = measure_tree_memory()
    assert alone is not None
    command = [sys.executable, "-c", HOLDS_50_MB]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with_child, without = measure_tree_memory(), measure_tree_memory(exclude_pid=child.pid)
        child.communicate()
    assert with_child is not None
    assert without is not None
    assert with_child - alone > 45 * MB
    assert abs(without - alone) < 20 * MB
