"""What the tests in Python share: the lab and clusters on it, dockdist-init and dockdist-probe as processes, a browser."""

from harness.clusters import Cluster, cluster, job_left, remove_all
from harness.lab import DOCKDIST, LAB_NAME, ROOT, Engine, Lab
from harness.waiting import Client, assert_in, eventually, highest_memory, read_until

__all__ = ["DOCKDIST", "LAB_NAME", "ROOT", "Client", "Cluster", "Engine", "Lab", "assert_in", "cluster", "eventually", "highest_memory", "job_left",
           "read_until", "remove_all"]
