"""Classic algorithms that work in place: solvers, stencils, sorts, tables, transforms, updates of parameters."""

import numpy as np

from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2, 0.5, -0.2])
P = np.array([1.4, 0.6, 2.1, 0.8, 1.1])
A = np.array([[4.3, 0.2, -0.4, 0.1], [0.1, 3.9, 0.5, -0.3], [-0.6, 0.8, 5.1, 0.2], [0.7, -0.5, 0.3, 3.6]])
B = np.array([0.9, -0.4, 1.3, 0.2])


# Linear algebra


def gauss_seidel(a, b):
    x = np.zeros(len(b))
    for _ in range(3):
        for i in range(len(b)):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def successive_overrelaxation(a, b):
    x = b / np.diag(a)
    for _ in range(2):
        for i in range(len(b)):
            x[i] += 1.1 * (b[i] - a[i] @ x) / a[i, i]
    return x


def jacobi(a, b):
    x, new = np.zeros(len(b)), np.empty(len(b))
    d = np.diag(a).copy()
    for _ in range(3):
        np.dot(a, x, out=new)
        np.subtract(b, new, out=new)
        new /= d
        new += x
        x, new = new, x
    return x


def cholesky(a, b):
    s = a @ a.T
    n = len(s)
    for k in range(n):
        s[k, k] = np.sqrt(s[k, k])
        s[k + 1 :, k] /= s[k, k]
        for j in range(k + 1, n):
            s[j:, j] -= s[j, k] * s[j:, k]
    return np.tril(s) @ b


def cholesky_by_elements(a, b):
    s = a @ a.T
    low = np.zeros_like(s)
    for i in range(len(s)):
        for j in range(i + 1):
            acc = s[i, j]
            for k in range(j):
                acc -= low[i, k] * low[j, k]
            low[i, j] = np.sqrt(acc) if i == j else acc / low[j, j]
    return low @ b


def lu_solve(a, b):
    n = len(a)
    for k in range(n):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    for i in range(1, n):
        b[i] -= a[i, :i] @ b[:i]
    for i in reversed(range(n)):
        b[i] -= a[i, i + 1 :] @ b[i + 1 :]
        b[i] /= a[i, i]
    return b


def pivoted_elimination(a, b):
    m = np.hstack([a[::-1], b[:, None]])
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(m[k:, k]))
        m[[k, p]] = m[[p, k]]
        m[k, k:] /= m[k, k]
        for i in range(n):
            if i != k:
                m[i, k:] -= m[i, k] * m[k, k:]
    return m[:, -1]


def gram_schmidt(a, b):
    q = a.copy()
    r = np.zeros((4, 4))
    for k in range(4):
        r[k, k] = np.linalg.norm(q[:, k])
        q[:, k] /= r[k, k]
        for j in range(k + 1, 4):
            r[k, j] = q[:, k] @ q[:, j]
            q[:, j] -= r[k, j] * q[:, k]
    return q @ b, r


def conjugate_gradients(a, b):
    a = a @ a.T
    x = np.zeros(4)
    r = b.copy()
    p = r.copy()
    rr = r @ r
    for _ in range(2):
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p *= new / rr
        p += r
        rr = new
    return x


def thomas(a, b):
    lower, main, upper = np.diag(a, -1).copy(), np.diag(a).copy(), np.diag(a, 1).copy()
    for i in range(1, len(b)):
        w = lower[i - 1] / main[i - 1]
        main[i] -= w * upper[i - 1]
        b[i] -= w * b[i - 1]
    b[-1] /= main[-1]
    for i in range(len(b) - 2, -1, -1):
        b[i] = (b[i] - upper[i] * b[i + 1]) / main[i]
    return b


def power_iteration(a, b):
    v = b / np.linalg.norm(b)
    w = np.empty_like(v)
    for _ in range(4):
        np.matmul(a, v, out=w)
        w /= np.sqrt(w @ w)
        v[:] = w
    return v @ a @ v


def matrix_product_by_loops(a, b):
    c = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            for k in range(2):
                c[i, j] += a[i, k] * a[k, j] * b[k]
    return c


@programs(gauss_seidel, successive_overrelaxation, jacobi, cholesky, cholesky_by_elements, lu_solve,
          pivoted_elimination, gram_schmidt, conjugate_gradients, thomas, power_iteration,
          matrix_product_by_loops)  # fmt: skip
def test_linear_algebra(program):
    """Factorisations and iterations that overwrite their matrices."""
    check_writes(program, A, B)


# Stencils and time steps


def heat(u, k):
    for _ in range(3):
        u[1:-1] += 0.2 * k[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def burgers(u, k):
    for _ in range(3):
        u[1:-1] -= 0.1 * u[1:-1] * (u[2:] - u[:-2]) * k[0]
        u[0], u[-1] = u[-2], u[1]
    return u


def wave(u, k):
    old, new = u * 0.9, np.zeros_like(u)
    for _ in range(4):
        new[1:-1] = 2 * u[1:-1] - old[1:-1] + 0.3 * k[2] * (u[2:] - 2 * u[1:-1] + u[:-2])
        new[0] = new[-1] = 0.0
        old, u, new = u, new, old
    return u + old


def plate(u, k):
    m = np.outer(u, k)
    for _ in range(2):
        lap = np.zeros_like(m)
        lap[1:-1, 1:-1] = m[2:, 1:-1] + m[:-2, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2] - 4 * m[1:-1, 1:-1]
        m += 0.1 * lap
        m[:, 0] = m[:, 1]
        m[-1, :] = 0.5 * m[-2, :]
    return m


def upwind(u, k):
    for _ in range(2):
        flux = np.empty(len(u) + 1)
        flux[1:-1] = np.where(k[1:] > 1.0, u[:-1], u[1:])
        flux[0], flux[-1] = u[0], u[-1]
        flux *= 0.2 * k[0]
        u -= flux[1:] - flux[:-1]
    return u


def lotka(y, k, out):
    out[0] = k[0] * y[0] - k[1] * y[0] * y[1]
    out[1] = -k[2] * y[1] + k[3] * y[0] * y[1]


def runge_kutta(u, k):
    y = u[2:4].copy()
    k1, k2, k3, k4 = np.empty((4, 2))
    trajectory = np.zeros((4, 2))
    h = 0.1
    for n in range(4):
        lotka(y, k, k1)
        lotka(y + 0.5 * h * k1, k, k2)
        lotka(y + 0.5 * h * k2, k, k3)
        lotka(y + h * k3, k, k4)
        y += h / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        trajectory[n] = y
    return trajectory


def leapfrog(u, k):
    q, v = u[:2].copy(), u[2:4].copy()
    history = []
    for _ in range(3):
        v -= 0.05 * np.sin(q) * k[:2]
        q += 0.1 * v
        v -= 0.05 * np.sin(q) * k[:2]
        history.append(q.copy())
    return history, v


def random_walk(u, k):
    rng = np.random.default_rng(3)
    path = np.zeros((5, 5))
    path[0] = u
    for i in range(1, 5):
        path[i] = path[i - 1] + 0.1 * k * rng.standard_normal(5)
        path[i, path[i] > 1.0] *= 0.5
    return path


def ring_buffer(u, k):
    ring = np.zeros(3)
    head = 0
    s = 0.0
    for v in u:
        ring[head] = v * v
        head = (head + 1) % 3
        s = s + ring.mean() * k[head]
        ring *= 0.9
    return s, ring


def delayed(u, k):
    y = np.empty(9)
    y[:5] = u
    for i in range(5, 9):
        y[i] = k[0] * y[i - 5] * np.cos(y[i - 1]) + k[1] * y[i - 2]
    return y


@programs(heat, burgers, wave, plate, upwind, runge_kutta, leapfrog, random_walk, ring_buffer, delayed)
def test_time_steps(program):
    """Stencils and integrators that step a state in place or record it in an array made before."""
    check_writes(program, X, P)
