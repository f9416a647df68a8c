"""The command ``planimeter``: a console script into the native module.

A measurement that Python starts (`planimeter.running`) runs the command in a child process. The
variable ``PLANIMETER_CHILD`` then has the numbers of two file descriptors: a pipe that ends with
the parent, and a pipe for progress. The child removes the variable, since its own children are not
concerned.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import sysconfig
import threading
import time
from typing import NoReturn, Optional

#: The variable with the file descriptors of a child process.
CHILD = "PLANIMETER_CHILD"
#: The time after which a child whose parent has ended is ended for good, in seconds.
_PATIENCE_S = 5.0


def _script() -> str:
    """Returns the file that starts the command, with which it starts processes of its own."""
    installed = os.path.join(sysconfig.get_path("scripts"), "planimeter")
    for path in (sys.argv[0], installed, shutil.which("planimeter") or ""):
        if os.path.basename(path) == "planimeter" and os.access(path, os.X_OK):
            return os.path.abspath(path)
    sys.exit(f"planimeter: the console script is not installed: there is no {installed}")


def _as_child() -> Optional[str]:
    """Ends this process with its parent, and returns the file for progress, if it is a child."""
    numbers = os.environ.pop(CHILD, None)
    if numbers is None:
        return None
    life, progress = (int(number) for number in numbers.split(","))
    for number in (life, progress):
        os.set_inheritable(number, False)
    threading.Thread(target=_end_with_parent, args=(life,), daemon=True).start()
    return f"/proc/self/fd/{progress}"


def _end_with_parent(life: int) -> None:
    # Nothing is ever written to the pipe, so reading returns when the parent has ended.
    os.read(life, 1)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_PATIENCE_S)
    # The parent has made this process the leader of a group, which has its children.
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> NoReturn:
    """Runs the command with the arguments of this process, and exits with its status."""
    # The command handles signals itself. Python would only raise an exception after its end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    progress = _as_child()
    from planimeter._native import run_command

    script = _script()
    name = sys.argv[0] if os.path.basename(sys.argv[0]) == "planimeter" else "planimeter"
    status = run_command([name, *sys.argv[1:]], script, progress)
    # Threads of the command may still run; they end with the process.
    sys.stdout.flush()
    os._exit(status)
