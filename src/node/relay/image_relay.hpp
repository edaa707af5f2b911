// A host's part in bringing an image from host to host: a registry on 127.0.0.1 from which the host's own
// engine pulls, filled as it is asked for from the relay before, and read by the relays behind while it
// fills.
#pragma once

namespace dockdist::node {

// Speaks wire/image_relay.hpp on stdin and stdout until stdin ends. Needs a folder that it may make, /blobs.
int run_image_relay();

// The first process of the relay's container: ends when nothing else has run there for a minute, so that a
// client that was killed leaves no process behind.
int hold_image_relay();

} // namespace dockdist::node
