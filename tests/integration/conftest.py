"""What tests on the lab are given."""

import pytest

from harness import Lab


@pytest.fixture(scope="session")
def lab():
    made = Lab()
    made.heal()
    return made
