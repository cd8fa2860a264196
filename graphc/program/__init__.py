"""The machine's side: what was asked as rows, a rewritten program, its text, and running it."""
