"""Real CuPy on host memory, part 2: CUDA C++ compiled by the C++ compiler of the machine, and kept in a folder.

The first of these that runs is taken: ``$CXX``, ``g++``, ``clang++``, and ``zig c++`` of the package ziglang.
"""

import functools
import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
INCLUDE = FOLDER / "include"
CACHE = Path(os.environ.get("HOSTCUPY_CACHE", FOLDER.parents[1] / "build" / "hostcupy"))
FLAGS = ["-std=c++17", "-O0", "-w", "-fpermissive", "-fPIC"]

# What a kernel is entered by: an array of pointers to its arguments, and the sizes of the grid and of the block.
ENTRY = """
static void {name}__body(void** p) {{ hl_call(&{name}, p); }}
extern "C" void {name}__on_host(void** p, const unsigned* g) {{ hl_grid({block}, {name}__body, p, g); }}
"""

HALF = """
inline unsigned short __half_as_ushort(const half &h) { return __half_raw(h).x; }
inline half __ushort_as_half(unsigned short v) { __half_raw r = {v}; return half(r); }
"""


class NoCompiler(RuntimeError):
    """There is no C++ compiler on this machine."""


@functools.cache
def command() -> tuple[str, ...]:
    """The C++ compiler's command. Raises NoCompiler with what to install."""
    candidates = [
        shlex.split(os.environ.get("CXX", "")),
        ["g++"],
        ["clang++"],
        [sys.executable, "-m", "ziglang", "c++"],
    ]
    for candidate in filter(None, candidates):
        try:
            subprocess.run([*candidate, "--version"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return tuple(candidate)
    raise NoCompiler(
        "the kernels of CuPy are compiled by a C++ compiler here, and there is none: install g++ or clang++, "
        f"or name one in CXX, or `{sys.executable} -m pip install ziglang`"
    )


def build(source: str, options: tuple[str, ...]) -> Path:
    """The shared library of the kernels in `source`, from the cache if they were compiled before."""
    defined = [option for option in options if option.startswith("-D")]
    text = _in_dialect(source)
    target = CACHE / f"{_digest(text, *defined, *_base())}.so"
    if target.exists():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        file, library = Path(scratch, "kernel.cpp"), Path(scratch, "kernel.so")
        file.write_text(text)
        _run([*_base(), "-include", str(_prelude()), *defined, "-shared", str(file), "-o", str(library)])
        library.replace(target)  # at once: other processes share the folder
    return target


def kernel_names(source: str) -> list[str]:
    """The names of the kernels that `source` defines."""
    code = re.sub(r"//[^\n]*", "", source)
    return re.findall(r'extern\s*"C"\s*__global__\s*void\s*(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(', code)


def _in_dialect(source: str) -> str:
    """`source` as C++: dynamic shared memory named, and an entry for each kernel added."""
    block = "hl_fibers" if "__sync" in source else "hl_loop"
    shared = r"extern\s+__shared__\s+([\w:<> ]+?)\s+(\w+)\s*\[\s*\]\s*;"
    text = re.sub(shared, r"\1 *\2 = (\1 *)hl_smem;", source)
    half = HALF if "cupy/float16.cuh" in source else ""
    return f"{text}\n{half}{''.join(ENTRY.format(name=name, block=block) for name in kernel_names(source))}"


@functools.cache
def _base() -> tuple[str, ...]:
    import cupy

    own = Path(cupy.__file__).parent / "_core" / "include"
    return (*command(), *FLAGS, "-I", str(INCLUDE), "-I", str(own))


@functools.cache
def _prelude() -> Path:
    """A header with the dialect and the headers of CuPy's own kernels, precompiled where the compiler can do that."""
    names = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")
    text = '#include "host_cuda.h"\n' + "".join(f"#include <cupy/{name}>\n" for name in names)
    folder = CACHE / f"header-{_digest(text, *_base())}"
    header = folder / "prelude.h"
    if not header.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            Path(scratch, "prelude.h").write_text(text)
            if "ziglang" not in command():  # it takes no precompiled headers
                compiled = Path(scratch, "prelude.h.gch")
                _run([*_base(), "-x", "c++-header", str(Path(scratch, "prelude.h")), "-o", str(compiled)])
                compiled.replace(folder / "prelude.h.gch")
            Path(scratch, "prelude.h").replace(header)
    return header


def _digest(*parts: str) -> str:
    headers = [path.read_text() for path in sorted(INCLUDE.rglob("*.*")) if path.is_file()]
    return hashlib.sha256("\0".join([*parts, *headers]).encode()).hexdigest()[:32]


def _run(arguments: list[str]) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(arguments)} failed:\n{done.stderr[:3000]}")
