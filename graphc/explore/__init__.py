"""The interactive page: a drawing whose numbers are computed where it is looked at.

A graph and a point come in, one .html file goes out.
"""
