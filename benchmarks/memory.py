"""How much memory a pullback keeps: the heat equation, written in place, beside a pullback that is written by hand.

    make bench-memory

What is counted is what `tracemalloc` sees between the call of the forward and that of the pullback. For the derivative
with respect to `k` the Laplacian of every step has to be kept, in both; the array itself is written into, and not kept.
"""

import tracemalloc

import numpy as np

from adcompiler import pullback

STEPS = 100


def heat(u0, k):
    """The temperature after some steps."""
    u = u0.copy()
    for _ in range(STEPS):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += k * lap
    return u


def heat_by_hand(u0, k):
    """`heat` with its pullback."""
    n, m = u0.shape
    laplacians = np.empty((STEPS, n - 2, m - 2))
    u = u0.copy()
    for lap in laplacians:
        np.add(u[2:, 1:-1], u[:-2, 1:-1], out=lap)
        lap += u[1:-1, 2:]
        lap += u[1:-1, :-2]
        lap -= 4.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += k * lap

    def back(u_bar):
        u_bar, k_bar = u_bar.copy(), 0.0
        for lap in laplacians[::-1]:
            inner = u_bar[1:-1, 1:-1]
            k_bar += np.sum(inner * lap)
            part = k * inner
            inner -= 4.0 * part
            u_bar[2:, 1:-1] += part
            u_bar[:-2, 1:-1] += part
            u_bar[1:-1, 2:] += part
            u_bar[1:-1, :-2] += part
        return u_bar, k_bar

    return u, back


def kept(run):
    """The bytes that are held after `run` because of what it returns, and that."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    result = run()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return after - before, result


def main():
    """Compare, and print."""
    rng = np.random.default_rng(0)
    print(f"{'n':>4} {'by hand':>12} {'adcompiler':>12} {'ratio':>6}")
    for n in (16, 64, 256):
        u0, k, seed = rng.uniform(size=(n, n)), 0.2, rng.uniform(size=(n, n))
        pullback(heat, u0, k)  # compiled before anything is counted
        hand, (value, hand_back) = kept(lambda: heat_by_hand(u0, k))  # noqa: B023
        ours, (found, back) = kept(lambda: pullback(heat, u0, k))  # noqa: B023
        np.testing.assert_array_equal(found, value)
        for actual, expected in zip(back(seed), hand_back(seed), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-9)
        print(f"{n:4} {hand:12,} {ours:12,} {ours / hand:6.3f}")


if __name__ == "__main__":
    main()
