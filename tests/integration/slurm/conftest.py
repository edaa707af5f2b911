"""What tests on a lab with a Slurm are given."""

import pytest

from harness.slurm import Slurm


@pytest.fixture(scope="session")
def slurm(lab):
    made = Slurm(lab)
    made.heal()
    return made
