"""The command ``planimeter``: a console script into the native module."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import sysconfig
from typing import NoReturn


def _script() -> str:
    """Returns the file that starts the command, with which it starts processes of its own."""
    installed = os.path.join(sysconfig.get_path("scripts"), "planimeter")
    for path in (sys.argv[0], installed, shutil.which("planimeter") or ""):
        if os.path.basename(path) == "planimeter" and os.access(path, os.X_OK):
            return os.path.abspath(path)
    sys.exit(f"planimeter: the console script is not installed: there is no {installed}")


def main() -> NoReturn:
    """Runs the command with the arguments of this process, and exits with its status."""
    # The command handles signals itself. Python would only raise an exception after its end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from planimeter._native import run_command

    script = _script()
    name = sys.argv[0] if os.path.basename(sys.argv[0]) == "planimeter" else "planimeter"
    status = run_command([name, *sys.argv[1:]], script)
    # Threads of the command may still run; they end with the process.
    sys.stdout.flush()
    os._exit(status)
