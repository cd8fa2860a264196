"""graphc: a declared computation graph, its derivatives, and what people do with them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> (module, name there); loaded on first use, so that `import graphc` costs next to nothing
_PUBLIC: dict[str, tuple[str, str]] = {
    "Graph": ("graphs", "Graph"),
    "GraphcError": ("errors", "GraphcError"),
    "KinkWarning": ("errors", "KinkWarning"),
    "NotFiniteWarning": ("errors", "NotFiniteWarning"),
    "parse": ("graphs", "parse"),
    "load": ("graphs", "load"),
    "from_sympy": ("graphs", "from_sympy"),
    "from_arrays": ("graphs", "from_arrays"),
    "from_edges": ("graphs", "from_edges"),
    "from_networkx": ("graphs", "from_networkx"),
    "graph": ("graphs", "graph"),
    "name": ("read.tracing", "name"),
    "const": ("read.tracing", "const"),
    "declare": ("algebra.declare", "declare"),
    "descend": ("training.descend", "descend"),
    "flat": ("training.flat", "flat"),
    "check": ("checking.checks", "check"),
    "check_function": ("checking.functions", "check_function"),
    "testing": ("testing", ""),
    "sum": ("layers.reductions", "sum_"),
    "max": ("layers.reductions", "max_"),
    "min": ("layers.reductions", "min_"),
    "abs": ("table.functions", "abs_"),
}
_FUNCTIONS = (
    *("exp", "log", "log1p", "expm1", "sqrt", "square", "sign", "heaviside", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "sigmoid", "softplus", "erf"),
    *("log_sigmoid", "logaddexp", "relu", "leaky_relu", "elu", "selu", "silu", "gelu", "hardtanh"),
    *("clip", "maximum", "minimum", "where", "stop"),
)
_LAYERS = {
    "linear": (
        *("matmul", "einsum", "dot", "outer", "transpose", "trace", "diag", "inv", "det", "logdet"),
        *("adjugate", "adjugate_change", "solve"),
    ),
    "reductions": ("prod", "mean", "var", "norm", "winner", "logsumexp", "softmax", "log_softmax"),
    "shaping": ("reshape", "full", "broadcast_to"),
    "selections": ("take", "scatter", "concat", "stack", "pad"),
    "windows": (
        *("conv1d", "conv2d", "conv1d_transpose", "conv2d_transpose", "maxpool", "avgpool"),
    ),
    "losses": ("cross_entropy", "softmax_cross_entropy"),
    "constants": ("onehot", "zeros", "ones", "eye"),
}
_PUBLIC.update(
    {name: (f"layers.{module}", name) for module, names in _LAYERS.items() for name in names}
)
_PUBLIC.update({name: ("table.functions", name) for name in _FUNCTIONS})

__all__ = sorted([*_PUBLIC, "__version__"])  # names are resolved by __getattr__


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        from .errors import nearest

        raise AttributeError(f"graphc has no name {name!r}{nearest(name, _PUBLIC)}")
    module, there = _PUBLIC[name]
    if module != "errors":
        import_module(".graphs", __name__)  # it loads every room that a value may ask
    loaded = import_module(f".{module}", __name__)
    value = getattr(loaded, there) if there else loaded
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from . import testing as testing
    from .algebra.declare import declare as declare
    from .checking.checks import check as check
    from .checking.functions import check_function as check_function
    from .errors import GraphcError as GraphcError
    from .errors import KinkWarning as KinkWarning
    from .errors import NotFiniteWarning as NotFiniteWarning
    from .graphs import Graph as Graph
    from .graphs import from_arrays as from_arrays
    from .graphs import from_edges as from_edges
    from .graphs import from_networkx as from_networkx
    from .graphs import from_sympy as from_sympy
    from .graphs import graph as graph
    from .graphs import load as load
    from .graphs import parse as parse
    from .read.tracing import const as const
    from .read.tracing import name as name
    from .training.descend import descend as descend
    from .training.flat import flat as flat
