"""Measures readers in a process of its own, which dies in place of the tests where a reader does not end."""

import gc
import multiprocessing
import resource
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from tests.scaling.atoms import ATOMS
from tests.scaling.readers import READERS

_ATOM_BY_NAME = {atom.name: atom for atom in ATOMS}
_SPARE_S = 2  # the limit counts whole seconds


@dataclass(frozen=True)
class Case:
    """One measurement: a reader, an atom, the length of the text, and how often at most."""

    reader: str
    atom: str
    chars: int
    repeats: int = 1


class Laboratory:
    """A child process that measures one case after the other; its limit kills one whose repetitions take more each."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._context = multiprocessing.get_context("spawn")
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def measure(self, case: Case) -> float | None:
        """Return the processor time of the fastest repetition in seconds; None where it takes more than the limit."""
        if self._connection is None:
            self._connection, theirs = self._context.Pipe()
            self._process = self._context.Process(target=_serve, args=(theirs, self._limit_s), daemon=True)
            self._process.start()
            theirs.close()
        is_answered = False
        try:
            self._connection.send(case)
            answer = self._connection.recv()
            is_answered = True
        except (EOFError, ConnectionResetError, BrokenPipeError):
            code = self.close()
            if code != -signal.SIGXCPU:
                raise AssertionError(f"{case.reader} × {case.atom}: the process ended with {code}") from None
            return None
        finally:
            if not is_answered and self._process is not None:  # the test was interrupted: what is late is of no use
                self._process.kill()
                self.close()
        if isinstance(answer, str):
            raise AssertionError(f"{case.reader} × {case.atom}: {answer}")  # noqa: TRY004 (a finding, no mistake in types)
        return float(answer)

    def close(self) -> int | None:
        """End the process, if there is one, and return its exit code."""
        code = None
        if self._process is not None and self._connection is not None:
            self._connection.close()
            self._process.join()
            code = self._process.exitcode
        self._process = self._connection = None
        return code


def _serve(connection: Connection, limit_s: float) -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.set_threshold(50_000)  # as the program itself has it
    for reader in READERS.values():
        reader(ATOMS[0].build(100))  # what is imported and built on first use is no part of any measurement
    gc.collect()
    gc.freeze()  # else each collection goes through all that was imported
    while True:
        try:
            case: Case = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        spent = time.process_time()
        resource.setrlimit(
            resource.RLIMIT_CPU, (int(spent + case.repeats * limit_s) + _SPARE_S, resource.RLIM_INFINITY)
        )
        try:
            connection.send(_measure(case))
        except Exception as error:  # noqa: BLE001 (the test reports it with the case)
            connection.send(repr(error)[:300])


def _measure(case: Case) -> float:
    atom, reader = _ATOM_BY_NAME[case.atom], READERS[case.reader]
    best = float("inf")
    for repetition in range(case.repeats):
        text = atom.build(case.chars + repetition * len(atom.unit))  # no two texts are the same: readers have caches
        gc.collect()
        started = time.process_time()
        reader(text)
        best = min(best, time.process_time() - started)
    return best
