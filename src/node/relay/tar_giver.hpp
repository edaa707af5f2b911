// Handing the toolkit, or a relay's image, on: a host that has it gives its tar, once, to the engine of
// another one. That engine fetches it by plain HTTP, the only way to which an engine as it is can be told by
// its API; what it got is held against the digest by the client (client/relay/hand_on.hpp).
#pragma once

namespace dockdist::node {

// Speaks shared/wire/relay.hpp on stdin and stdout: an opening comes, {"type":"listening"} goes, and when the
// one request for "/TOKEN" is there, {"type":"progress"}; in the end {"type":"done"}. The end of stdin ends
// it. The exit code; what goes wrong is told on stderr.
int give_tar(bool own_image); // else the toolkit

// The toolkit, out of the image that another host's tar became, into the volume.
int unpack_toolkit();

} // namespace dockdist::node
