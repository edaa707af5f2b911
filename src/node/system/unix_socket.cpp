#include "node/system/unix_socket.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr time_t longest_wait_s = 5;

Result<sockaddr_un> unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        return Error{.kind = ErrorKind::internal, .message = "the socket's path is too long: " + path};
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

// The socket, after `call` with its address.
template <class Call>
Result<Fd> socket_by_name(const std::string& name, Call call) {
    const auto address = unix_address("@" + name);
    TRY(address);
    auto named = *address;
    named.sun_path[0] = '\0';
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (call(fd.get(), reinterpret_cast<const sockaddr*>(&named), length) != 0) {
        return system_error("cannot use the name @" + name, errno);
    }
    return fd;
}

} // namespace

Result<Fd> listen_unix(const std::string& path, int type, mode_t mode, Owner owner) {
    const auto address = unix_address(path);
    TRY(address);
    Fd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::unlink(path.c_str());
    const auto old_mask = ::umask(0177);
    const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
    const int number = errno;
    ::umask(old_mask);
    if (bound != 0) {
        return system_error("cannot listen on " + path, number);
    }
    if (::lchown(path.c_str(), owner.uid, owner.gid) != 0 || ::chmod(path.c_str(), mode) != 0 ||
        ::listen(fd.get(), 128) != 0) {
        return system_error("cannot listen on " + path, errno);
    }
    return fd;
}

Result<Fd> connect_unix(const std::string& path, int type) {
    const auto address = unix_address(path);
    TRY(address);
    Fd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    const timeval limit{.tv_sec = longest_wait_s, .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
        auto error = system_error("cannot reach " + path, errno);
        error.kind = errno == EAGAIN ? ErrorKind::busy : error.kind;
        return error;
    }
    return fd;
}

Result<Fd> listen_by_name(const std::string& name) {
    auto fd = socket_by_name(name, ::bind);
    if (fd && ::listen(fd->get(), 16) != 0) {
        return system_error("cannot listen on @" + name, errno);
    }
    return fd;
}

Result<Fd> connect_by_name(const std::string& name) {
    return socket_by_name(name, ::connect);
}

bool is_our_user(int socket) {
    ucred credentials{};
    socklen_t length = sizeof credentials;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
           credentials.uid == ::geteuid();
}

} // namespace dockdist::node
