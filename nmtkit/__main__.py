"""What `python -m nmtkit` and the installed command call: the command line; it may be interrupted while it loads."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from nmtkit.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("nmtkit: interrupted\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
