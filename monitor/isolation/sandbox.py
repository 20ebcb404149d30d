"""What a worker may do: compute, and read the program's own files. Closed once for all, by the kernel.

Four walls, each of which holds without the others: resource limits, no new privileges, Landlock (files, signals and
TCP), and a filter of system calls (seccomp). A kernel without one of the last two has the others.
"""

import ctypes
import errno
import mimetypes
import os
import platform
import resource
import signal
import site
import struct
import sys
from pathlib import Path
from typing import NamedTuple

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_MAX_OPEN_FILES = 64
_READABLE = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/localtime", "/etc/ld.so.cache")
_READABLE_DEVICES = ("/dev/null", "/dev/urandom")


class Walls(NamedTuple):
    """Which of the kernel's walls stand: that around files, and that around system calls."""

    files: bool = False
    calls: bool = False


def close(parent: int, *, memory_bytes: int) -> Walls:
    """Close the sandbox around this process, which dies with `parent`; return which walls the kernel has.

    `memory_bytes` is what it may allocate beyond what it holds now.
    """
    os.dup2(1, 2)  # what a page makes a library print is nobody's
    for kind, limit in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, _MAX_OPEN_FILES),
        (resource.RLIMIT_AS, memory_bytes + _read_address_space()),
    ):
        resource.setrlimit(kind, (limit, limit))
    if sys.platform != "linux":
        return Walls()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return Walls()
    return Walls(files=_restrict_files(libc), calls=_filter_system_calls(libc))


def _read_address_space() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 2**29


# Landlock: numbers and bits of linux/landlock.h.

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_QUERY_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # how many bits the versions know, 16 since the fifth
_TCP_RIGHTS, _SCOPES = 0b11, 0b11


def _restrict_files(libc: ctypes.CDLL) -> bool:
    """Leave only the program's own files to be read, and nothing to be written."""
    version = libc.syscall(_CREATE_RULESET, None, 0, _QUERY_VERSION)
    if version < 1:
        return False
    rights = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    attributes = struct.pack("=Q", rights)
    if version >= 4:
        attributes += struct.pack("=Q", _TCP_RIGHTS)
    if version >= 6:
        attributes += struct.pack("=Q", _SCOPES)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    for path in _list_readable():
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        granted = _READ_FILE | _READ_FOLDER if path.is_dir() else _READ_FILE
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", granted, opened), 0)
        os.close(opened)
    is_restricted: bool = libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return is_restricted


def _list_readable() -> set[Path]:
    """Return the folders of Python, of its libraries and of this package, never those of configuration and data."""
    libraries = {Path(entry) for entry in sys.path if Path(entry).name in {"site-packages", "dist-packages"}}
    prefixes = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.exec_prefix), Path(site.__file__).parent}
    package = Path(__file__).parents[1]
    return {*libraries, *prefixes, package, *map(Path, (*_READABLE, *_READABLE_DEVICES, *mimetypes.knownfiles))}


# Seccomp: what is refused, with the numbers of each call on x86-64 and on arm64, and what it would reach.

_REFUSED = """
socket 41 198, connect 42 203, accept 43 202, sendto 44 206, sendmsg 46 211, recvmsg 47 212, bind 49 200,
listen 50 201, socketpair 53 199, accept4 288 242, recvmmsg 299 243, sendmmsg 307 269, io_uring_setup 425 425,
io_uring_enter 426 426, io_uring_register 427 427,
clone 56 220, fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, kill 62 129, tkill 200 130, tgkill 234 131,
rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, pidfd_send_signal 424 424, pidfd_open 434 434,
pidfd_getfd 438 438, ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,
setrlimit 160 164, shmget 29 194, semget 64 190, msgget 68 186, mq_open 240 180,
creat 85 -, truncate 76 45, ftruncate 77 46, rename 82 -, mkdir 83 -, rmdir 84 -, link 86 -, unlink 87 -,
symlink 88 -, chmod 90 -, fchmod 91 52, chown 92 -, fchown 93 55, lchown 94 -, utime 132 -, mknod 133 -,
utimes 235 -, futimesat 261 -, mkdirat 258 34, mknodat 259 33, fchownat 260 54, unlinkat 263 35, renameat 264 38,
linkat 265 37, symlinkat 266 36, fchmodat 268 53, fchmodat2 452 452, utimensat 280 88, renameat2 316 276,
setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16,
open_by_handle_at 304 265, name_to_handle_at 303 264, memfd_create 319 279,
mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, unshare 272 97, setns 308 268, open_tree 428 428,
move_mount 429 429, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442,
swapon 167 224, swapoff 168 225, reboot 169 142, init_module 175 105, finit_module 313 273, delete_module 176 106,
kexec_load 246 104, kexec_file_load 320 294, add_key 248 217, request_key 249 218, keyctl 250 219, bpf 321 280,
perf_event_open 298 241, userfaultfd 323 282, fanotify_init 300 262, clock_settime 227 112, settimeofday 164 170,
adjtimex 159 171, quotactl 179 60, sethostname 170 161, setdomainname 171 162, acct 163 89
"""  # the network; other programs and processes; files; the system
_ABSENT = "clone3 435 435, openat2 437 437"  # their flags cannot be looked at; callers have another way
_OPEN, _OPENAT, _PRLIMIT = "open 2 -", "openat 257 56", "prlimit64 302 261"
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_FIRST_X32_CALL = 0x40000000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _FAIL_WITH = 0x7FFF0000, 0x00050000
_SECCOMP_MODE_FILTER = 2

_Instruction = tuple[int, str | None, str | None, int]
"""Operation, label to jump to if true, label if false (None: the next instruction), constant."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _filter_system_calls(libc: ctypes.CDLL) -> bool:
    architecture = _ARCHITECTURES.get(platform.machine())
    if architecture is None:
        return False
    code = _assemble(*architecture)
    program = _Program(len(code) // 8, code)
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _list_numbers(calls: str, column: int) -> list[int]:
    numbers = [call.split()[1 + column] for call in calls.split(",")]
    return [int(number) for number in numbers if number != "-"]


def _assemble(column: int, architecture: int) -> bytes:
    """Return the filter in the classic BPF of the kernel."""
    code: list[_Instruction] = [
        (_LOAD, None, None, _ARCHITECTURE_AT),
        (_JUMP_EQUAL, None, "refuse", architecture),
        (_LOAD, None, None, _NUMBER_AT),
        (_JUMP_AT_LEAST, "refuse", None, _FIRST_X32_CALL),
    ]
    checked = ((_OPEN, "open"), (_OPENAT, "openat"), (_PRLIMIT, "prlimit"))
    for calls, label in ((_REFUSED, "refuse"), (_ABSENT, "absent"), *checked):
        code += [(_JUMP_EQUAL, label, None, number) for number in _list_numbers(calls, column)]
    labels = {"allow": len(code)}
    code.append((_RETURN, None, None, _ALLOW))
    for label, operation, constant, argument in (
        ("open", _JUMP_BITS, _WRITE_FLAGS, 1),
        ("openat", _JUMP_BITS, _WRITE_FLAGS, 2),
        ("prlimit", _JUMP_BITS, 0xFFFFFFFF, 2),  # new limits
    ):
        labels[label] = len(code)
        code.append((_LOAD, None, None, _ARGUMENTS_AT + 8 * argument))
        code.append((operation, "refuse", None, constant))
        code.append((_RETURN, None, None, _ALLOW))
    labels["absent"] = len(code)
    code.append((_RETURN, None, None, _FAIL_WITH | errno.ENOSYS))
    labels["refuse"] = len(code)
    code.append((_RETURN, None, None, _FAIL_WITH | errno.EPERM))

    def distance(label: str | None, at: int) -> int:
        return 0 if label is None else labels[label] - at - 1

    return b"".join(
        struct.pack("=HBBI", operation, distance(yes, at), distance(no, at), constant)
        for at, (operation, yes, no, constant) in enumerate(code)
    )
