#include "client/cli/looking/data_rows.hpp"

#include "client/data/data_text.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"

namespace dockdist {

Task<std::vector<CheckRow>> data_rows(const Context& context, const ClusterSpec& spec, const Engines& engines,
                                      std::vector<std::size_t> hosts) {
    QuietReporter quiet(*context.reporter);
    std::vector<CheckRow> rows;
    const auto add = [&rows](CheckRow::State state, std::string subject, std::string text, std::string hint) {
        rows.push_back({.state = state,
                        .layer = CheckLayer::host,
                        .subject = std::move(subject),
                        .check = "data",
                        .text = std::move(text),
                        .hint = std::move(hint)});
    };
    for (const auto& data : spec.data) {
        const auto state = co_await run_data(
            spec, engines, data,
            {.hosts = hosts, .toolkits = toolkits(), .attempt = random_hex(8), .origin = origin_of(spec)},
            quiet);
        for (const auto& error : state.errors) {
            add(CheckRow::State::warn, error.where.empty() ? "all hosts" : error.where,
                "where " + printable(data.target) + " comes from: " + error.message, error.hint);
        }
        for (const auto& host : state.hosts) {
            if (!state.errors.empty()) {
                continue;
            }
            if (!host.node.errors.empty()) {
                const auto& error = host.node.errors.front();
                if (error.kind != ErrorKind::unreachable && error.kind != ErrorKind::timeout) {
                    add(CheckRow::State::warn, spec.hosts[host.host].name.str(),
                        printable(data.target) + " cannot be looked at: " + error.message, error.hint);
                }
                continue;
            }
            const bool complete = !host.absent && host.node.plan.empty();
            add(complete ? CheckRow::State::pass : CheckRow::State::warn, spec.hosts[host.host].name.str(),
                printable(data.target) + ": " + state_text(host, state),
                complete ? "" : "`dockdist data push` brings it there");
        }
    }
    co_return rows;
}

} // namespace dockdist
