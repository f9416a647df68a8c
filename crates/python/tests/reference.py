"""Writes the reference of the Python package from its docstrings, as a page of the book.

    python crates/python/tests/reference.py > docs/reference/python.md
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
import textwrap
from types import ModuleType
from typing import Any, Callable

# Modules in the order of the page. One that the package does not have is left out.
MODULES = (
    "calculus",
    "program",
    "switch",
    "arrays",
    "entries",
    "packets",
    "running",
    "device",
    "attached",
    "emulated",
    "results",
    "testing",
    "errors",
)
HEAD = """<!-- Written by `python crates/python/tests/reference.py`. -->

# The Python package, name by name

[Python](../python.md) explains the package with examples; this page lists its names. Names that `planimeter` has itself, such as
`planimeter.Switch`, are listed at the module that defines them. Durations are in seconds if a name ends in `_s`, and data in bits if it
ends in `_bits`.
"""
SECTION = re.compile(r"^(?P<name>[A-Z][a-z]+(?: [A-Z][a-z]+)*)\n-{3,}\n", re.MULTILINE)


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for name in MODULES:
        if importlib.util.find_spec(f"planimeter.{name}") is None:
            continue
        module = importlib.import_module(f"planimeter.{name}")
        parts.append(f"## planimeter.{name}\n\n{prose(inspect.getdoc(module) or '')}")
        parts += [entry(module, public) for public in names_of(module)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def names_of(module: ModuleType) -> list[str]:
    """Return the public names of a module."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
        and not name.startswith(("_", "pytest_"))
        and (not inspect.isclass(value) or issubclass(value, BaseException))
    ]


def entry(module: ModuleType, name: str) -> str:
    """Return the part of the page for a name of a module."""
    value = getattr(module, name)
    if inspect.isclass(value):
        return class_of(name, value)
    if callable(value) and not _is_alias(value):
        return f"### {name}\n\n`{name}{signature(value)}`\n\n{prose(inspect.getdoc(value) or '')}"
    return f"### {name}\n\n`{name} = {_plain(value)}`"


def class_of(name: str, value: type) -> str:
    """Return the part of the page for a class: its docstring and its own public members."""
    is_error = issubclass(value, BaseException)
    head = f"class {name}"
    if is_error:
        head += f"({', '.join(base.__name__ for base in value.__bases__)})"
    else:
        taken = signature(value).removesuffix(" -> None")
        # What takes objects of the native module is made by the package alone.
        head += "" if taken == "(...)" or "_native." in taken or "_json" in taken else taken
    parts = [f"### {name}\n\n`{head}`\n\n{prose(inspect.getdoc(value) or '')}", _fields(value)]
    members = list(vars(value).items())
    if any(inspect.isgetsetdescriptor(raw) and not member.startswith("_") for member, raw in members):
        # Rust registers the members in an order that differs from run to run.
        members.sort(key=lambda member: member[0])
    for member, raw in members:
        if member.startswith("_") or (is_error and not callable(raw)):
            continue
        text = inspect.getdoc(getattr(value, member)) or ""
        if isinstance(raw, property) or inspect.isgetsetdescriptor(raw) or _is_field(value, raw):
            parts.append(f"**`{name}.{member}`**\n\n{prose(text)}" if text and not _is_field(value, raw) else "")
        elif callable(raw) or isinstance(raw, (classmethod, staticmethod)):
            shown = signature(getattr(value, member))
            parts.append(f"**`{name}.{member}{shown}`**\n\n{prose(text)}")
    return "\n\n".join(part.strip() for part in parts if part)


def _fields(value: type) -> str:
    """Return the fields of a named tuple, whose explanations only its source has."""
    if not hasattr(value, "_fields"):
        return ""
    tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    [body] = (one.body for one in tree.body if isinstance(one, ast.ClassDef))
    items = []
    for field, after in zip(body, body[1:]):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            kind, said = ast.unparse(field.annotation), " ".join(_markup(str(after.value.value)).split())
            items.append(f"* `{ast.unparse(field.target)} : {kind}`: {said}")
    return "\n".join(["**Fields**", "", *items]) if items else ""


def signature(of: Callable[..., Any]) -> str:
    """Return the signature of a function as in its source, without `self`."""
    try:
        found = inspect.signature(of)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [one for one in found.parameters.values() if one.name not in ("self", "cls")]
    shown = str(inspect.Signature([one.replace(annotation=_annotation(one)) for one in parameters]))
    returned = found.return_annotation
    tail = "" if returned is inspect.Signature.empty else f" -> {_plain(returned)}"
    # Annotations are text, which Python shows in quotes.
    return re.sub(r""": (?:'([^']*)'|"([^"]*)")""", r": \1\2", shown) + tail


def prose(text: str) -> str:
    """Return a docstring in the style of numpydoc as Markdown."""
    pieces = SECTION.split(text)
    parts = [_markup(pieces[0].strip())]
    for title, body in zip(pieces[1::2], pieces[2::2]):
        if title == "Examples":
            parts.append(f"**Example**\n\n```pycon\n{body.strip()}\n```")
        elif title in ("Notes", "See Also"):
            parts.append(f"**{title}**\n\n{_markup(body.strip())}")
        else:
            parts.append(f"**{title}**\n\n{_items(body)}")
    return "\n\n".join(part for part in parts if part)


def _items(body: str) -> str:
    """Return the items of a section as a list."""
    items = []
    for item in re.split(r"\n(?=\S)", body.strip()):
        head, _, rest = item.partition("\n")
        said = " ".join(_markup(textwrap.dedent(rest)).split())
        items.append(f"* `{head.strip()}`" + (f": {said}" if said else ""))
    return "\n".join(items)


def _markup(text: str) -> str:
    return text.replace("``", "`").replace("::\n", ":\n")


def _annotation(parameter: inspect.Parameter) -> Any:
    if parameter.annotation is inspect.Parameter.empty:
        return parameter.annotation
    return _plain(parameter.annotation)


def _plain(value: object) -> str:
    """Return a type as its source has it."""
    value = getattr(value, "__forward_arg__", value)
    if isinstance(value, str):
        return value
    name = value.__name__ if isinstance(value, type) else str(value)
    return re.sub(r"\b(typing|planimeter\.\w+|collections\.abc|builtins)\.", "", name)


def _is_alias(value: object) -> bool:
    return getattr(value, "__module__", None) == "typing" or hasattr(value, "__origin__")


def _is_field(owner: type, raw: object) -> bool:
    """Return whether a member is a field of a named tuple or dataclass, which the docstring lists."""
    return type(raw).__name__ in ("_tuplegetter", "member_descriptor") or not (
        callable(raw) or isinstance(raw, (property, classmethod, staticmethod)) or inspect.isgetsetdescriptor(raw)
    )


if __name__ == "__main__":
    sys.stdout.write(page())
