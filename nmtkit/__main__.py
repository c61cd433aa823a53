"""`python -m nmtkit`: the command line without an installed entry point."""

from nmtkit.cli import main

if __name__ == "__main__":
    main()
