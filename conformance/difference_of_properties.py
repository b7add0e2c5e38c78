"""Properties whose text differs between two versions of a model.

A property that has been weakened holds wherever the old one held, so no search shows it. What is
compared is the text of its function and of the functions of its module that it calls, without
comments, layout, docstrings, the wording of clauses and the names of its own variables.

Not here: whether two texts mean the same. A property written in another way is reported.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

KINDS = ("invariants", "step_properties", "witnesses")


def list_changed_properties(old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """Yield the names of properties of two machines that differ, and "added", "removed", "text"."""
    for kind in KINDS:
        before, after = (
            {each.__name__: each for each in getattr(machine, kind)} for machine in (old, new)
        )
        for name in sorted(before.keys() | after.keys()):
            if name not in after:
                yield name, "removed"
            elif name not in before:
                yield name, "added"
            elif read_text(before[name]) != read_text(after[name]):
                yield name, "text"


def read_text(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the normal text of a function, and of those of its module that it needs."""
    texts: dict[str, str] = {}
    waiting: list[Any] = [function]
    while waiting:
        each = waiting.pop()
        if each.__qualname__ in texts:
            continue
        tree = _normalise(each)
        texts[each.__qualname__] = ast.dump(tree)
        used = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
        found = [each.__globals__.get(name) for name in used]
        waiting += [
            other
            for other in found
            if inspect.isfunction(other) and other.__globals__ is function.__globals__
        ]
    return tuple(texts.values())


class _WithoutWording(ast.NodeTransformer):
    """Takes the same text for every sentence with values: a clause may be said in other words."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.copy_location(ast.Constant("a sentence"), node)


def _normalise(function: Any) -> ast.AST:
    """Return the syntax of a function, with numbers for the names of its own variables."""
    source = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(source).body[0]
    _WithoutWording().visit(tree)
    if isinstance(tree, ast.FunctionDef) and ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:]
    own: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            own.setdefault(node.arg, f"variable {len(own)}")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.setdefault(node.id, f"variable {len(own)}")
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.arg = own[node.arg]
        elif isinstance(node, ast.Name):
            node.id = own.get(node.id, node.id)
    return tree
