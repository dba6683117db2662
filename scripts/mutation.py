"""Mutation testing of the matcher: does some test notice every small change of it?

    python scripts/mutation.py [FILE…]

Each change (a comparison turned round, a number one larger, a statement left out, …) is made alone in a copy of the
package, and the tests of the patterns run against it. Changes that no test notices are printed; the exit code is 1 if
there are any that ``EQUIVALENT`` does not explain. (mutmut 3.8 does not run with pytest 9; this does what it would.)
"""

from __future__ import annotations

import ast
import copy
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PATTERNS = Path("src/pointsman/patterns")
FILES = [PATTERNS / f"{name}.py" for name in ("automaton", "positional", "matcher", "track", "captures", "nodes")]
TESTS = [
    "tests/patterns/test_conformance_cases.py",
    "tests/patterns/test_pattern.py",
    "tests/patterns/test_template.py",
    "tests/patterns/test_properties.py",
]
SWAPS: dict[type[ast.AST], list[type[ast.AST]]] = {
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.LShift: [ast.RShift],
    ast.RShift: [ast.LShift],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
# A change that alters no answer, by a part of its description, and why it cannot.
EQUIVALENT: dict[str, str] = {
    "track.py line 49: constant: 2 -> 3": "the numbers of the loops are only compared",
    "compare 0: state < len(self.track.steps) -> state <=": "one None too many at the end, which nobody asks for",
    "automaton.py line 69: constant: 0 -> 1": "bit 0 is the start, which nothing enters again",
}


def changes(tree: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Every changed copy of a module, with a description."""
    silent = _silent(tree)
    for index, node in enumerate(ast.walk(tree)):
        if node in silent:
            continue
        for number, kind in enumerate(_variants(node)):
            changed = copy.deepcopy(tree)
            target = next(each for position, each in enumerate(ast.walk(changed)) if position == index)
            before = ast.unparse(target) if isinstance(target, ast.expr | ast.stmt) else ""
            _apply(target, number, changed)
            after = ast.unparse(target) if isinstance(target, ast.expr | ast.stmt) else ""
            line = getattr(node, "lineno", 0)
            yield f"line {line}: {kind}: {before.splitlines()[0][:90]} -> {after.splitlines()[0][:90]}", changed


def _silent(tree: ast.Module) -> set[ast.AST]:
    """What decides nothing: annotations, type aliases, __slots__, the decorators of classes."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if part is not None:
                found.update(ast.walk(part))
        if isinstance(node, ast.ClassDef):
            # Whether a dataclass has slots or is frozen changes no answer.
            for decorator in node.decorator_list:
                found.update(ast.walk(decorator))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name == "__slots__" or (name[0].isupper() and not name.isupper() and name != "Matcher"):
                found.update(ast.walk(node))
    return found


def _variants(node: ast.AST) -> list[str]:
    match node:
        case ast.Compare():
            return [f"compare {place}" for place, op in enumerate(node.ops) for _ in SWAPS[type(op)]]
        case ast.BoolOp():
            return ["and/or"]
        case ast.BinOp() | ast.AugAssign() if type(node.op) in SWAPS:
            return ["operator"]
        case ast.UnaryOp(op=ast.Not()):
            return ["not removed"]
        case ast.Constant(value=bool()):
            return ["constant"]
        case ast.Constant(value=int()):
            return ["constant"]
        case ast.Name(id=name) if name in NAMES:
            return ["function"]
        case ast.If() | ast.While() | ast.IfExp():
            return ["negated"]
        case ast.Assign() | ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()) | ast.Continue() | ast.Break():
            return ["left out"]
        case _:
            return []


def _apply(node: ast.AST, number: int, tree: ast.Module) -> None:
    match node:
        case ast.Compare():
            choices = [(place, swap) for place, op in enumerate(node.ops) for swap in SWAPS[type(op)]]
            place, swap = choices[number]
            node.ops[place] = swap()  # type: ignore[assignment]
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign():
            node.op = SWAPS[type(node.op)][0]()  # type: ignore[assignment]
        case ast.UnaryOp():
            node.op = ast.UAdd()
            node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() as value):
            node.value = value + 1
        case ast.Name():
            node.id = NAMES[node.id]
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case _:
            _remove(node, tree)
    ast.fix_missing_locations(tree)


def _remove(node: ast.AST, tree: ast.Module) -> None:
    for parent in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and node in block:
                block[block.index(node)] = ast.Pass()


def survives(work: tuple[str, str]) -> bool:
    """Whether the tests pass with the changed text of a file."""
    file, text = work
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HERE / "src" / "pointsman", Path(folder) / "pointsman")
        (Path(folder) / Path(file).relative_to("src")).write_text(text)
        child = os.fork()
        if not child:
            os._exit(_run_tests(folder))
        status = os.waitpid(child, 0)[1]
    return status == 0


def _run_tests(folder: str) -> int:
    """Runs in a child process of its own; a change that loops for ever, or eats memory, is stopped by the limits."""
    import resource

    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os.environ["POINTSMAN_HYPOTHESIS"] = "mutation"
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    try:
        return int(pytest.main(["-x", "-q", "-n0", "-p", "no:cacheprovider", "-p", "no:randomly", *TESTS]))
    except BaseException:
        # Whatever it was, the change was noticed.
        return 1


def main() -> int:
    """Makes all changes of the files named, or of all."""
    os.chdir(HERE)
    if not survives((str(FILES[0]), FILES[0].read_text())):
        print("the tests fail without any change")
        return 2
    files = [Path(name) for name in sys.argv[1:]] or FILES
    work = [
        (str(file), description, ast.unparse(changed))
        for file in files
        for description, changed in changes(ast.parse(file.read_text()))
    ]
    unexplained = explained = 0
    with multiprocessing.Pool(os.cpu_count(), maxtasksperchild=50) as pool:
        for done, (item, alive) in enumerate(
            zip(work, pool.imap(survives, [(file, text) for file, _, text in work]), strict=True), 1
        ):
            if alive:
                title = f"{Path(item[0]).name} {item[1]}"
                reason = next((why for part, why in EQUIVALENT.items() if part in title), None)
                print(f"equivalent  {title}  ({reason})" if reason else f"SURVIVED    {title}", flush=True)
                explained += reason is not None
                unexplained += reason is None
            if done % 50 == 0:
                print(f"{done} of {len(work)} done", flush=True)
    noticed = len(work) - explained - unexplained
    print(f"{len(work)} changes: {noticed} noticed, {explained} equivalent, {unexplained} survived")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
