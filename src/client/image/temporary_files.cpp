#include "client/image/temporary_files.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace dockdist {

Error temporary_error(const std::string& path, int number) {
    return {ErrorKind::internal, path, std::string("cannot be used: ") + std::strerror(number),
            "set TMPDIR to a folder with room for the image"};
}

std::string temporary_place() {
    const char* wanted = std::getenv("TMPDIR");
    return wanted != nullptr && *wanted != '\0' ? wanted : "/var/tmp";
}

Result<std::filesystem::path> make_temporary_folder() {
    std::string path = temporary_place() + "/dockdist-image-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
        return temporary_error(path, errno);
    }
    return std::filesystem::path(path);
}

Result<Fd> make_temporary_file() {
    std::string path = temporary_place() + "/dockdist-build-XXXXXX";
    Fd file(::mkostemp(path.data(), O_CLOEXEC));
    if (!file.open()) {
        return temporary_error(path, errno);
    }
    ::unlink(path.c_str());
    return file;
}

} // namespace dockdist
