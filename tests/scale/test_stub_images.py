"""Images between stub engines: the relays are real, and what is pulled from them is verified."""

from harness import cluster
from harness.saved_image import NAME, save_image
from harness.namespaces import NEEDED
from harness.stubs import IMAGE, source_image, stubs

pytestmark = NEEDED


def test_an_image_goes_from_relay_to_relay():
    with source_image(lambda folder: save_image(folder, 4 << 20)) as path, stubs(5, source=[(NAME, path)]) as five, cluster(five, "t-push") as made:
        made.write(hosts=4, image=NAME)
        made.run("image", "push", "--from", "local", DOCKER_HOST=f"tcp://{five.addresses[4]}:2375")
        counted = five.counters()
        assert [host["pulled"] >= 4 << 20 for host in counted["hosts"]] == [True] * 4 + [False]
        assert sum(host["bytes_in"] for host in counted["hosts"]) < 4 * (4 << 20), "less than the image for each"
        assert [[image["RepoTags"] for image in engine.get("/images/json")] for engine in five.engines[:4]] == [[[NAME], [IMAGE]]] * 4
        made.assert_clean()
