#include "fuzz/support/scene.hpp"

#include "fuzz/fuzz.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace fuzz {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

// Everything that can be seen of a tree, links not followed.
std::string listing(const fs::path& root) {
    std::set<std::string> lines;
    const auto add = [&](const fs::path& path) {
        struct stat status{};
        require(::lstat(path.c_str(), &status) == 0, "what is around the folder stays");
        auto line = path.string() + " " + std::to_string(status.st_mode) + " " +
                    std::to_string(status.st_uid) + " " + std::to_string(status.st_nlink) + " " +
                    std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
        if (S_ISREG(status.st_mode)) {
            line += " " + read_file(path.string());
        } else if (S_ISLNK(status.st_mode)) {
            line += " -> " + fs::read_symlink(path).string();
        }
        lines.insert(std::move(line));
    };
    add(root);
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
        add(entry.path());
    }
    std::string text;
    for (const auto& line : lines) {
        text += line + "\n";
    }
    return text;
}

} // namespace

Scene::Scene() {
    root_ = fs::canonical(fs::temp_directory_path()) / ("scene." + std::to_string(::getpid()));
    inside_ = root_ + "/inside";
    beside_ = root_ + "/beside";
    links_ = {{inside_ + "/out", "../beside"},
              {inside_ + "/of", beside_ + "/file"},
              {inside_ + "/d/out", "../../beside/folder"},
              {inside_ + "/l", "d"}};
    fs::remove_all(root_);
    fs::create_directories(beside_ + "/folder/deep");
    write(beside_ + "/file", "untouched");
    write(beside_ + "/folder/file", "untouched");
    fs::create_symlink("folder/file", beside_ + "/link");
    ::chmod((beside_ + "/folder").c_str(), 0700);
    fs::current_path(beside_ + "/folder/deep");
    before_ = listing(beside_);
    reset();
}

Scene::~Scene() {
    fs::current_path("/");
    fs::remove_all(root_);
}

void Scene::reset() {
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
        if (fs::is_directory(entry.symlink_status())) {
            fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add);
        }
    }
    fs::remove_all(inside_);
    fs::create_directories(inside_ + "/d/d");
    write(inside_ + "/f", "old");
    write(inside_ + "/d/f", "old");
    for (const auto& [link, target] : links_) {
        fs::create_symlink(target, link);
    }
}

bool Scene::was_there(const std::string& link) const {
    const auto found = links_.find(link);
    return found != links_.end() && fs::read_symlink(link) == found->second;
}

void Scene::check() const {
    require_equal(before_, listing(beside_), "nothing is written outside the folder");
    for (const auto& entry : fs::directory_iterator(root_)) {
        require(entry.path() == inside_ || entry.path() == beside_, "nothing appears beside the folder");
    }
}

} // namespace fuzz
