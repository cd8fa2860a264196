"""Answers for people: tables of derivatives, worked solutions, grades.

A graph and a question come in; text, Markdown, LaTeX or HTML goes out.
"""
