"""What client and nodes ask of a kernel."""

from harness import DOCKDIST, cluster, old_kernel
from harness.namespaces import NEEDED
from harness.odd import run, whole_life
from harness.stubs import IMAGE, stubs

pytestmark = NEEDED


def test_client_and_nodes_need_no_system_call_that_linux_4_18_has_not():
    with stubs(1, started_by=old_kernel.command) as made, cluster(made, "t-old-kernel") as c:
        c.write(hosts=1, image=IMAGE)
        whole_life(c, lambda *words: run(old_kernel.command(str(DOCKDIST), *words), c.environment()))
