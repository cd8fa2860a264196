"""What graphc prints: tables, LaTeX, and the tour of `graphc demo`."""
