#include "client/image/temporary_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace temporary_files_test {

using namespace dockdist;

TEST_CASE("what the client keeps of an image is its user's alone, whatever the umask") {
    const auto umask = ::umask(0);
    const auto folder = make_temporary_folder();
    const auto file = make_temporary_file();
    ::umask(umask);
    REQUIRE(folder.has_value());
    REQUIRE(file.has_value());
    struct stat status{};
    REQUIRE(::stat(folder->c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0700);
    CHECK(status.st_uid == ::geteuid());
    REQUIRE(::fstat(file->get(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0600);
    CHECK(status.st_nlink == 0); // nobody can open it by a name
    std::filesystem::remove_all(*folder);
}

} // namespace temporary_files_test
