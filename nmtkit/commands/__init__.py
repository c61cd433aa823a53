"""The commands: one function each, settings in, files or lines out."""
