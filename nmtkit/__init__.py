"""Neural machine translation from raw text to BLEU: prepare, train, translate, score.

The public names load what they need at their first use, so that `import nmtkit` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmtkit.api import Hypothesis, Scorer, Translator
    from nmtkit.config import Config
    from nmtkit.errors import NmtkitError

__version__ = "0.1.0"
__all__ = ["Config", "Hypothesis", "NmtkitError", "Scorer", "Translator", "__version__"]

_HOMES = {
    "Config": "nmtkit.config",
    "Hypothesis": "nmtkit.api",
    "NmtkitError": "nmtkit.errors",
    "Scorer": "nmtkit.api",
    "Translator": "nmtkit.api",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'nmtkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
