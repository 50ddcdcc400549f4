"""What pages are made of: cached readers, the one selection in the URL, the descriptor strip, empty and error states."""
