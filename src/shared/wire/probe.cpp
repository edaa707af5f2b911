#include "shared/wire/probe.hpp"

#include "shared/wire/fields.hpp"

namespace dockdist::wire {

void fields_of(auto& fields, Of<ProbeEnd> auto& end) {
    fields("code", end.code);
    fields("signal", end.signal);
    fields("message", end.message);
    fields("hint", end.hint);
}

std::string probe_line(int local_rank, nlohmann::json line) {
    return dump({{"probe", local_rank}, {"line", std::move(line)}}) + "\n";
}

std::string probe_end_line(int local_rank, const ProbeEnd& end) {
    return dump({{"probe", local_rank}, {"ended", json_of(end)}}) + "\n";
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
        } else if (reader.object("ended") != nullptr) {
            read_field(reader, "ended", message.end.emplace());
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
