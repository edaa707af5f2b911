#include "client/observe/ask_samples.hpp"

#include "client/observe/follow_lines.hpp"
#include "shared/wire/layout.hpp"

#include <chrono>
#include <utility>

namespace dockdist {

Task<Error> follow_samples(ContainerEngine& engine, const ReadyNode& node, int interval_ms,
                           std::function<void(const wire::SampleFacts&, wire::Sample)> hear) {
    constexpr std::chrono::milliseconds patience = std::chrono::seconds(10); // beside three intervals
    wire::SampleReader reader;
    FollowedLines followed{
        .command = {layout::init, "sample", "--interval", std::to_string(interval_ms)},
        .at_end = {ErrorKind::node, "", "the node does not say how busy it is",
                   "see `dockdist status`; a node of an older dockdist is recreated by `dockdist up`"},
        .longest_silence = patience + 3 * std::chrono::milliseconds(interval_ms)};
    followed.hear = [&](std::string_view line) -> Status {
        auto sample = reader.hear(line);
        TRY(sample);
        if (*sample && reader.has_facts()) {
            hear(reader.facts(), std::move(**sample));
        }
        return ok;
    };
    co_return co_await follow_lines(engine, node, std::move(followed));
}

} // namespace dockdist
