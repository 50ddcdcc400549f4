"""Calibration: how large a benchmark must be (size, published), and what a score is worth (scores, roc)."""
