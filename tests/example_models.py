"""The models of examples/, loaded as a module, and its small tensor graphs."""

from __future__ import annotations

import importlib.util
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def load_models():
    spec = importlib.util.spec_from_file_location("models", EXAMPLES / "models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


models = load_models()


GRAPHS = sorted((EXAMPLES / "tensor").glob("*.gc"))
