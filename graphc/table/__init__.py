"""What is known: one record per function and per tensor operation.

Nothing comes in but declarations; records go out to every other room.
"""
