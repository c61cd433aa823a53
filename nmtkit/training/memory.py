"""Memory: tell the C library what to do with what training frees, and oneDNN to forget what no later update needs."""

import ctypes
import os
import sys

THRESHOLD = "MALLOC_MMAP_THRESHOLD_"
"""The variable by which a user tells glibc from which size on a block is a mapping of its own; it has the last word."""

COMPILED_LIMIT = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
"""The variable that tells oneDNN how many compiled products to keep; a user's own has the last word."""

COMPILED_KEPT = 64
"""More than the different products of a tensor, whose shapes come back from layer to layer."""

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -2, -3, -4
"""Names and numbers of glibc's malloc.h."""

KEEPING = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: 64 * 2**20}
"""No block is a mapping of its own, and the heap never shrinks."""

RETURNING = {M_MMAP_MAX: 65_536, M_MMAP_THRESHOLD: 2**18}
"""Each block of 256 KiB or more is a mapping."""


def keep_freed_memory() -> bool:
    """Stop glibc from handing large freed blocks back to the system; return whether that could be done.

    By default every large temporary is a mapping of its own, whose pages the kernel clears anew at each update. Once
    no block is a mapping and the heap never shrinks, they are cleared once. Measured: filling 120 MB that were freed
    before takes a quarter of the time. The heap has holes, though, and may grow to twice what tensors fill. Other C
    libraries are left as they are, and glibc where the environment has `THRESHOLD`.
    """
    return _tell_glibc(KEEPING)


def return_freed_memory() -> bool:
    """Have glibc hand large blocks back to the system when they are freed, where memory is what counts."""
    return _tell_glibc(RETURNING)


def _tell_glibc(settings: dict[int, int]) -> bool:
    if not sys.platform.startswith("linux") or THRESHOLD in os.environ:
        return False
    library = ctypes.CDLL(None)
    if not (hasattr(library, "gnu_get_libc_version") and hasattr(library, "mallopt")):
        return False
    return all(library.mallopt(name, value) == 1 for name, value in settings.items())


def limit_compiled_products() -> None:
    """Let oneDNN keep `COMPILED_KEPT` of its compiled products instead of 1,024; ahead of the first of them.

    On a CPU each bf16 product is compiled for the very shape it has, of which the next tensor has few. Measured with
    `tiny` on Multi30k: 1,430 MB instead of 2,650 MB, and not slower.
    """
    os.environ.setdefault(COMPILED_LIMIT, str(COMPILED_KEPT))
