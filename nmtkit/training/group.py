"""Group: the processes of one training, which all run the same code and take the same decisions.

Whatever a decision depends on and processes might see differently (a clock, a signal, a file) is agreed on here first.
Rank 0 leads: it alone writes files and talks.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]  # where they are documented

from nmtkit.errors import AlreadySaid, ConfigError, NmtkitError, Terminated
from nmtkit.talk import say
from nmtkit.training.interface import await_listener, interface_towards
from nmtkit.training.membership import Membership
from nmtkit.training.signals import HANDLED
from nmtkit.training.watchdog import Watchdog

T = TypeVar("T")

JOINING = timedelta(minutes=10)
"""How long processes wait for the last one to start: on a cluster, machines come one after another."""
SECONDS_UNTIL_SAID = 30.0
"""After which whoever still waits for them says so."""
FOREVER = timedelta(days=365)
"""The watchdog knows better than a time limit of each operation whether to wait on."""
INTERRUPTED, TERMINATED = "it was interrupted", "a signal ended it"
"""What a process says that Ctrl-C, or SIGTERM, ends at once, as before training begins."""
OF_EXCHANGES = ("/gloo/", "NCCL")
"""What torch, which has no exception for it, says where an exchange breaks off."""


class Group:
    """One process, alone: what it agrees on with itself."""

    rank, ranks, local_rank = 0, 1, 0
    seconds = 0.0
    """Spent with others: in exchanging numbers and gradients, and in waiting for whoever came late."""

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes and talks."""
        return self.rank == 0

    def add(self, *numbers: float) -> list[float]:
        """Return the sums of everybody's numbers."""
        return list(numbers)

    def any(self, flag: bool) -> bool:
        """Tell whether it is true for any process."""
        return self.add(flag)[0] > 0

    def clock(self) -> float:
        """Return the seconds on the leading process's clock."""
        return time.monotonic()

    def gather(self, value: T) -> list[T]:
        """Return everybody's values, by rank."""
        return [value]

    def lead(self, work: Callable[[], T]) -> T:
        """Let the leading process alone do work, and return to everybody what it returned or raise what it raised."""
        return work()

    def sum(self, tensors: Sequence[Tensor], *, flag: bool = False) -> bool:  # noqa: ARG002
        """Replace tensors by their sums over all processes; tell whether the flag, sent along, is true for any."""
        return flag

    def spread(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors by those of the leading process."""

    def moved(self, update: int | None = None) -> None:
        """Tell the watchdog that work goes on, and what the last update was."""

    def explain(self, error: RuntimeError) -> None:
        """Raise NmtkitError, naming who is lost, where an error comes of that."""

    def leave(self, error: BaseException | None = None) -> None:
        """Part with the others, with the error that ends this process, if one does.

        Raises AlreadySaid where the leading process reports it.
        """


@contextmanager
def group_of(group: Group) -> Iterator[None]:
    """Leave the group behind the work within, with the error that ended it, if one did."""
    try:
        try:
            yield
        except RuntimeError as error:  # of an exchange that torch makes by itself, as for shards
            group.explain(error)
            raise
    except BaseException as error:
        group.leave(error)
        raise
    group.leave()


def check_equal(group: Group, facts: Mapping[str, Any]) -> None:
    """See that all processes have the same facts. Raises ConfigError naming the first that differs, and for whom."""
    for rank, other in enumerate(found := group.gather(dict(facts))):
        for name in [*found[0], *(name for name in other if name not in found[0])]:
            if other.get(name) != found[0].get(name):
                raise ConfigError(
                    f"{name}: {found[0].get(name)!r} for rank 0, {other.get(name)!r} for rank {rank}; give all "
                    "processes of a training the same configuration, data and installation"
                )


@contextmanager
def _joining(membership: Membership) -> Iterator[None]:
    """Wait within for the other processes; where that gets long, one of each machine says so.

    Raises NmtkitError where they do not come.

    Signals end this process as they end any other: torch, which waits, would let no handler of ours run until all have
    come, and nothing was begun that had to be tidied up.
    """
    who = f"process {membership.rank} of {membership.ranks}"
    place = f"{membership.address}:{membership.port}"
    remedy = "see that all of them are started, and that this address and port can be reached from each machine"
    waits = f"warning: {who}: waiting for the others at {place}, {JOINING.seconds // 60} minutes at most; {remedy}"
    timer = threading.Timer(SECONDS_UNTIL_SAID, say, [waits])
    timer.daemon = True
    handlers: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        handled = [number for number in HANDLED if callable(signal.getsignal(number))]
        handlers = {number: signal.signal(number, signal.SIG_DFL) for number in handled}
    if membership.local_rank == 0:
        timer.start()
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise NmtkitError(
            f"{who}: the processes of this training did not find each other at {place} ({str(error).splitlines()[0]}); "
            f"{remedy}"
        ) from error
    finally:
        timer.cancel()
        for number, handler in handlers.items():
            signal.signal(number, handler)


class ProcessGroup(Group):
    """Several processes, on one machine or more, joined by torch.distributed: by gloo, and by NCCL for GPUs.

    Raises NmtkitError where the others do not come, and from every exchange where one of them is lost.
    """

    def __init__(self, membership: Membership, device: torch.device, *, timeout: float) -> None:
        self.rank, self.ranks, self.local_rank = membership.rank, membership.ranks, membership.local_rank
        # torchrun may itself keep the store by which processes find each other, over restarts of them too.
        hosts = self.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
        start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        backend = "gloo"
        if device.type == "cuda":
            torch.cuda.set_device(device)
            backend = "cpu:gloo,cuda:nccl"
        if membership.local_ranks < membership.ranks and "GLOO_SOCKET_IFNAME" not in os.environ:
            found = interface_towards(membership.address, membership.port)
            os.environ |= {} if found is None else {"GLOO_SOCKET_IFNAME": found}
        with _joining(membership):
            if not hosts:
                await_listener(membership.address, membership.port, JOINING.total_seconds())
            store = TCPStore(membership.address, membership.port, self.ranks, hosts, JOINING)
            dist.init_process_group(
                backend, store=PrefixStore(f"group {start}", store), rank=self.rank, world_size=self.ranks,
                timeout=FOREVER,
            )  # fmt: skip
            # A connection of its own, since a store serves one thread at a time.
            own = TCPStore(membership.address, membership.port, None, False, timedelta(seconds=timeout))
            beats = PrefixStore(f"watchdog {start}", own)
            self.watchdog = Watchdog(beats, self.rank, self.ranks, timeout, exchanges=_counter(device))
            self.watchdog.introduce()
            dist.monitored_barrier(timeout=JOINING)
        self._device = device
        self._store = store  # which lives as long as rank 0 does
        self.watchdog.start()

    def add(self, *numbers: float) -> list[float]:
        """Return the sums of everybody's numbers."""
        sums = torch.tensor(numbers, dtype=torch.float64)
        self._exchange(lambda: dist.all_reduce(sums))
        return sums.tolist()

    def clock(self) -> float:
        """Return the seconds on the leading process's clock."""
        now = torch.tensor(time.monotonic(), dtype=torch.float64)
        self._exchange(lambda: dist.broadcast(now, 0))
        return now.item()

    def gather(self, value: T) -> list[T]:
        """Return everybody's values, by rank."""
        values: list[Any] = [None] * self.ranks
        self._exchange(lambda: dist.all_gather_object(values, value))
        return values

    def lead(self, work: Callable[[], T]) -> T:
        """Let the leading process alone do work, and return to everybody what it returned or raise what it raised."""
        result: list[Any] = [None, None]
        if self.leads:
            try:
                result[0] = work()
            except NmtkitError as error:
                result[1] = str(error), error.exit_code
                self._exchange(lambda: dist.broadcast_object_list(result, 0))
                raise
        self._exchange(lambda: dist.broadcast_object_list(result, 0))
        if result[1] is not None:
            raise AlreadySaid(*result[1])
        return result[0]  # type: ignore[no-any-return]

    def sum(self, tensors: Sequence[Tensor], *, flag: bool = False) -> bool:
        """Replace tensors by their sums over all processes; tell whether the flag, sent along, is true for any."""
        flags = torch.tensor(flag, dtype=torch.float64)  # on the host, so that no device is waited for
        begun = [flags, *tensors]
        self._exchange(lambda: [work.wait() for work in [dist.all_reduce(t, async_op=True) for t in begun]])
        return flags.item() > 0

    def spread(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors by those of the leading process."""
        self._exchange(lambda: [work.wait() for work in [dist.broadcast(t, 0, async_op=True) for t in tensors]])

    def moved(self, update: int | None = None) -> None:
        """Tell the watchdog that work goes on, and what the last update was."""
        self.watchdog.moved(update)

    def leave(self, error: BaseException | None = None) -> None:
        """Part with the others, with the error that ends this process, if one does.

        Raises AlreadySaid where the leading process reports it.
        """
        try:
            said = self.watchdog.part("" if error is None else _why(error))
            if error is None:
                self._exchange(dist.barrier)  # rank 0 keeps the store, so it goes last
        finally:
            self.watchdog.stop()
        if error is None:
            dist.destroy_process_group()
        # A bug, or a signal to this process alone, is told by the process that has it.
        if said and isinstance(error, NmtkitError | OSError):
            raise AlreadySaid(str(error), getattr(error, "exit_code", NmtkitError.exit_code)) from error

    def explain(self, error: RuntimeError) -> None:
        """Raise NmtkitError, naming who is lost, where an error comes of that."""
        if any(word in str(error) for word in OF_EXCHANGES):
            raise self._lost(error) from error

    def _lost(self, error: RuntimeError) -> BaseException:
        """Return what an exchange that broke off comes of: of a process that is lost, or of a signal to all of them."""
        message = self.watchdog.blame(error)
        if message.endswith(f": {INTERRUPTED}"):
            return KeyboardInterrupt()
        return Terminated() if message.endswith(f": {TERMINATED}") else NmtkitError(message)

    def _exchange(self, work: Callable[[], object]) -> None:
        """Do what all processes do together. Raises NmtkitError, naming who is lost, where one of them is."""
        began = time.perf_counter()
        self.moved()
        try:
            work()
        except RuntimeError as error:
            raise self._lost(error) from error
        self.watchdog.met()
        self.seconds += time.perf_counter() - began


def _why(error: BaseException) -> str:
    """Return what the others are told of an error that ends this process."""
    if isinstance(error, KeyboardInterrupt):
        return TERMINATED if isinstance(error, Terminated) else INTERRUPTED
    return str(error) if isinstance(error, NmtkitError | OSError) else repr(error)


def _counter(device: torch.device) -> Callable[[], int]:
    """Return what tells how many exchanges this process has begun, those that torch makes by itself among them."""
    group: Any = dist.group.WORLD
    backends = [group._get_backend(torch.device(kind)) for kind in {"cpu", device.type}]
    return lambda: sum(backend._get_sequence_number_for_group() for backend in backends)
