"""A verb of the command in a child process, with its progress and its end.

The command measures in a process of its own: it handles signals, sets priorities and cores of its
threads, and its end, even by a fault, leaves Python as it was.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO, NamedTuple, Optional, Union

from planimeter._command import CHILD
from planimeter._progress import Drawn, Progress
from planimeter.errors import SystemFault

__all__ = ["Ended", "run"]

#: The time between two looks for progress and signals, in seconds.
_LOOK_S = 0.05
#: The time for which an interrupted call waits for the child, in seconds.
_GRACE_S = 0.1
#: The time after which an interrupted child is ended for good, in seconds. Verbs end within one.
_PATIENCE_S = 5.0


class Ended(NamedTuple):
    """The end of a verb."""

    status: int
    """The exit status, or the negative number of the signal that ended the process."""
    output: str
    """What it printed on standard output."""
    errors: str
    """What it printed on standard error."""


class _Child:
    def __init__(self, words: Sequence[str]) -> None:
        if not sys.executable:
            raise SystemFault("the interpreter does not know its own file, which the command needs")
        # The pipe `life` ends with this process, however that ends.
        life_reader, self._life = os.pipe()
        reader, writer = os.pipe()
        # Without -P, files of the current directory could hide modules.
        safe = ["-P"] if sys.version_info >= (3, 11) else []
        try:
            self._process = subprocess.Popen(
                [sys.executable, *safe, "-m", "planimeter", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(life_reader, writer),
                env={**os.environ, CHILD: f"{life_reader},{writer}"},
                # Ctrl-C reaches this process alone, which passes it on once. A second one would end
                # the child before it has left its result. The child also leads a process group, by
                # which signals reach the processes that it starts.
                start_new_session=True,
                text=True,
                errors="replace",
            )
        except BaseException as error:
            os.close(reader)
            os.close(self._life)
            if isinstance(error, OSError):
                raise SystemFault(f"the command cannot be started: {error}") from None
            raise
        finally:
            os.close(life_reader)
            os.close(writer)
        self._events: queue.SimpleQueue[Union[Progress, str]] = queue.SimpleQueue()
        self._output: list[str] = []
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
            threading.Thread(target=self._read_progress, args=(reader,), daemon=True),
        ]
        for thread in self._readers:
            thread.start()

    def _stream(self, stream: Optional[IO[str]]) -> IO[str]:
        assert stream is not None
        return stream

    def _read_output(self) -> None:
        with self._stream(self._process.stdout) as stream:
            self._output.extend(stream)

    def _read_errors(self) -> None:
        with self._stream(self._process.stderr) as stream:
            for line in stream:
                self._errors.append(line)
                self._events.put(line.rstrip("\n"))

    def _read_progress(self, reader: int) -> None:
        with open(reader, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    self._events.put(Progress(**json.loads(line)))
                except (TypeError, ValueError):
                    # A process that was killed may leave half a line.
                    continue

    def wait(self, shown: Drawn) -> Ended:
        """Waits for the end of the process, and shows its progress meanwhile."""
        status: Optional[int] = None
        while status is None:
            try:
                status = self._process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                pass
            if status is not None:
                # A process that the command left behind may hold the pipes open.
                for thread in self._readers:
                    thread.join(1.0)
            self._show(shown)
        os.close(self._life)
        return Ended(status, "".join(self._output), "".join(self._errors))

    def _show(self, shown: Drawn) -> None:
        last: Optional[Progress] = None
        while not self._events.empty():
            event = self._events.get()
            if isinstance(event, Progress):
                last = event
            else:
                shown.note(event)
        if last is not None:
            shown.show(last)

    def interrupt(self) -> None:
        """Interrupts the process, which may end after this call, with its result."""
        if self._process.returncode is not None:
            os.close(self._life)
            return
        self._signal(signal.SIGINT, to_group=False)
        self._has_ended(_GRACE_S)
        # Not a daemon: the interpreter waits at its end, so that the result is left.
        threading.Thread(target=self._end).start()

    def _end(self) -> None:
        """Waits for the end of an interrupted process, and ends what it has left behind."""
        if not self._has_ended(_PATIENCE_S):
            # It may wait for a process of its own.
            self._signal(signal.SIGINT, to_group=True)
            self._has_ended(_PATIENCE_S)
        self._signal(signal.SIGKILL, to_group=True)
        self._process.wait()
        os.close(self._life)

    def _has_ended(self, time_s: float) -> bool:
        """Returns whether the process ends within a time.

        The process is not reaped, so that the number of its group remains its own.
        """
        end = time.monotonic() + time_s
        while True:
            try:
                options = os.WEXITED | os.WNOHANG | os.WNOWAIT
                if os.waitid(os.P_PID, self._process.pid, options) is not None:
                    return True
            except ChildProcessError:
                # The program ignores SIGCHLD, and the system reaps its children.
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(_LOOK_S / 10)

    def _signal(self, number: int, *, to_group: bool) -> None:
        send = os.killpg if to_group else os.kill
        try:
            send(self._process.pid, number)
        except ProcessLookupError:
            pass


def run(words: Sequence[str], shown: Drawn) -> Ended:
    """Runs a verb of the command in a child process.

    If a signal handler or the progress function raises an exception, the child is interrupted, and
    the exception is raised within 0.2 s; the child then leaves the result that it has. Processes of
    its own end with it.
    """
    child = _Child(words)
    try:
        return child.wait(shown)
    except BaseException:
        child.interrupt()
        raise
    finally:
        shown.close()
