"""What tests end, in a class whose tests make processes and folders as they go."""

import contextlib

import pytest


class WithCleanup:
    """`self.cleanup.callback(…)`: done when the test is over, the latest first."""

    @pytest.fixture(autouse=True)
    def ending(self):
        with contextlib.ExitStack() as self.cleanup:
            yield
