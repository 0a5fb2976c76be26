"""How long derivatives of derivatives take, beside autograd, JAX and PyTorch where these are installed.

    make bench-orders

Five rows: the Hessian of a logistic regression, a Hessian-vector product of a network, the Jacobian of a function of 50
numbers, the third derivative of a number, and the gradient of a loop of 1,000 steps that is checkpointed. Times are
medians of interleaved runs, in milliseconds; of the loop also the peak of memory (tracemalloc). JAX runs twice,
without `jit`, as the others, and with it. The first call of the Hessian of a ten-line function is timed in a process of
its own.
"""

import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

import adcompiler as ad

RNG = np.random.default_rng(0)
DATA, LABELS = RNG.normal(size=(200, 20)), RNG.integers(0, 2, 200) * 2.0 - 1.0
WEIGHTS = RNG.normal(size=20)
BATCH, TARGET = RNG.normal(size=(64, 32)), RNG.normal(size=(64, 1))
W1, W2 = RNG.normal(size=(32, 64)) * 0.1, RNG.normal(size=(64, 1)) * 0.1
V1 = RNG.normal(size=(32, 64))
MIX = RNG.normal(size=(50, 50)) * 0.1
STEPS = 1000
STATE = RNG.normal(size=500)


def programs(np):
    """The programs, for a namespace with NumPy's functions."""

    def logistic(w):
        return np.sum(np.logaddexp(0.0, -LABELS_OF[np] * (DATA_OF[np] @ w))) + 0.1 * np.sum(w * w)

    def network(w):
        x, w2, t = NETWORK_OF[np]
        return np.mean((np.tanh(x @ w) @ w2 - t) ** 2)

    def vector(x):
        return np.tanh(MIX_OF[np] @ np.sin(x)) * x

    def number(x):
        return np.sin(x) * np.exp(-0.5 * x) + x**4

    return {"logistic": logistic, "network": network, "vector": vector, "number": number}


DATA_OF, LABELS_OF, NETWORK_OF, MIX_OF = {}, {}, {}, {}


def with_data(np, make):
    """Tell the programs their data in the arrays of a namespace."""
    DATA_OF[np], LABELS_OF[np], MIX_OF[np] = make(DATA), make(LABELS), make(MIX)
    NETWORK_OF[np] = make(BATCH), make(W2), make(TARGET)
    return programs(np)


def step(i, x):
    """One step of the loop."""
    return x + 0.01 * np.sin(x) * x


def ours():
    """This package."""
    p = with_data(np, lambda a: a)
    hess, jac = ad.hessian(p["logistic"]), ad.jacobian(p["vector"])
    third = ad.gradient(ad.gradient(ad.gradient(p["number"])))
    loop = ad.gradient(lambda x: np.sum(ad.checkpoint_loop(step, x, STEPS)))
    return {
        "hessian": lambda: hess(WEIGHTS),
        "hvp": lambda: ad.hvp(p["network"], W1, V1),
        "jacobian": lambda: jac(WEIGHTS_50),
        "third": lambda: third(0.7),
        "loop": lambda: loop(STATE),
    }


WEIGHTS_50 = RNG.normal(size=50)


def autograd():
    """autograd; its checkpoint keeps the state of every 32nd step."""
    import autograd as ag
    import autograd.numpy as anp

    p = with_data(anp, lambda a: a)

    @ag.checkpoint
    def steps(x):
        for _ in range(32):
            x = x + 0.01 * anp.sin(x) * x
        return x

    def loop(x):
        for _ in range(STEPS // 32):
            x = steps(x)
        for _ in range(STEPS % 32):
            x = x + 0.01 * anp.sin(x) * x
        return anp.sum(x)

    hess, jac, product = ag.hessian(p["logistic"]), ag.jacobian(p["vector"]), ag.make_hvp(p["network"])
    third, gradient = ag.grad(ag.grad(ag.grad(p["number"]))), ag.grad(loop)
    return {
        "hessian": lambda: hess(WEIGHTS),
        "hvp": lambda: product(W1)[0](V1),
        "jacobian": lambda: jac(WEIGHTS_50),
        "third": lambda: third(0.7),
        "loop": lambda: gradient(STATE),
    }


def jax(jit=False):
    """JAX, in double precision."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    p = with_data(jnp, jnp.asarray)
    made = jax.jit if jit else lambda f: f

    def steps(x, _):
        return x + 0.01 * jnp.sin(x) * x, None

    def outer(x, _):
        return jax.checkpoint(lambda x: jax.lax.scan(steps, x, None, 32)[0])(x), None

    def loop(x):
        x, _ = jax.lax.scan(outer, x, None, STEPS // 32)
        x, _ = jax.lax.scan(steps, x, None, STEPS % 32)
        return jnp.sum(x)

    w, v, x50, state = map(jnp.asarray, (W1, V1, WEIGHTS_50, STATE))
    weights = jnp.asarray(WEIGHTS)
    hess, jac = made(jax.hessian(p["logistic"])), made(jax.jacobian(p["vector"]))
    product = made(lambda w, v: jax.jvp(jax.grad(p["network"]), (w,), (v,))[1])
    third, gradient = made(jax.grad(jax.grad(jax.grad(p["number"])))), made(jax.grad(loop))
    return {
        "hessian": lambda: hess(weights).block_until_ready(),
        "hvp": lambda: product(w, v).block_until_ready(),
        "jacobian": lambda: jac(x50).block_until_ready(),
        "third": lambda: third(0.7).block_until_ready(),
        "loop": lambda: gradient(state).block_until_ready(),
    }


def torch():
    """torch.func, and torch.utils.checkpoint every 32 steps."""
    import torch
    from torch.utils.checkpoint import checkpoint

    torch.set_num_threads(1)

    class Names:
        """NumPy's names for PyTorch's functions."""

        sum, mean, tanh, sin, exp = torch.sum, torch.mean, torch.tanh, torch.sin, torch.exp

        @staticmethod
        def logaddexp(a, b):
            return torch.logaddexp(torch.as_tensor(a, dtype=torch.float64), b)

    p = with_data(Names, torch.as_tensor)

    def steps(x, n=32):
        for _ in range(n):
            x = x + 0.01 * torch.sin(x) * x
        return x

    def loop(x):
        for _ in range(STEPS // 32):
            x = checkpoint(steps, x, use_reentrant=False)
        return torch.sum(steps(x, STEPS % 32))

    def gradient():
        x = torch.as_tensor(STATE).clone().requires_grad_()
        loop(x).backward()
        return x.grad

    func = torch.func
    w, v, x50, weights = map(torch.as_tensor, (W1, V1, WEIGHTS_50, WEIGHTS))
    hess, jac = func.hessian(p["logistic"]), func.jacrev(p["vector"])
    third, at = func.grad(func.grad(func.grad(p["number"]))), torch.tensor(0.7, dtype=torch.float64)
    return {
        "hessian": lambda: hess(weights),
        "hvp": lambda: func.jvp(func.grad(p["network"]), (w,), (v,))[1],
        "jacobian": lambda: jac(x50),
        "third": lambda: third(at),
        "loop": gradient,
    }


FIRST = """
import time
import numpy as np
import adcompiler


def f(x):
    a = np.sin(x) * x
    b = np.exp(-a)
    c = a * b
    d = np.tanh(c + x)
    e = d * d
    g = np.sum(e) + x[0]
    h = np.log1p(g * g)
    k = h * np.sum(x * x)
    m = np.sqrt(k + 1.0)
    return m * g


start = time.perf_counter()
adcompiler.hessian(f)(np.array([0.3, 0.5, 0.7]))
print(1000 * (time.perf_counter() - start))
"""


def peak(call):
    """The peak of memory above what is there, in KiB."""
    tracemalloc.start()
    call()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found / 1024


def first():
    """The time of the first call in a process of its own, in milliseconds; the program is in a file, as all are."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "first.py"
        file.write_text(FIRST)
        return float(subprocess.run([sys.executable, file], capture_output=True, text=True, check=True).stdout)


def median(calls, name, runs=15):
    """Median times in milliseconds, of interleaved runs."""
    times = {tool: [] for tool in calls}
    for _ in range(runs):
        for tool, found in calls.items():
            start = time.perf_counter()
            found[name]()
            times[tool].append(1000 * (time.perf_counter() - start))
    return {tool: statistics.median(found) for tool, found in times.items()}


def main():
    """Print the table."""
    calls = {"ours": ours()}
    for name, make in (("autograd", autograd), ("jax", jax), ("jax jit", lambda: jax(jit=True)), ("torch", torch)):
        try:
            calls[name] = make()
        except ImportError:
            print(f"{name} is not installed", file=sys.stderr)
    for name in ("hessian", "hvp", "jacobian", "third", "loop"):
        for found in calls.values():
            found[name]()
        reference = np.asarray(calls["ours"][name]())
        for tool, found in calls.items():
            np.testing.assert_allclose(np.asarray(found[name]()), reference, rtol=1e-6, atol=1e-9, err_msg=tool)
        row = median(calls, name)
        print(f"{name:10}" + "".join(f"{tool:>10} {row[tool]:9.3f}" for tool in calls), flush=True)
    memory = {tool: peak(calls[tool]["loop"]) for tool in ("ours", "autograd") if tool in calls}
    print("loop, KiB " + "".join(f"{tool:>10} {memory[tool]:9.0f}" for tool in memory))
    print(f"first Hessian of ten lines: {statistics.median(first() for _ in range(5)):.0f} ms")


if __name__ == "__main__":
    main()
