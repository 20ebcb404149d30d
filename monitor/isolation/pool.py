"""Runs functions over untrusted bytes in worker processes that have limits, a sandbox, and can be killed.

The processes start when they are first needed. A task goes to a worker as a pickle over a socket of its own, its answer
comes back the same way, and is read with an unpickler that builds plain values and this program's own classes alone:
a page that takes over a worker cannot reach further by what it answers.
"""

import asyncio
import dataclasses
import enum
import importlib
import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, ParamSpec, TypeVar

from pydantic import BaseModel

from monitor.errors import WorkFailed
from monitor.i18n.message import Message
from monitor.isolation import worker as protocol
from monitor.isolation.environment import build_child_environment
from monitor.isolation.sandbox import Walls
from monitor.isolation.worker import AnswerKind
from monitor.metrics import WORK_SECONDS
from monitor.tracing import trace

P = ParamSpec("P")
T = TypeVar("T")

_MAX_WORKERS = 4
_MAX_CRASHES = 2  # of one piece of work, then it is set aside
_MAX_STARTS = 3
_START_TIMEOUT_S = 60.0
_MAX_ANSWER_BYTES = 2**28
_LARGE_ANSWER_BYTES = 2**18  # takes so long to read that it is done in a thread
_RECEIVE_BYTES = 2**18
_REST_AFTER_S = 120.0
_TIME_SIGNALS = (signal.SIGPROF, signal.SIGXCPU)


READING_MODULES = (
    "monitor.extract.parse",
    "monitor.extract.redirects",
    "monitor.pages.data",
    "monitor.evidence.passages",
    "monitor.policies.lifecycle",
    "monitor.policies.facts",
    "monitor.sweep.article",
    "monitor.sweep.extracts",
    "monitor.verify.grounding",
)
"""What workers are forked with: they read pages, which the program itself never does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """What one piece of work may take; `memory_bytes` is beyond what an idle worker holds."""

    timeout_s: float = 20.0
    cpu_s: float = 15.0
    memory_bytes: int = 2**30
    max_input_bytes: int = 2**26


class IsolatedWorkFailed(WorkFailed):
    """Isolated work did not end by itself: `isolation.timeout`, `.memory`, `.crashed` or `.too_large`."""


class _WorkerGone(Exception):
    """A worker has closed its socket, or died."""


class _SpawnerGone(Exception):
    """The spawner has ended, and its workers with it."""


class WorkerPool:
    """Runs functions in at most `size` processes (as many as there are cores, at most 4).

    `preload` are modules that every worker has from its start. After `rest_after_s` without work the processes end,
    and with them the memory that they hold. A pool belongs to no event loop: several may use it, one after the other.
    """

    def __init__(
        self,
        limits: WorkerLimits | None = None,
        size: int | None = None,
        *,
        preload: Sequence[str] = (),
        rest_after_s: float = _REST_AFTER_S,
    ) -> None:
        self.limits = limits or WorkerLimits()
        self.size = size or min(os.cpu_count() or 1, _MAX_WORKERS)
        self.walls: Walls | None = None
        """Which walls of the sandbox the kernel has; None before the first worker started."""
        self._preload = list(preload)
        self._spawner: _Spawner | None = None
        self._lock = threading.Lock()  # over starts and ends, which happen in threads
        self._idle: list[_Worker] = []
        self._workers: set[_Worker] = set()
        self._free = self.size
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_closed = False
        self._rest_after_s = rest_after_s
        self._worked_at_s = time.monotonic()
        self._rest_timer: threading.Timer | None = None

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the function returns; its exceptions pass through, `IsolatedWorkFailed` says that it was ended.

        It is a function of a module, not of a class or another function. Cancelling ends the work at once.
        """
        return await self.run_limited(self.limits, function, *args, **kwargs)

    async def run_limited(self, limits: WorkerLimits, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `run`, with limits of time and input of its own."""
        task = pickle.dumps((function, args, kwargs), pickle.HIGHEST_PROTOCOL)
        if len(task) > limits.max_input_bytes:
            sizes = {"size": f"{len(task) / 2**20:.3g}", "limit": f"{limits.max_input_bytes / 2**20:.3g}"}
            raise IsolatedWorkFailed(Message("isolation.too_large", sizes))
        async with self._reserve_worker():
            with trace("isolated work", function=function.__name__), WORK_SECONDS.labels(function.__name__).time():
                kind, answer = await self._answer(task, limits)
        return await _read_answer(kind, answer)  # type: ignore[no-any-return]

    def start(self) -> None:
        """Start the spawner now, so that it loads its modules while the caller does something else."""
        with self._lock:
            if self._spawner is None and not self._is_closed:
                self._spawner = _Spawner(self.limits, self._preload)

    async def close(self) -> None:
        """End all processes; work in progress ends with `isolation.crashed`."""
        self._is_closed = True
        await asyncio.to_thread(self._close)

    def list_processes(self) -> list[int]:
        """Return the process ids of the workers."""
        return [worker.process for worker in list(self._workers)]

    @asynccontextmanager
    async def _reserve_worker(self) -> AsyncIterator[None]:
        """Wait for a worker's turn, first come, first served."""
        if self._free:
            self._free -= 1
        else:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn  # the turn of whoever has finished
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._hand_on()
                raise
        try:
            yield
        finally:
            self._hand_on()

    def _hand_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
        self._worked_at_s = time.monotonic()
        if self._rest_timer is None and self._free == self.size:
            self._plan_rest(self._rest_after_s)

    def _plan_rest(self, seconds: float) -> None:
        self._rest_timer = threading.Timer(seconds, self._rest)
        self._rest_timer.daemon = True
        self._rest_timer.start()

    def _rest(self) -> None:
        """End all processes if there was no work for a while; work that comes just now finds another worker."""
        with self._lock:
            self._rest_timer = None
            if self._is_closed:
                return
            left_s = self._worked_at_s + self._rest_after_s - time.monotonic()
            if self._free < self.size or left_s > 0:
                self._plan_rest(max(left_s, 1.0))
                return
            self._end_all()

    async def _answer(self, task: bytes, limits: WorkerLimits) -> tuple[AnswerKind, bytearray]:
        """Have a worker do the task, another one if it dies; a hopeless task is an `IsolatedWorkFailed`.

        Where a worker is killed from outside, by a person or for want of memory, all tries share the time of one.
        """
        loop = asyncio.get_running_loop()
        crashes, left_s = 0, limits.timeout_s
        while crashes < _MAX_CRASHES:
            worker = await self._take_worker()
            started = loop.time()
            try:
                async with asyncio.timeout(left_s):
                    kind, answer = await worker.ask(task, limits.cpu_s)
            except TimeoutError:
                self._kill(worker)
                raise _build_timeout(limits.timeout_s) from None
            except _WorkerGone:
                status = await asyncio.to_thread(self._bury, worker)
                if -status in _TIME_SIGNALS:
                    raise _build_timeout(limits.cpu_s) from None
                left_s -= loop.time() - started
                crashes += status != -signal.SIGKILL
                continue
            except BaseException:
                self._kill(worker)
                raise
            if kind & AnswerKind.LAST or len(self._idle) >= self.size:
                self._kill(worker)
            else:
                self._idle.append(worker)
            return AnswerKind(kind & ~AnswerKind.LAST), answer
        raise IsolatedWorkFailed("isolation.crashed")

    async def _take_worker(self) -> "_Worker":
        while True:
            while self._idle:
                worker = self._idle.pop()  # the one that worked last: others stay asleep
                if worker.is_alive():
                    return worker
                await asyncio.to_thread(self._bury, worker)
            # What a cancelled start has started waits among the idle for the next piece of work.
            await asyncio.to_thread(self._start_worker)

    def _start_worker(self) -> None:
        with self._lock:
            for _ in range(_MAX_STARTS):
                if self._is_closed:
                    raise IsolatedWorkFailed("isolation.crashed")
                if self._spawner is None:
                    self._spawner = _Spawner(self.limits, self._preload)
                try:
                    worker = self._spawner.fork()
                except _SpawnerGone:
                    self._drop_spawner()
                    continue
                self.walls = worker.walls
                self._workers.add(worker)
                self._idle.append(worker)
                return
        raise IsolatedWorkFailed("isolation.not_started")

    def _kill(self, worker: "_Worker") -> None:
        """End a worker at once; what remains of it is cleared away in a thread."""
        worker.kill()
        threading.Thread(target=self._bury, args=(worker,), name="monitor-isolation", daemon=True).start()

    def _bury(self, worker: "_Worker") -> int:
        """Return how a worker ended; a negative number is a signal."""
        with self._lock:
            worker.socket.close()
            if self._spawner is None or worker not in self._workers:
                return -signal.SIGKILL  # it is buried, or ended with its spawner
            self._workers.discard(worker)
            try:
                return self._spawner.end(worker.process)
            except _SpawnerGone:
                self._drop_spawner()
                return -signal.SIGKILL

    def _drop_spawner(self) -> None:
        if self._spawner is not None:
            self._spawner.close()
            self._spawner = None
            self._workers.clear()

    def _close(self) -> None:
        with self._lock:
            if self._rest_timer is not None:
                self._rest_timer.cancel()
            self._end_all()

    def _end_all(self) -> None:
        for worker in self._workers:
            worker.kill()  # whoever waits for its answer is told by its socket, and closes that
        self._drop_spawner()
        while self._idle:
            self._idle.pop().socket.close()


@dataclass(eq=False)
class _Worker:
    """A worker process and the socket on which it is asked."""

    process: int
    socket: socket.socket
    walls: Walls

    def is_alive(self) -> bool:
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK))  # nothing is awaited: what is there is the end
        except BlockingIOError:
            return True
        except OSError:
            return False

    def kill(self) -> None:
        """The process id is still its own: its spawner clears ended workers away only when it is told to."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)

    async def ask(self, task: bytes, cpu_s: float) -> tuple[int, bytearray]:
        """Return kind and bytes of the worker's answer."""
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self.socket, protocol.TASK.pack(len(task), cpu_s) + task)
            received = bytearray()
            while len(received) < protocol.ANSWER.size:
                received += await self._receive(loop)
            kind, length = protocol.ANSWER.unpack_from(received)
            if length > _MAX_ANSWER_BYTES:
                raise IsolatedWorkFailed("isolation.memory")
            del received[: protocol.ANSWER.size]
            while len(received) < length:
                received += await self._receive(loop)
        except OSError as error:
            raise _WorkerGone from error
        return kind, received

    async def _receive(self, loop: asyncio.AbstractEventLoop) -> bytes:
        received = await loop.sock_recv(self.socket, _RECEIVE_BYTES)
        if not received:
            raise _WorkerGone
        return received


class _Spawner:
    """The process that forks the workers, asked from one thread at a time."""

    def __init__(self, limits: WorkerLimits, preload: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(_START_TIMEOUT_S)
        with theirs:
            arguments = (str(theirs.fileno()), str(limits.memory_bytes), *preload)
            self._process = subprocess.Popen(  # noqa: S603  our own module
                [sys.executable, "-m", protocol.__name__, *arguments],
                env={**build_child_environment(), "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def fork(self) -> _Worker:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [protocol.COMMAND.pack(protocol.FORK, 0)], [theirs.fileno()])
                process = self._receive_reply()
            ours.settimeout(_START_TIMEOUT_S)
            ready = ours.recv(protocol.READY.size)
        except OSError as error:
            ours.close()
            raise _SpawnerGone from error
        if not ready:
            ours.close()
            raise _SpawnerGone
        ours.setblocking(False)
        return _Worker(process, ours, Walls(*protocol.READY.unpack(ready)))

    def end(self, process: int) -> int:
        """Return how a worker ended, which is killed where it has not."""
        try:
            self._control.sendall(protocol.COMMAND.pack(protocol.END, process))
            return self._receive_reply()
        except OSError as error:
            raise _SpawnerGone from error

    def close(self) -> None:
        """End the spawner and with it its workers."""
        self._control.close()
        try:
            self._process.wait(_START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _receive_reply(self) -> int:
        reply = self._control.recv(protocol.REPLY.size, socket.MSG_WAITALL)
        if len(reply) < protocol.REPLY.size:
            raise _SpawnerGone
        status: int = protocol.REPLY.unpack(reply)[0]
        return status


def _build_timeout(seconds: float) -> IsolatedWorkFailed:
    return IsolatedWorkFailed("isolation.timeout", seconds=f"{seconds:g}")


async def _read_answer(kind: AnswerKind, answer: bytearray) -> Any:
    """Return the value of an answer, or raise its exception."""
    if kind is AnswerKind.NO_MEMORY:
        raise IsolatedWorkFailed("isolation.memory")
    if kind is AnswerKind.UNREADABLE_ERROR:
        raise IsolatedWorkFailed("isolation.failed", reason=answer.decode("utf-8", "replace"))
    try:
        value = await asyncio.to_thread(load_value, answer) if len(answer) > _LARGE_ANSWER_BYTES else load_value(answer)
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise IsolatedWorkFailed("isolation.failed", reason=f"{type(error).__name__}: {error}"[:300]) from None
    if kind is AnswerKind.ERROR:
        raise value
    return value


def load_value(pickled: bytes | bytearray) -> Any:
    """Return a value that was pickled; `pickle.UnpicklingError` where it is made of anything but values."""
    return _ValueUnpickler(io.BytesIO(pickled)).load()


_PLAIN_CLASSES = {
    "builtins": {"bytearray", "complex", "frozenset", "object", "range", "set", "slice"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "pathlib": {"Path", "PosixPath", "PurePosixPath"},
    "uuid": {"UUID"},
    "zoneinfo": {"ZoneInfo"},
}


class _ValueUnpickler(pickle.Unpickler):
    """Builds values: plain classes, exceptions of Python, and models, dataclasses, tuples, enums, errors of ours."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "getattr"):
            return _get_member
        return _find_class(module, name)


def _get_member(owner: object, name: str) -> enum.Enum:
    """Return the member of an enum, which Python up to 3.11.3 (Debian 12) pickles as `getattr` of its class."""
    if isinstance(owner, type) and issubclass(owner, enum.Enum) and name in owner.__members__:
        return owner.__members__[name]
    raise pickle.UnpicklingError(f"{name} of {owner!r:.100} is no value")


@cache
def _find_class(module: str, name: str) -> Any:
    is_ours = module.partition(".")[0] == "monitor"
    if is_ours or module == "builtins" or name in _PLAIN_CLASSES.get(module, ()):
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        is_itself = isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name)
        if name in _PLAIN_CLASSES.get(module, ()) or (is_itself and (_is_value_class(found, is_ours=is_ours))):
            return found
    raise pickle.UnpicklingError(f"{module}.{name} is no value")


def _is_value_class(found: type, *, is_ours: bool) -> bool:
    if issubclass(found, Exception):
        return True
    is_tuple = issubclass(found, tuple) and hasattr(found, "_fields")
    is_model = issubclass(found, BaseModel | enum.Enum | Message) or dataclasses.is_dataclass(found)
    return is_ours and (is_tuple or is_model)
