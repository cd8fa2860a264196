"""Whether compiled CuPy code can run here."""

from __future__ import annotations

from ....errors import GraphcError

ELSEWHERE = "use backend='numpy', or emit(backend='cupy') for a module that runs elsewhere"


def require_device() -> None:
    """Nothing, or an error that says what is missing: CuPy, or a CUDA device."""
    try:
        import cupy
    except ImportError as error:
        raise GraphcError(
            f"backend='cupy' needs CuPy, which cannot be imported here ({error}); install it "
            f"(such as pip install cupy-cuda12x) on a machine with an NVIDIA GPU, or {ELSEWHERE}"
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise GraphcError(
            f"backend='cupy' needs a CUDA device, and CuPy {cupy.__version__} finds none here "
            f"({error}); {ELSEWHERE}"
        ) from None
    if not count:
        raise GraphcError(
            f"backend='cupy' needs a CUDA device, and CuPy {cupy.__version__} finds none here; "
            f"{ELSEWHERE}"
        )
