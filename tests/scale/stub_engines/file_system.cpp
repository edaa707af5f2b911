#include "scale/stub_engines/file_system.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace dockdist::scale {
namespace {

namespace fs = std::filesystem;

std::string failed(const std::string& what) {
    return what + ": " + std::strerror(errno);
}

// The folders that each container has for itself, whatever its image holds.
constexpr std::array own_folders{"proc", "sys",     "dev", "dev/pts", "dev/shm", "run", "tmp",
                                 "var",  "var/tmp", "etc", "root",    "opt",     "work"};

bool is_own(const std::string& name) {
    return std::ranges::any_of(own_folders, [&](const char* folder) { return name == folder; });
}

bool bind_mount(const std::string& source, const std::string& target, bool read_only) {
    return ::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
           (!read_only ||
            ::mount(nullptr, target.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0);
}

std::string show_image(const std::string& image, const std::string& root) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(image, none)) {
        const auto name = entry.path().filename().string();
        const auto target = root + "/" + name;
        if (entry.is_symlink()) {
            fs::copy_symlink(entry.path(), target, none);
        } else if (name == "etc") {
            fs::copy(entry.path(), target, fs::copy_options::recursive | fs::copy_options::copy_symlinks,
                     none);
        } else if (entry.is_directory() && !is_own(name)) {
            if (::mkdir(target.c_str(), 0755) != 0 || !bind_mount(entry.path(), target, true)) {
                return failed("show " + name + " of the image");
            }
        } else if (entry.is_regular_file()) {
            std::ofstream(target).close();
            if (!bind_mount(entry.path(), target, true)) {
                return failed("show " + name + " of the image");
            }
        }
    }
    return {};
}

std::string make_devices(const std::string& root, std::uint64_t shm_size) {
    struct Device {
        const char* name;
        unsigned major, minor;
    };
    constexpr std::array<Device, 6> devices{
        {{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}}};
    for (const auto& device : devices) {
        const auto path = root + "/dev/" + device.name;
        if (::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(device.major, device.minor)) != 0 ||
            ::chmod(path.c_str(), 0666) != 0) {
            return failed("make /dev/" + std::string(device.name));
        }
    }
    const std::array<std::pair<const char*, const char*>, 5> links{{{"pts/ptmx", "/dev/ptmx"},
                                                                    {"/proc/self/fd", "/dev/fd"},
                                                                    {"/proc/self/fd/0", "/dev/stdin"},
                                                                    {"/proc/self/fd/1", "/dev/stdout"},
                                                                    {"/proc/self/fd/2", "/dev/stderr"}}};
    for (const auto& [target, name] : links) {
        (void)!::symlink(target, (root + name).c_str());
    }
    const auto shm = "mode=1777,size=" + std::to_string(shm_size);
    if (::mount("devpts", (root + "/dev/pts").c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
                "newinstance,ptmxmode=0666,mode=0620") != 0 ||
        ::mount("shm", (root + "/dev/shm").c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, shm.c_str()) !=
            0) {
        return failed("mount below /dev");
    }
    return {};
}

std::string mount_all(const Sandbox& sandbox, const std::string& root) {
    for (const auto& mount : sandbox.mounts) {
        const auto target = root + mount.target;
        if (!mount.source.empty() && !fs::is_directory(mount.source)) {
            make_folders(fs::path(target).parent_path());
            std::ofstream(target, std::ios::app).close();
        } else {
            make_folders(target);
        }
        const bool mounted = mount.source.empty() ? ::mount("tmpfs", target.c_str(), "tmpfs",
                                                            MS_NOSUID | MS_NODEV, mount.options.c_str()) == 0
                                                  : bind_mount(mount.source, target, mount.read_only);
        if (!mounted) {
            return failed("mount " + mount.target);
        }
    }
    return {};
}

} // namespace

void make_folders(const std::string& path) {
    for (auto end = path.find('/', 1);; end = path.find('/', end + 1)) {
        (void)::mkdir(path.substr(0, end).c_str(), 0755);
        if (end == std::string::npos) {
            return;
        }
    }
}

std::string enter_file_system(const Sandbox& sandbox) {
    const auto& root = sandbox.place;
    ::umask(0);
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("root", root.c_str(), "tmpfs", 0, "mode=0755") != 0) {
        return failed("mount the container's root");
    }
    for (const auto* folder : own_folders) {
        const bool for_all = std::string_view(folder).ends_with("tmp");
        (void)::mkdir((root + "/" + folder).c_str(), for_all ? 01777 : 0755);
    }
    if (auto problem = show_image(sandbox.image, root); !problem.empty()) {
        return problem;
    }
    if (!fs::exists(root + "/etc/hosts")) {
        std::ofstream(root + "/etc/hosts")
            << "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n";
    }
    if (::mount("proc", (root + "/proc").c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0 ||
        ::mount("sysfs", (root + "/sys").c_str(), "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
                nullptr) != 0) {
        return failed("mount /proc and /sys");
    }
    for (auto problem : {make_devices(root, sandbox.shm_size), mount_all(sandbox, root)}) {
        if (!problem.empty()) {
            return problem;
        }
    }
    if (::chdir(root.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
        ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) {
        return failed("make it the root");
    }
    return {};
}

} // namespace dockdist::scale
