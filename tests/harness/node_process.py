"""Tests with a node under test of their own."""

import pytest

from harness.node_client import DEADLINE, OPENING_KEYS, PROGRAM, Frame, Node, Stream, kill, marked

__all__ = ["DEADLINE", "OPENING_KEYS", "PROGRAM", "Frame", "Node", "OnANode", "Stream", "kill", "marked"]


class OnANode:
    """Tests with a node of their own each."""

    @pytest.fixture(autouse=True)
    def own_node(self):
        self.node = Node()
        yield
        self.node.end()

    def sh(self, script, **request):
        return self.node.run(["sh", "-c", script], **request)
