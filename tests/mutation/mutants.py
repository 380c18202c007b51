"""Small changes to a module: one place of its syntax tree at a time, each with a name that outlives line numbers."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
}
_PAIRS = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("any", "all"),
    ("floor", "ceil"),
    ("any_horizontal", "all_horizontal"),
]
_SWAPPED = dict(_PAIRS) | {after: before for before, after in _PAIRS}
_SIDES = {"left": "right", "right": "left"}
_SHORTEST = 12  # characters of code that tell a reader which place is meant


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes
    ----------
    file, function
        The file below the mutated folder and the qualified name of the function, ``<module>`` outside of any.
    change
        The code before and after, ``"a < b => a <= b"``; the three together name a mutant.
    lines
        First and last line of the statement that is changed.
    path
        Where in the tree: a field and a position at each step down.
    kind
        Which of the changes of that node.
    bound
        Whether the function calls ``super()``, so that its code is bound to a class and cannot be swapped.
    """

    file: str
    function: str
    change: str
    lines: tuple[int, int]
    path: tuple[tuple[str, int | None], ...]
    kind: int
    bound: bool = False

    @property
    def name(self) -> str:
        """File, function and change in one line."""
        return f"{self.file} {self.function}: {self.change}"

    @property
    def inside(self) -> bool:
        """Whether it is in the body of a function that can be swapped, and not in what runs at the import."""
        return self.function != "<module>" and not self.bound


def mutants(source: str, file: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its code."""
    tree = ast.parse(source)
    found = []
    for chain, path, function in _places(tree):
        for kind, _ in enumerate(_changes(chain)):
            lines = _lines(next(node for node in reversed(chain) if isinstance(node, ast.stmt)))
            bound = function != "<module>" and any(map(_calls_super, chain))
            found.append((Mutant(file, function, "", lines, path, kind, bound), chain))
    return _named(found, tree)


def mutate(source: str, mutant: Mutant) -> ast.Module:
    """The tree of a module with one mutant in it."""
    tree = ast.parse(source)
    chain: list[ast.AST] = [tree]
    for field, place in mutant.path:
        value = getattr(chain[-1], field)
        chain.append(value if place is None else value[place])
    new = _changes(chain)[mutant.kind]()
    field, place = mutant.path[-1]
    if place is None:
        setattr(chain[-2], field, new)
    else:
        getattr(chain[-2], field)[place] = new
    return ast.fix_missing_locations(tree)


def _calls_super(node: ast.AST) -> bool:
    names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
    return isinstance(node, ast.FunctionDef) and "super" in names


Path = tuple[tuple[str, int | None], ...]


def _places(tree: ast.Module) -> Iterator[tuple[list[ast.AST], Path, str]]:
    """Every node worth a look, with its ancestors, its path and the function it is in."""

    def down(
        chain: list[ast.AST], path: Path, names: tuple[str, ...], function: str
    ) -> Iterator[tuple[list[ast.AST], Path, str]]:
        node = chain[-1]
        if path:
            yield chain, path, function
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = (*names, node.name)
        for field, value in ast.iter_fields(node):
            if _idle(node, field):
                continue
            body = isinstance(node, ast.FunctionDef) and field == "body" and function == "<module>"
            here = ".".join(names) if body else function
            children = [(value, None)] if isinstance(value, ast.AST) else []
            children = [(child, place) for place, child in enumerate(value)] if isinstance(value, list) else children
            for child, place in children:
                if isinstance(child, ast.AST):
                    yield from down([*chain, child], (*path, (field, place)), names, here)

    yield from down([tree], (), (), "<module>")


def _idle(node: ast.AST, field: str) -> bool:
    """Parts that do nothing when the code runs, or whose change could only be noticed by a type checker."""
    if field in ("annotation", "returns", "decorator_list", "format_spec", "bases", "ctx", "ops", "op"):
        return True
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return True
    if isinstance(node, ast.Call) and field == "args" and ast.unparse(node.func) == "isinstance":
        return True
    # Lengths differ only by a fault of our own, which a test cannot bring about from outside.
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _changes(chain: list[ast.AST]) -> list[Callable[[], ast.AST]]:
    """What may become of the last node of a chain."""
    node, parent = chain[-1], chain[-2]
    makers: list[Callable[[], ast.AST]] = []
    for make in (_operators, _constants, _names, _conditions, _statements):
        makers += make(node, parent, chain)
    return makers


def _with(node: ast.AST, **fields: object) -> Callable[[], ast.AST]:
    def make() -> ast.AST:
        new = copy.copy(node)
        for field, value in fields.items():
            setattr(new, field, value)
        return new

    return make


def _operators(node: ast.AST, parent: ast.AST, chain: list[ast.AST]) -> list[Callable[[], ast.AST]]:
    if isinstance(node, ast.Compare):
        return [
            _with(node, ops=[*node.ops[:place], new(), *node.ops[place + 1 :]])
            for place, old in enumerate(node.ops)
            for new in _COMPARED[type(old)]
        ]
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
        return [_with(node, op=_ARITHMETIC[type(node.op)]())]
    if isinstance(node, ast.BoolOp):
        return [_with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())]
    if isinstance(node, ast.UnaryOp):
        return [lambda: node.operand]
    return []


def _constants(node: ast.AST, parent: ast.AST, chain: list[ast.AST]) -> list[Callable[[], ast.AST]]:
    if not isinstance(node, ast.Constant):
        return []
    if isinstance(node.value, bool):
        return [_with(node, value=not node.value)]
    if isinstance(node.value, int | float):
        return [_with(node, value=node.value + 1), _with(node, value=node.value - 1)]
    if isinstance(node.value, str):
        if node.value in _SIDES:
            return [_with(node, value=_SIDES[node.value])]
        lists = isinstance(parent, ast.Tuple | ast.List | ast.Set) and isinstance(chain[-3], ast.Compare)
        return [_with(node, value=node.value + "?")] if lists or isinstance(parent, ast.Compare) else []
    return []


def _names(node: ast.AST, parent: ast.AST, chain: list[ast.AST]) -> list[Callable[[], ast.AST]]:
    if isinstance(node, ast.Name) and node.id in _SWAPPED:
        return [_with(node, id=_SWAPPED[node.id])]
    if isinstance(node, ast.Attribute) and node.attr in _SWAPPED:
        return [_with(node, attr=_SWAPPED[node.attr])]
    return []


def _conditions(node: ast.AST, parent: ast.AST, chain: list[ast.AST]) -> list[Callable[[], ast.AST]]:
    tested = isinstance(parent, ast.If | ast.IfExp) and parent.test is node
    filtering = isinstance(parent, ast.comprehension) and node in parent.ifs
    if not tested and not filtering:
        return []
    values = (True, False) if tested else (True,)
    return [_replaced(node, ast.Constant(value)) for value in values]


def _statements(node: ast.AST, parent: ast.AST, chain: list[ast.AST]) -> list[Callable[[], ast.AST]]:
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    stored = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
    if call or stored or isinstance(node, ast.AugAssign | ast.Continue):
        return [_replaced(node, ast.Pass())]
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        return [_with(node, value=ast.Constant(None))]
    return []


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _replaced(node: ast.AST, new: ast.AST) -> Callable[[], ast.AST]:
    return lambda: ast.copy_location(new, node)


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """Lines of a statement, of its head only where it has a body."""
    body = getattr(statement, "body", None)
    end = body[0].lineno - 1 if body else statement.end_lineno
    return statement.lineno, max(statement.lineno, end or statement.lineno)


def _named(found: list[tuple[Mutant, list[ast.AST]]], tree: ast.Module) -> list[Mutant]:
    """Say each change in as much code as it takes to find its place; number those that still look the same."""
    named: list[Mutant] = []
    seen: Counter[tuple[str, str]] = Counter()
    for mutant, chain in found:
        new = _changes(chain)[mutant.kind]()
        change = _said(chain, new)
        seen[mutant.function, change] += 1
        again = seen[mutant.function, change]
        named.append(replace(mutant, change=change if again == 1 else f"{change} #{again}"))
    return named


def _said(chain: list[ast.AST], new: ast.AST) -> str:
    """Before and after, with as many ancestors as it takes to tell what is changed."""
    for up in range(1, len(chain)):
        node, after = chain[-up], new
        for child, parent in zip(
            reversed(chain[len(chain) - up + 1 :]), reversed(chain[len(chain) - up : -1]), strict=True
        ):
            after = _swapped(parent, child, after)
        before = _unparsed(node)
        if len(before) >= _SHORTEST or isinstance(node, ast.stmt):
            return f"{before} => {_unparsed(after)}"
    raise ValueError("a mutant is in no statement")


def _swapped(parent: ast.AST, child: ast.AST, new: ast.AST) -> ast.AST:
    """A copy of a node with one of its children replaced."""
    made = copy.copy(parent)
    for field, value in ast.iter_fields(parent):
        if value is child:
            setattr(made, field, new)
        elif isinstance(value, list) and any(entry is child for entry in value):
            setattr(made, field, [new if entry is child else entry for entry in value])
    return made


def _unparsed(node: ast.AST) -> str:
    if isinstance(node, ast.keyword):
        return f"{node.arg}={ast.unparse(node.value)}"
    if isinstance(node, ast.comprehension):
        return ast.unparse(node).strip()
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node)))
    return " ".join(text.split("\n")[0].split()) if isinstance(node, ast.stmt) else " ".join(text.split())
