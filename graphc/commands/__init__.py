"""The commands of the command line: one file each, with register and run."""
