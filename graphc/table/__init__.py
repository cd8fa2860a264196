"""What is known: one record per function and per tensor operation.

Nothing comes in but declarations; records go out to every other room.
"""

from . import contraction, matrices, reductions, selections  # each adds its records to the table

__all__ = ["contraction", "matrices", "reductions", "selections"]
