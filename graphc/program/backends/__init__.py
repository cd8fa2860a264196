"""Back ends: a folder for each, with what only it needs."""
