#include "node/relay/blob_files.hpp"

#include "node/system/os.hpp"

#include <cerrno>
#include <fcntl.h>

namespace dockdist::node {

Result<BlobFiles::Opened> ImageFiles::open(const std::string& id, bool /*anew*/) {
    const auto path = folder_ + "/" + id.substr(id.find(':') + 1);
    Opened opened{.file =
                      Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600))};
    if (!opened.file.open()) {
        return system_error("keep what came", errno);
    }
    return opened;
}

} // namespace dockdist::node
