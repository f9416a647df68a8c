"""Packages that are used where they are installed."""

from __future__ import annotations

import importlib
from typing import Any

from planimeter.errors import MissingPackageError

# The extra of this package that installs each of them.
_EXTRAS = {
    "matplotlib.pyplot": "plot",
    "networkx": "networkx",
    "pandas": "pandas",
    "polars": "polars",
}


def optional(module: str, purpose: str) -> Any:
    """Returns a module of an optional package.

    Parameters
    ----------
    module : str
        The name of the module.
    purpose : str
        What it is needed for, as in "to draw curves".

    Raises
    ------
    MissingPackageError
        The package is not installed; the remedy is the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.split(".")[0]
        if error.name is None or error.name.split(".")[0] != package:
            raise
        raise MissingPackageError(
            f"{package} is needed {purpose}",
            remedy=f"install it: pip install 'planimeter[{_EXTRAS[module]}]'",
        ) from None
