"""The grammar that reader and writer keep to: text comes in, a syntax tree goes out.

`words` says what may stand where and tells every mistake; `parsing` makes trees of what is right.
"""
