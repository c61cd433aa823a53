"""The mean of weights."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nmtkit.errors import CheckpointError
from nmtkit.run_folder import RunFolder
from nmtkit.training.averaging import average, mean_weights


def write(folder: Path, name: str, **tensors: torch.Tensor) -> Path:
    file = folder / f"{name}.safetensors"
    save_file(tensors, file)
    return file


def test_the_mean_is_that_of_each_number(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    tensors = [
        {"a": torch.randn(3, 2, generator=generator), "b": torch.randn(5, generator=generator)} for _ in range(3)
    ]
    means = mean_weights([write(tmp_path, str(place), **each) for place, each in enumerate(tensors)])
    assert means.keys() == {"a", "b"}
    for name, mean in means.items():
        expected = sum(each[name].double() for each in tensors) / 3
        assert mean.dtype == torch.float32
        assert torch.equal(mean, expected.float())


def test_sums_do_not_lose_small_numbers(tmp_path: Path) -> None:
    """In float32, 1e8 + 1 is 1e8."""
    files = [write(tmp_path, str(place), a=torch.tensor([value])) for place, value in enumerate((1e8, 1.0, -1e8))]
    assert mean_weights(files)["a"].item() == pytest.approx(1 / 3)


def test_files_of_different_models_are_refused(tmp_path: Path) -> None:
    first = write(tmp_path, "first", a=torch.ones(2))
    with pytest.raises(CheckpointError, match=r"other\.safetensors: holds other tensors than .*first"):
        mean_weights([first, write(tmp_path, "other", b=torch.ones(2))])
    with pytest.raises(CheckpointError, match=r"larger\.safetensors: a is \(3,\), but \(2,\) in .*first"):
        mean_weights([first, write(tmp_path, "larger", a=torch.ones(3))])


def test_of_nothing_there_is_no_mean(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint to average; run nmtkit train first"):
        average(RunFolder(tmp_path), [])
