"""The script that looks at single use on a device."""

import pytest

from tests.gpu import check


@pytest.mark.gpu
def test_on_a_device():
    """All is right; with ``-s`` the tables are seen."""
    assert check.main([]) == 0
