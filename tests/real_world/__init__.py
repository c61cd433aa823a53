"""What the world hands in, and what it does to files and processes, over the real command line."""
