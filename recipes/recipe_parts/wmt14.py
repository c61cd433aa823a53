"""The WMT14 recipes: from download to the table of scores, step by step, each of which goes on where it stopped."""

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from recipe_parts.calling import Nmtkit
from recipe_parts.checking import CheckError, Made, count_text, link, stamp_of
from recipe_parts.fetching import ended
from recipe_parts.sampling import kept, sample
from recipe_parts.saying import RecipeError, say
from recipe_parts.wmt14_needs import show_needs
from recipe_parts.wmt14_options import Options, read_options
from recipe_parts.wmt14_settings import (
    LEAST_DEV_PAIRS,
    LEAST_PAIRS,
    averaged_in,
    read_experiment,
    training_arguments,
    using_arguments,
)
from recipe_parts.wmt14_table import keep, last_validation, read_published, stage_of, table

WEIGHTS = "weights.safetensors"


class Recipe:
    """The steps of a recipe, in their order."""

    def __init__(self, options: Options, nmtkit: Nmtkit) -> None:
        self._options, self._nmtkit = options, nmtkit
        self._experiment = read_experiment(options)
        self._published = read_published(options.recipe / "published.json")
        self._provider = options.provider
        test, target = self._experiment.test_name, self._experiment.languages[1]
        self._translation = options.run / "translations" / f"{test}.{target}"

    def run(self) -> None:
        """Do the steps that were asked for."""
        steps: dict[str, Callable[[], None]] = {
            "download": self._provider.fetch,
            "unpack": self._provider.unpack,
            "sample": self.sample,
            "prepare": self.prepare,
            "train": self.train,
            "average": self.average,
            "translate": self.translate,
            "score": self.score,
        }
        if {"download", "unpack", "prepare", "train"} & set(self._options.steps):
            show_needs(self._options, self._experiment, self._published)
        for name in self._options.steps:
            if name != "sample" or self._options.scale < 1:
                say(f"== {name}")
                steps[name]()
        if self._options.steps[-1] == "prepare":
            self._hint_at_a_cluster()

    @property
    def _texts(self) -> Path:
        """The folder of the corpora that are trained on."""
        return self._options.sample if self._options.scale < 1 else self._provider.texts

    def sample(self) -> None:
        """Draw the sample that a scaled run takes for its corpora; the test set stays whole."""
        texts, folder, scale = self._provider.texts, self._options.sample, self._options.scale
        for pair in self._experiment.train:
            sample(pair, kept(pair.lines, scale, LEAST_PAIRS), texts, folder)
        dev, test = self._experiment.dev, self._experiment.test
        sample(dev, kept(dev.lines, scale, LEAST_DEV_PAIRS), texts, folder)
        for name in (test.source, test.target):
            link(folder / name, texts / name)

    def prepare(self) -> None:
        """Clean, filter, learn the vocabulary, pack."""
        self._nmtkit("prepare", *self._training())

    def train(self) -> None:
        """Train, or go on with it; say first what it will take."""
        gpus = ["--gpus", str(self._options.gpus)] if self._options.gpus else []
        if not (self._options.run / "checkpoints").is_dir():
            self._nmtkit("train", *self._training(), *gpus, "--plan")
        self._nmtkit("train", *self._training(), *gpus)

    def average(self) -> None:
        """Average the last checkpoints, which training does at its end, unless that was kept from it."""
        checkpoints = self._options.run / "checkpoints"
        newest = max((path.stat().st_mtime_ns for path in checkpoints.glob(f"[0-9]*/{WEIGHTS}")), default=0)
        average = checkpoints / "average" / WEIGHTS
        if not average.exists() or average.stat().st_mtime_ns < newest:
            self._nmtkit("average", "--last", str(averaged_in(self._options.run)), "--run", str(self._options.run))

    def translate(self) -> None:
        """Translate the test set with the average, as the paper does, unless that was done with the same settings."""
        average = self._options.run / "checkpoints" / "average" / WEIGHTS
        if not average.exists():
            raise RecipeError(f"{average} is missing; train and average first")
        output, source = self._translation, self._texts / self._experiment.test.source
        asked = [self._experiment.tables.get("translate", {}), *self._options.settings_of("translate")]
        made = Made([output], {"weights": stamp_of(average), "source": stamp_of(source), "settings": asked})
        if not made.is_there:
            output.parent.mkdir(parents=True, exist_ok=True)
            say("with the average of the last checkpoints, as in the paper, whether or not it did best in training")
            words = [str(source), "--output", str(output), "--checkpoint", "average"]
            self._nmtkit("translate", *using_arguments(self._options, self._experiment, "translate"), *words)
            found, expected = count_text(output).lines, self._experiment.test.lines
            if found != expected:
                raise CheckError(
                    f"{output} has {found:,} lines where the test set has {expected:,}; "
                    "the same command translates anew"
                )
            made.note()

    def score(self) -> None:
        """Score the translation, and show the scores beside the paper's."""
        options, reference = self._options, self._texts / self._experiment.test.target
        if not self._translation.exists():
            raise RecipeError(f"{self._translation} is missing; translate first")
        files = ["--system", str(self._translation), "--reference", str(reference)]
        answer = self._nmtkit(
            "score", *using_arguments(options, self._experiment, "score"), *files, "--json", capture=True
        )
        scores = json.loads(answer)["sets"][0]["systems"][0]["scores"]
        stage = stage_of(options.run, options.scale, self._experiment.updates, clean=options.clean)
        dev = last_validation(options.run / "metrics.jsonl")
        sys.stdout.write(table(self._published, options.size, stage, scores, dev))
        sys.stdout.flush()
        results = options.run / "results.json"
        keep(results, self._published, options.size, stage, scores, dev)
        say(f"the same for programs: {results}; the translation: {self._translation}")

    def _training(self) -> list[str]:
        return training_arguments(self._options, self._experiment, self._texts)

    def _hint_at_a_cluster(self) -> None:
        say("to train here: the same command without --stop-after. With SLURM, and then the same command for the rest:")
        script = self._options.recipe.parent / "slurm" / "train.sbatch"
        say(f"  sbatch --account=ACCOUNT --partition=PARTITION {shlex.join([str(script), *self._training()])}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a recipe; return the exit code."""

    def run() -> None:
        options = read_options(arguments)
        Recipe(options, Nmtkit(options.recipe.parent / "set-up")).run()

    return ended("run.sh", run)
