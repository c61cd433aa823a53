"""What every error message must be like."""

from nmtkit.errors import NmtkitError


def check_message(error: NmtkitError | None, *named: object) -> None:
    """See that each problem is told on a line of its own that a terminal can show, and that all of `named` is told."""
    assert error is not None
    told = str(error)
    for line in told.split("\n"):
        assert line.strip(), told
        assert line.isprintable(), repr(line)
    for name in named:
        assert str(name) in told, f"{name} is not named in {told!r}"
