"""`nmtkit average`: the mean of several checkpoints' weights, which translate then takes before any single one."""

from nmtkit.api import load_run_config
from nmtkit.errors import ConfigError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.run_lock import RunLock
from nmtkit.training.averaging import average as write_mean
from nmtkit.training.averaging import choose_best, choose_last


def average(run: RunFolder, log: Log, *, last: int = 0, best: int = 0) -> None:
    """Average the newest `last` checkpoints, or the `best` by development score, into RUN/checkpoints/average.

    Raises ConfigError unless one of both is given, CheckpointError where there is nothing to average, no run, or
    another process at work in it.
    """
    if bool(last) == bool(best):
        raise ConfigError("--last N or --best N: give one of them")
    load_run_config(run)
    with RunLock(run.lock) as lock:
        lock.sign()
        chosen = choose_last(run, last, log.warn) if last else choose_best(run, best, log.warn)
        weights = write_mean(run, chosen)
    log.info(f"{weights}: the average of updates {', '.join(str(checkpoint.update) for checkpoint in chosen)}")
