#include "shared/wire/probe.hpp"

#include "shared/wire/json_reader.hpp"

namespace dockdist::wire {

std::string probe_line(int local_rank, nlohmann::json line) {
    return dump({{"probe", local_rank}, {"line", std::move(line)}}) + "\n";
}

std::string probe_end_line(int local_rank, const ProbeEnd& end) {
    return dump({{"probe", local_rank},
                 {"ended",
                  {{"code", end.code},
                   {"signal", end.signal},
                   {"message", end.message},
                   {"hint", end.hint}}}}) +
           "\n";
}

std::string rdma_line(const std::vector<std::string>& devices) {
    return dump({{"rdma", devices}}) + "\n";
}

Result<ProbeMessage> parse_probe_message(std::string_view line) {
    constexpr auto what = "a line of the probes";
    const auto body = parse_object(line, what);
    TRY(body);
    ObjectReader reader(*body, what);
    ProbeMessage message;
    if (body->contains("rdma")) {
        reader.read_bytes("rdma", message.rdma.emplace());
    } else {
        reader.require("probe");
        reader.read("probe", message.local_rank);
        if (!reader.failed() && (message.local_rank < 0 || message.local_rank >= most_probes)) {
            reader.fail("a local rank is from 0 to 63");
        }
        if (const auto* told = reader.object("line")) {
            message.line = *told;
        } else if (const auto* ended = reader.object("ended")) {
            auto& end = message.end.emplace();
            ObjectReader fields(*ended, what);
            fields.read("code", end.code);
            fields.read("signal", end.signal);
            fields.read("message", end.message);
            fields.read("hint", end.hint);
            if (fields.failed()) {
                return fields.error();
            }
        } else if (!reader.failed()) {
            reader.fail("\"line\" or \"ended\" is missing");
        }
    }
    if (reader.failed()) {
        return reader.error();
    }
    return message;
}

} // namespace dockdist::wire
