"""The report for stakeholders: selected margin sets -> content -> one HTML file, Markdown or LaTeX, all from the same content."""
