"""What training is made of, and where it takes place."""

from typing import NamedTuple

import torch
from torch.optim import Optimizer

from nmtkit.kernels.library import Kernels
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.training.group import Group
from nmtkit.training.parallel import Whole
from nmtkit.training.precision import Precision
from nmtkit.training.reporting import Reporter
from nmtkit.training.run_card import RunCard
from nmtkit.training.signals import Interruption
from nmtkit.training.state import TrainingState


class Workplace(NamedTuple):
    """Where training computes and writes, with whom, and whom it tells."""

    run: RunFolder
    device: torch.device
    precision: Precision
    log: Log
    reporter: Reporter
    interruption: Interruption
    kernels: Kernels | None = None
    group: Group = Group()
    card: RunCard | None = None
    """Kept by the process that writes."""

    def write_card(self, state: TrainingState, ending: str | None = None) -> None:
        """Let the run card say how training stands, and which limit ended it."""
        if self.card is not None:
            self.card.write(state, ending)


class Learner(NamedTuple):
    """A model with its optimizer, and the width that its learning rate may depend on."""

    parallel: Whole
    optimizer: Optimizer
    width: int
