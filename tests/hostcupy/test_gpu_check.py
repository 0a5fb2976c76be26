"""The script for a GPU, in host memory: it works, and finds nothing wrong."""

import pytest

from tests.gpu import check


def test_the_script(pytestconfig):
    """Its larger parts, with small arrays; what else it runs are tests of their own here."""
    if pytestconfig.option.markexpr == "gpu":
        pytest.skip("tests/gpu runs all of it")
    plan = check.HOST(limit=1 << 19, seconds=120.0)
    assert check.check(plan, (check.streams, check.corpus, check.largest)) == []


def test_what_is_wrong_is_told(capsys):
    """A check that fails is named, and the others are run."""
    plan = check.HOST()

    def wrong(plan):
        with plan.expects("one"):
            assert [] == [1]
        raise ValueError("the rest of it")

    def right(plan):
        print("here")

    assert check.check(plan, (wrong, right)) == ["one", "wrong"]
    assert "here" in capsys.readouterr().out
