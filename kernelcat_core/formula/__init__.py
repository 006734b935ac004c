"""The formula language (docs/notation.md): text to syntax tree to graph."""
