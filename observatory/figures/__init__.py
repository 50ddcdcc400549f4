"""Figures: a described frame in, a plotly Figure out. One figure a file; nothing here knows Streamlit or SQL."""
