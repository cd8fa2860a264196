"""The machine's side: what was asked as rows, a rewritten program, its text, and running it.

A graph and a question come in; a function, or the text of a module, goes out.
"""
