"""Real CuPy on host memory, part 4: the CUDA libraries that CuPy calls from Python, answered by NumPy.

cuBLAS, Thrust and cuRAND are answered at their own interface. cuSOLVER and cuFFT are too large for that: there the
functions of `cupy.linalg` and `cupy.fft` are stood in for by NumPy's, with CuPy's own parameters. What CuPy lacks stays
lacking.
"""

import ctypes
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

_DTYPES = {0: "f4", 1: "f8", 2: "f2", 4: "c8", 5: "c16"}  # by cudaDataType
_OPERATIONS: tuple[Callable[[Any], Any], ...] = (lambda x: x, lambda x: x.T, lambda x: x.conj().T)


def install() -> None:
    """Put the libraries below in the place of those of CUDA."""
    import cupy_backends.cuda.libs as libs

    for name, content in (("cublas", _cublas()), ("curand", _curand())):
        module = types.ModuleType(f"{libs.__name__}.{name}")
        module.__dict__.update(content)
        sys.modules[module.__name__] = module
        setattr(libs, name, module)

    import cupy.cuda
    import cupy.cuda.thrust

    cupy.cuda.curand = libs.curand  # type: ignore[attr-defined]
    for function in (sort, argsort, lexsort):
        setattr(cupy.cuda.thrust, function.__name__, function)
    _stand_in(cupy.linalg, np.linalg, _FACTORISATIONS)
    _stand_in(cupy.fft, np.fft, _TRANSFORMS)


def memory(pointer: int, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None) -> Any:
    """The memory at `pointer` as an array of NumPy."""
    dtype = np.dtype(dtype)
    spans = [(n - 1) * step for n, step in zip(shape, strides or (), strict=False)]
    before = -sum(span for span in spans if span < 0)
    size = sum(map(abs, spans)) + dtype.itemsize if strides else int(np.prod(shape)) * dtype.itemsize
    buffer = (ctypes.c_char * max(size, 1)).from_address(pointer - before)
    return np.ndarray(shape, dtype, buffer, before, strides)


# cuBLAS


def _by_columns(pointer: int, rows: int, columns: int, leading: int, dtype: Any) -> Any:
    itemsize = np.dtype(dtype).itemsize
    return memory(pointer, (rows, columns), dtype, (itemsize, leading * itemsize))


def _product(scalars, op_a, op_b, m, n, k, alpha, a, a_dtype, lda, b, b_dtype, ldb, beta, c, c_dtype, ldc):  # type: ignore[no-untyped-def]
    """``c = alpha * op(a) @ op(b) + beta * c``, all of them by columns."""
    left = _OPERATIONS[op_a](_by_columns(a, *((m, k) if op_a == 0 else (k, m)), lda, a_dtype))
    right = _OPERATIONS[op_b](_by_columns(b, *((k, n) if op_b == 0 else (n, k)), ldb, b_dtype))
    result = _by_columns(c, m, n, ldc, c_dtype)
    factor, kept = memory(alpha, (), scalars)[()], memory(beta, (), scalars)[()]
    result[...] = factor * (left @ right) + (kept * result if kept else 0)


def _gemm_ex(h, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc, *_):  # type: ignore[no-untyped-def]
    dtypes = [_DTYPES[t] for t in (a_type, b_type, c_type)]
    scalars = "f4" if dtypes[2] == "f2" else dtypes[2]
    _product(
        *(scalars, op_a, op_b, m, n, k, alpha, a, dtypes[0], lda, b, dtypes[1], ldb, beta, c, dtypes[2], ldc),
    )


def _gemm_strided(  # type: ignore[no-untyped-def]
    h,
    op_a,
    op_b,
    m,
    n,
    k,
    alpha,
    a,
    a_type,
    lda,
    step_a,
    b,
    b_type,
    ldb,
    step_b,
    beta,
    c,
    c_type,
    ldc,
    step_c,
    count,
    *_,
):
    for i in range(count):
        at = [
            p + i * step * np.dtype(_DTYPES[t]).itemsize
            for p, step, t in ((a, step_a, a_type), (b, step_b, b_type), (c, step_c, c_type))
        ]
        _gemm_ex(h, op_a, op_b, m, n, k, alpha, at[0], a_type, lda, at[1], b_type, ldb, beta, at[2], c_type, ldc)


def _gemm_batched(dtype: str) -> Callable[..., None]:
    def product(h, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count):  # type: ignore[no-untyped-def]
        for at in zip(*(memory(pointers, (count,), "u8").tolist() for pointers in (a, b, c)), strict=True):
            _product(
                *(dtype, op_a, op_b, m, n, k, alpha, at[0], dtype, lda, at[1], dtype, ldb, beta, at[2], dtype, ldc),
            )

    return product


def _cublas() -> dict[str, Any]:
    constants = {
        **{"CUBLAS_COMPUTE_16F": 64, "CUBLAS_COMPUTE_32F": 68, "CUBLAS_COMPUTE_32F_PEDANTIC": 69},
        **{"CUBLAS_COMPUTE_32F_FAST_TF32": 77, "CUBLAS_COMPUTE_64F": 70, "CUBLAS_COMPUTE_64F_PEDANTIC": 71},
        **{"CUBLAS_GEMM_DEFAULT": -1, "CUBLAS_GEMM_DEFAULT_TENSOR_OP": 99, "CUBLAS_DEFAULT_MATH": 0},
        **{"CUBLAS_TENSOR_OP_MATH": 1, "CUBLAS_POINTER_MODE_HOST": 0, "CUBLAS_POINTER_MODE_DEVICE": 1},
        **{"CUBLAS_OP_N": 0, "CUBLAS_OP_T": 1, "CUBLAS_OP_C": 2},
    }
    setters = ("destroy", "setStream", "setMathMode", "setPointerMode")
    getters = ("getPointerMode", "getMathMode", "getStream")
    return {
        **constants,
        **dict.fromkeys(setters, lambda *_: None),
        **dict.fromkeys(getters, lambda *_: 0),
        "create": lambda: 1,
        "getVersion": lambda handle: 130000,
        "gemmEx": _gemm_ex,
        "gemmStridedBatchedEx": _gemm_strided,
        **{
            f"{letter}gemmBatched": _gemm_batched(dtype)
            for letter, dtype in (("s", "f4"), ("d", "f8"), ("c", "c8"), ("z", "c16"))
        },
    }


# Thrust


def sort(dtype: Any, data: int, keys: int, shape: Any) -> None:
    """Sort rows in place."""
    memory(data, tuple(shape), dtype).sort(axis=-1)


def argsort(dtype: Any, indices: int, data: int, keys: int, shape: Any) -> None:
    """Sort rows in place, and write where their elements stood."""
    rows = memory(data, tuple(shape), dtype)
    order = np.argsort(rows, axis=-1, kind="stable")
    memory(indices, tuple(shape), "i8")[...] = order
    rows[...] = np.take_along_axis(rows, order, -1)


def lexsort(dtype: Any, indices: int, keys: int, count: int, length: int) -> None:
    """Write the order of the columns of `keys`."""
    memory(indices, (length,), "i8")[...] = np.lexsort(memory(keys, (count, length), dtype))


# cuRAND


def _curand() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    drawn: dict[str, Callable[..., Any]] = {
        "Uniform": lambda n: 1 - rng.random(n),  # without 0, with 1
        "Normal": lambda n, mean, scale: rng.normal(mean, scale, n),
        "LogNormal": lambda n, mean, scale: rng.lognormal(mean, scale, n),
    }

    def generate(draw: Callable[..., Any], dtype: str) -> Callable[..., None]:
        def fill(generator: int, target: int, count: int, *parameters: float) -> None:
            memory(target, (count,), dtype)[...] = draw(count, *parameters)

        return fill

    setters = ("destroyGenerator", "setPseudoRandomGeneratorSeed", "setGeneratorOffset", "setStream")
    kinds = ("DEFAULT", "XORWOW", "MRG32K3A", "MTGP32", "MT19937", "PHILOX4_32_10")
    return {
        **{f"CURAND_RNG_PSEUDO_{kind}": 100 + i for i, kind in enumerate(kinds)},
        **dict.fromkeys(setters, lambda *_: None),
        "createGenerator": lambda kind: 1,
        "generate": generate(lambda n: rng.integers(0, 1 << 32, n), "u4"),
        **{f"generate{name}": generate(draw, "f4") for name, draw in drawn.items()},
        **{f"generate{name}Double": generate(draw, "f8") for name, draw in drawn.items()},
    }


# cuSOLVER and cuFFT

_FACTORISATIONS = (
    *("cholesky", "qr", "svd", "eigh", "eigvalsh", "eig", "eigvals", "solve", "inv", "pinv", "lstsq", "tensorsolve"),
    *("tensorinv", "det", "slogdet", "matrix_rank", "cond"),
)
_TRANSFORMS = (
    *("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "irfft", "rfft2", "irfft2", "rfftn", "irfftn"),
    *("hfft", "ihfft"),
)


def _stand_in(module: types.ModuleType, answering: types.ModuleType, names: tuple[str, ...]) -> None:
    """Have functions of `module` answered by those of NumPy."""
    for name in names:
        if hasattr(module, name):
            real = getattr(module, name)
            function = _answered(real, getattr(answering, name))
            setattr(module, name, function)
            setattr(sys.modules[real.__module__], name, function)  # where CuPy itself finds it


def _answered(real: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    import cupy

    signature = inspect.signature(real)

    @functools.wraps(real)
    def function(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        if not any(isinstance(value, cupy.ndarray) for value in bound.arguments.values()):
            raise TypeError(f"{real.__name__} of no cupy.ndarray")
        return _map(answer(*map(_seen, bound.args), **{k: _seen(v) for k, v in bound.kwargs.items()}), cupy.asarray)

    def _seen(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            raise TypeError("a numpy.ndarray where CuPy takes a cupy.ndarray")
        return (
            memory(value.data.ptr, value.shape, value.dtype, value.strides)
            if isinstance(value, cupy.ndarray)
            else value
        )

    return function


def _map(result: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(result, tuple):
        entries = [_map(entry, convert) for entry in result]
        return type(result)(*entries) if hasattr(result, "_fields") else tuple(entries)
    return convert(result)
