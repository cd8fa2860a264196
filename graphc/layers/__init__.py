"""What people call: compositions of the table's operations, and NumPy's names for them.

Values come in, values come out; nothing here has a derivative of its own. Importing the room fills
the table of compositions.
"""

from . import constants, linear, losses, reductions, selections, shaping, windows

__all__ = ["constants", "linear", "losses", "reductions", "selections", "shaping", "windows"]
