"""One command a file, imported when it is called."""
