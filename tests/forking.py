"""`python -m monitor` without the seconds of its imports, for tests: forked from a process that has imported it.

`start_by_fork` makes `subprocess` (and asyncio with it) start the program so, as a child of the test's own process like
any other. What is started in another way, or with options that are not known here, is started as ever. The tests of
the packages start the program by its own script.
"""

import contextlib
import ctypes
import gc
import importlib
import inspect
import json
import os
import pkgutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_COMMAND = [sys.executable, "-m", "monitor"]
_PLAIN = {
    "preexec_fn": None,
    "pass_fds": (),
    "shell": False,
    "gid": None,
    "uid": None,
    "umask": -1,
    "process_group": -1,
}
"""Options of `subprocess.Popen` as they are where nobody gives them: a fork knows no others."""

_PIPE_ENDS = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_MAX_MESSAGE_BYTES = 2**17
_CLONE_PARENT = 0x00008000  # the new process is a child of the parent, so that a test can wait for it
_CLONE_NUMBERS = {"x86_64": 56, "aarch64": 220}
_SIGCHLD = 17


class _Forker:
    """The process that has the imports; it starts with the first program."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                env={"PATH": os.environ["PATH"], "LANG": "C", "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, streams: list[int], **how: Any) -> int:
        with self._lock:
            socket.send_fds(self._control, [json.dumps(how).encode()], streams)
            return int.from_bytes(self._control.recv(8), "big")

    def close(self) -> None:
        self._control.close()
        self._process.wait(60)


@contextlib.contextmanager
def start_by_fork() -> Iterator[None]:
    if sys.platform != "linux" or os.uname().machine not in _CLONE_NUMBERS:
        yield
        return
    execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    names = inspect.signature(execute)
    forkers: list[_Forker] = []

    def fork_child(self: Any, *args: Any, **kwargs: Any) -> None:
        given = names.bind(self, *args, **kwargs).arguments
        words, environment = given["args"], given["env"]
        ends = [given["p2cread"], given["c2pwrite"], given["errwrite"]]
        streams = [number if end == -1 else end for number, end in enumerate(ends)]
        is_plain = all(given.get(name, value) == value for name, value in _PLAIN.items()) and given["close_fds"]
        is_ours = isinstance(words, list | tuple) and [*words[:3]] == _COMMAND
        if not is_plain or not is_ours or any(os.isatty(stream) for stream in streams):
            execute(self, *args, **kwargs)
            return
        if not forkers:
            forkers.append(_Forker())
        self.pid = forkers[0].fork(
            streams,
            words=[os.fspath(word) for word in words[3:]],
            folder=os.fspath(given["cwd"] or Path.cwd()),
            environment=dict(os.environ if environment is None else environment),
            umask=_read_umask(),
            is_leader=bool(given.get("start_new_session")),
        )
        self._child_created = True
        self._close_pipe_fds(*(given[name] for name in _PIPE_ENDS))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "_execute_child", fork_child)
        try:
            yield
        finally:
            for forker in forkers:
                forker.close()


def _read_umask() -> int:
    os.umask(umask := os.umask(0o077))
    return umask


def main(descriptor: int) -> None:
    """Fork a child for each message, until the tests close the socket; a child returns from here and is the program."""
    import monitor

    for module in pkgutil.walk_packages(monitor.__path__, "monitor."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as control:
        while True:
            message, streams, _, _ = socket.recv_fds(control, _MAX_MESSAGE_BYTES, 3)
            if not message:
                os._exit(0)
            process = _fork_sibling()
            if not process:
                break
            for stream in streams:
                os.close(stream)
            control.send(process.to_bytes(8, "big"))
    how = json.loads(message)
    _become(streams, how)


def _fork_sibling() -> int:
    """Fork, as a child of the parent of this process, which waits for it as for any program that it started."""
    api = ctypes.PyDLL(None)
    number = _CLONE_NUMBERS[os.uname().machine]
    api.PyOS_BeforeFork()
    process = api.syscall(number, _CLONE_PARENT | _SIGCHLD, 0, 0, 0, 0)
    if process == 0:
        api.PyOS_AfterFork_Child()
    else:
        api.PyOS_AfterFork_Parent()
    if process < 0:
        raise OSError("clone failed")
    return int(process)


def _become(streams: list[int], how: dict[str, Any]) -> None:
    """Take the place of a process that was started with these streams, words, folder and environment."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        if stream > 2:
            os.close(stream)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1, closefd=False)
    os.chdir(how["folder"])
    os.environ.clear()
    os.environ.update(how["environment"])
    time.tzset()
    os.umask(how["umask"])
    if how["is_leader"]:
        os.setsid()
    sys.argv[1:] = how["words"]
    from monitor.cli.main import main as run_program

    run_program()


if __name__ == "__main__":
    main(int(sys.argv[1]))
