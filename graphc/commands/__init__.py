"""The commands of the command line: one file each, with register and run.

Arguments come in, text on the screen or a file goes out.
"""
