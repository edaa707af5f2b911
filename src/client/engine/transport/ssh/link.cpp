#include "client/engine/transport/ssh/link.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <array>

namespace dockdist {

Error ended_silently(const std::string& where, const std::string& complaint) {
    const auto said = printable(complaint.substr(0, complaint.find('\n')));
    return {ErrorKind::unreachable, "",
            fmt::format("`docker system dial-stdio` on {} ended without an answer{}{}", where,
                        said.empty() ? "" : ": ", said),
            "is Docker (with its command line) installed there, and is the user in the group docker?"};
}

Task<Result<std::unique_ptr<ByteStream>>> answering(std::unique_ptr<ByteStream> stream) {
    constexpr std::size_t most = 256 * 1024;
    constexpr std::string_view question = "HEAD /_ping HTTP/1.1\r\nHost: docker\r\n\r\n";
    constexpr std::string_view status = "HTTP/1.";
    constexpr std::string_view end = "\r\n\r\n";
    CO_TRY(co_await stream->write(question));
    std::string said;
    std::array<char, 4096> buffer{};
    while (said.size() < most) {
        const auto count = co_await stream->read_some(buffer);
        CO_TRY(count);
        if (*count == 0) {
            break;
        }
        said.append(buffer.data(), *count);
        const auto begin = said.find(status);
        if (begin != std::string::npos && said.find(end, begin) != std::string::npos) {
            co_return std::move(stream);
        }
    }
    const auto first = said.substr(0, said.find('\n')).substr(0, 200);
    co_return Error{ErrorKind::protocol, "",
                    fmt::format("what answers there is not an engine: {}", printable(first)),
                    "try `ssh` by hand"};
}

} // namespace dockdist
