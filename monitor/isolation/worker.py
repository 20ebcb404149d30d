"""The spawner and the workers that it forks: `python -m monitor.isolation.worker FD MEMORY_BYTES MODULE…`.

The spawner imports what most work needs and forks a worker in a few milliseconds. It does nothing else, so that it has
no threads to lose and nothing of a page ever reaches it. A worker closes its sandbox, reads tasks from its socket, and
answers each of them. Both end when the program that started them ends.
"""

import contextlib
import gc
import importlib
import os
import pickle
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from monitor.isolation import sandbox

TASK = struct.Struct("!Qd")
"""Before a task: its length and how many seconds of processor time it may take."""

ANSWER = struct.Struct("!BQ")
"""Before an answer: its kind and length."""

COMMAND = struct.Struct("!cq")
"""To the spawner: fork (a socket comes with it), or end this worker and tell how it ended."""

REPLY = struct.Struct("!q")
"""From the spawner: the new worker's process id, or how the other one ended."""

READY = struct.Struct("!??")
"""From a worker when it can take tasks: which walls of the sandbox stand."""

FORK, END = b"F", b"E"
_MAX_TASKS = 2_000
_RETIRE_AT = 0.5  # of the memory that a task may use


class AnswerKind(IntEnum):
    VALUE = 0
    ERROR = 1
    NO_MEMORY = 2
    UNREADABLE_ERROR = 3
    """An exception that cannot be handed over; its description comes instead."""
    LAST = 128
    """Added to the kind: the worker has ended, since it has worked or grown enough."""


def main(control_fd: int, memory_bytes: int, preload: list[str]) -> None:
    """Fork workers until the program that started this one closes the socket or dies."""
    for module in preload:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # what is loaded stays shared with the workers
    sys.dont_write_bytecode = True
    children: set[int] = set()
    with socket.socket(fileno=control_fd) as control:
        while True:
            try:
                message, descriptors, _, _ = socket.recv_fds(control, COMMAND.size, 1)
            except ConnectionError:
                break
            if len(message) < COMMAND.size:
                break
            command, process = COMMAND.unpack(message)
            if command == FORK:
                process = _fork_worker(control, descriptors[0], memory_bytes)
                children.add(process)
                control.sendall(REPLY.pack(process))
            elif process in children:
                children.discard(process)
                control.sendall(REPLY.pack(_end(process)))
    for process in children:
        _end(process)


def _end(process: int) -> int:
    """Kill a worker that may have ended already; return how it ended, negative for a signal."""
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _fork_worker(control: socket.socket, descriptor: int, memory_bytes: int) -> int:
    spawner = os.getpid()
    process = os.fork()
    if process:
        os.close(descriptor)
        return process
    status = 1
    try:
        control.close()
        walls = sandbox.close(spawner, memory_bytes=memory_bytes)
        _write(descriptor, READY.pack(*walls))
        _serve(descriptor, memory_bytes)
        status = 0
    finally:
        os._exit(status)


def _serve(descriptor: int, memory_bytes: int) -> None:
    for number in range(1, _MAX_TASKS + 1):
        header = _read(descriptor, TASK.size)
        if header is None:
            return
        length, cpu_s = TASK.unpack(header)
        task = _read(descriptor, length)
        if task is None:
            return
        signal.setitimer(signal.ITIMER_PROF, cpu_s)  # whose signal ends the process
        kind, answer = _work(task)
        signal.setitimer(signal.ITIMER_PROF, 0)
        del task
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        is_last = kind is AnswerKind.NO_MEMORY or number == _MAX_TASKS or used > _RETIRE_AT * memory_bytes
        _write(descriptor, ANSWER.pack(kind | AnswerKind.LAST if is_last else kind, len(answer)), answer)
        if is_last:
            return


def _work(task: bytearray) -> tuple[AnswerKind, bytes]:
    try:
        function: Callable[..., Any]
        function, args, kwargs = pickle.loads(task)  # noqa: S301  the program's own task
        return AnswerKind.VALUE, pickle.dumps(function(*args, **kwargs), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return AnswerKind.NO_MEMORY, b""
    except Exception as error:  # noqa: BLE001  it is handed over
        with contextlib.suppress(Exception):
            return AnswerKind.ERROR, pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
        return AnswerKind.UNREADABLE_ERROR, f"{type(error).__name__}: {error}"[:1000].encode("utf-8", "replace")


def _read(descriptor: int, length: int) -> bytearray | None:
    """Return so many bytes, or None where the other side has gone."""
    received = bytearray(length)
    view, start = memoryview(received), 0
    while start < length:
        with contextlib.suppress(ConnectionError):
            if count := os.readv(descriptor, [view[start:]]):
                start += count
                continue
        return None
    return received


def _write(descriptor: int, *parts: bytes) -> None:
    for part in parts:
        view = memoryview(part)
        while view:
            view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
