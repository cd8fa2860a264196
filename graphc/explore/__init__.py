"""The interactive page: a drawing whose numbers are computed where it is looked at."""
