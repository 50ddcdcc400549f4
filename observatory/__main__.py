"""``python -m observatory`` is the ``observatory`` command."""

from observatory.cli import entry_point

entry_point()
