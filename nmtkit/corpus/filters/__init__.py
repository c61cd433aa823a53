"""Filters: each keeps or drops a pair as a unit. One class and one name in the union adds one."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from nmtkit.corpus.filters.base import Duplicates, Filter, FilterContext
from nmtkit.corpus.filters.copies import DuplicateConfig, OverlapConfig, SameConfig
from nmtkit.corpus.filters.language import LanguageConfig
from nmtkit.corpus.filters.mismatches import NumbersConfig, UrlsConfig
from nmtkit.corpus.filters.script import ScriptConfig
from nmtkit.corpus.filters.sizes import BlankConfig, CharactersConfig, LengthConfig, RatioConfig

__all__ = [
    "BlankConfig",
    "CharactersConfig",
    "DuplicateConfig",
    "Duplicates",
    "Filter",
    "FilterConfig",
    "FilterContext",
    "Filters",
    "LanguageConfig",
    "LengthConfig",
    "NumbersConfig",
    "OverlapConfig",
    "RatioConfig",
    "SameConfig",
    "ScriptConfig",
    "UrlsConfig",
]

FilterConfig = Annotated[
    BlankConfig
    | LengthConfig
    | CharactersConfig
    | RatioConfig
    | SameConfig
    | NumbersConfig
    | UrlsConfig
    | ScriptConfig
    | LanguageConfig
    | OverlapConfig
    | DuplicateConfig,
    Field(discriminator="kind"),
]


class Filters:
    """The filters of a corpus by the reasons they are reported by: kinds, numbered where a kind comes twice.

    Those that judge a pair alone come first, in their order; then those that look for duplicates.
    """

    def __init__(self, configs: Sequence[FilterConfig], context: FilterContext) -> None:
        self.alone: dict[str, Filter] = {}
        self.duplicates: dict[str, Duplicates] = {}
        kinds = [config.kind for config in configs]
        for place, config in enumerate(configs):
            number = f"_{kinds[: place + 1].count(config.kind)}" if kinds.count(config.kind) > 1 else ""
            filter_ = config.build(context)
            if isinstance(filter_, Duplicates):
                self.duplicates[config.kind + number] = filter_
            else:
                self.alone[config.kind + number] = filter_

    @property
    def reasons(self) -> list[str]:
        """The reasons, in the order in which pairs are tried."""
        return [*self.alone, *self.duplicates]
