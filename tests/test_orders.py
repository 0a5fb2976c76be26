"""`dump --order N`: the texts behind a derivative of a derivative, which run and read well."""

import numpy as np
import pytest

from adcompiler.orders import dump_order
from tests.test_dump import CALLS, make, sample  # noqa: F401  fixtures

X = np.array([0.9, 1.3])


@pytest.mark.parametrize("name", ["loss", "relax", "early"])
def test_text(name, sample, golden):  # noqa: F811
    """The function in forward mode, then the pullback of its tangent."""
    args, wrt = next((args, wrt) for called, args, wrt in CALLS if called == name)
    golden(dump_order(getattr(sample, name), args, wrt=wrt).rstrip("\n"))


@pytest.mark.parametrize("order", [2, 3])
def test_texts_are_importable_and_right(order, make):  # noqa: F811
    """Of x³ along ones: 3 x² and its gradient 6 x, then 6 x and its gradient 6."""
    cubed = make("cubed", "import numpy as np\n\ndef f(x):\n    return np.sum(x * x * x)\n").f
    texts = dump_order(cubed, (X,), order=order).split("\n\n\n# ")
    texts = [text if i == 0 else "# " + text for i, text in enumerate(texts)]
    modules = [make(f"text_{order}_{i}", text) for i, text in enumerate(texts)]
    assert len(modules) == order
    y, y_dot = modules[0].f_jvp(X, np.ones(2))
    np.testing.assert_allclose([y, y_dot], [np.sum(X**3), np.sum(3 * X**2)])
    *_, last = modules
    forward = next(value for name, value in vars(last).items() if name.endswith("_forward"))
    value, back = forward(X, *(np.ones(2) for _ in range(order - 1)))
    assert value == pytest.approx(np.sum(3 * X**2) if order == 2 else np.sum(6 * X))
    np.testing.assert_allclose(np.broadcast_to(back(1.0), 2), 6 * X if order == 2 else [6.0, 6.0])


def test_an_order_that_is_no_order():
    """The first derivative is what `dump` gives."""
    with pytest.raises(ValueError, match="gives the text of the first derivative"):
        dump_order(np.sum, order=1)
