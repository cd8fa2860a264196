"""JavaScript: the programs of a page."""
