"""The checker: verdicts on derivatives, with evidence, and the name of the culprit."""
