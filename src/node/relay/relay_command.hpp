// A host's part in bringing an image or a tree of files from host to host. Of an image: a registry on
// 127.0.0.1 from which the host's own engine pulls, filled as it is asked for from the relay before, and read
// by the relays behind while it fills. Of a tree: a folder that fills from the relay before, and is read by
// those behind as well.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

//   relay              speaks shared/wire/relay.hpp on stdin and stdout until stdin ends. An image needs a
//   folder
//                      that it may make, /blobs; a tree has /data.
//   relay hold         the first process of the relay's container: ends when nothing else has run there for a
//                      minute, so that a client that was killed leaves no process behind.
//   relay owner        prints whose /data is, "UID:GID": as whom the others are to run.
//   relay give         gives the toolkit's tar to one other host's engine, see tar_giver.hpp; give-self: that
//                      of the relay's own image
//   relay unpack       copies the toolkit out of its image into the volume
int run_relay(const std::vector<std::string>& arguments);

} // namespace dockdist::node
