#include "client/cluster/hand_over.hpp"

#include "client/container/exec_command.hpp"
#include "client/observe/node_command.hpp"
#include "client/plan/lost_files.hpp"
#include "client/report/step.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/core/ustar.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/layout.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {
namespace {

constexpr std::size_t longest_record = std::size_t{16} << 20U;
constexpr std::size_t most_named_jobs = 5;
constexpr std::uint32_t folder_mode = 0700, file_mode = 0600;

struct OldJob {
    std::string id{};
    std::int64_t ended_ms = 0;
    bool whole = false; // its output has come
};

std::optional<std::string> only_file_of(const std::string& tar) {
    const std::unique_ptr<archive, int (*)(archive*)> reader(::archive_read_new(), ::archive_read_free);
    ::archive_read_support_format_tar(reader.get());
    archive_entry* entry = nullptr;
    if (::archive_read_open_memory(reader.get(), tar.data(), tar.size()) != ARCHIVE_OK ||
        ::archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK ||
        ::archive_entry_filetype(entry) != AE_IFREG ||
        ::archive_entry_size(entry) > static_cast<la_int64_t>(longest_record)) {
        return std::nullopt;
    }
    std::string content(static_cast<std::size_t>(::archive_entry_size(entry)), '\0');
    const auto count = ::archive_read_data(reader.get(), content.data(), content.size());
    return count == static_cast<la_ssize_t>(content.size()) ? std::optional(std::move(content))
                                                            : std::nullopt;
}

// Empty: there is none, or not such a one.
Task<Result<std::string>> read_file_in(ContainerEngine& engine, ContainerId id, std::string path) {
    const auto source = co_await engine.get_archive(std::move(id), std::move(path));
    if (!source && source.error().kind == ErrorKind::not_found) {
        co_return std::string();
    }
    CO_TRY(source);
    std::string tar;
    while (true) {
        const auto bytes = co_await (*source)->read();
        CO_TRY(bytes);
        if (bytes->empty()) {
            co_return only_file_of(tar).value_or("");
        }
        tar += *bytes;
        if (tar.size() > 2 * longest_record) {
            co_return std::string();
        }
    }
}

std::string tar_folder(const std::string& name) {
    return ustar_header({.type = UstarEntry::Type::folder, .name = name, .mode = folder_mode});
}

std::string tar_file(const std::string& name, const std::string& content) {
    const UstarEntry entry{
        .name = name, .mode = file_mode, .size = static_cast<std::int64_t>(content.size())};
    return content.empty() ? "" : ustar_header(entry) + content + ustar_padding(entry);
}

// Some at a time, beside those that are in the new node's store already. The value: the latest first.
Task<Result<std::vector<OldJob>>> bring_records(ContainerEngine& engine, HandOver nodes,
                                                std::vector<std::string> ids) {
    const std::string top = layout::incoming_jobs;
    const auto base = top.substr(top.rfind('/') + 1) + "/";
    auto tar = tar_folder(base);
    std::vector<OldJob> jobs;
    for (auto& id : ids) {
        const auto from = fmt::format("{}/{}", jobs_before_stores, id);
        const auto summary = co_await read_file_in(engine, nodes.from, from + "/summary.json");
        CO_TRY(summary);
        const auto history = co_await read_file_in(engine, nodes.from, from + "/history.json");
        CO_TRY(history);
        tar += tar_folder(base + id + "/") + tar_file(base + id + "/summary.json", *summary) +
               tar_file(base + id + "/history.json", *history);
        const auto known = wire::parse_job_summary(*summary);
        jobs.push_back({.id = std::move(id), .ended_ms = known ? known->started_ms + known->duration_ms : 0});
        if (tar.size() > longest_record || jobs.size() == ids.size()) {
            tar += ustar_end();
            CO_TRY(co_await engine.put_archive(nodes.to, layout::store, tar));
            tar.clear();
        }
    }
    std::ranges::sort(jobs, std::ranges::greater{}, &OldJob::ended_ms);
    co_return jobs;
}

// Ends with an error where it gives more than it may.
class Limited final : public ByteSource {
public:
    Limited(std::unique_ptr<ByteSource> source, std::uint64_t& left)
        : source_(std::move(source)), left_(left) {}
    Task<Result<std::string>> read() override {
        auto bytes = co_await source_->read();
        if (bytes && bytes->size() > left_) {
            left_ = 0;
            co_return Error{.kind = ErrorKind::internal, .message = "that is too much"};
        }
        left_ -= bytes ? bytes->size() : 0;
        co_return bytes;
    }

private:
    std::unique_ptr<ByteSource> source_;
    std::uint64_t& left_;
};

// Stops at the first one for which there is no room: what has ended before that is older.
Task<void> bring_output(ContainerEngine& engine, HandOver nodes, std::vector<OldJob>& jobs,
                        std::uint64_t left) {
    for (auto& job : jobs) {
        if (left == 0) {
            break;
        }
        auto source =
            co_await engine.get_archive(nodes.from, fmt::format("{}/{}", jobs_before_stores, job.id));
        if (source) {
            job.whole = (co_await engine.put_archive(nodes.to, layout::incoming_jobs,
                                                     std::make_unique<Limited>(std::move(*source), left)))
                            .has_value();
        }
    }
}

// One line for each job, as `dockdist-init job adopt` reads them.
std::string adoption_of(const std::vector<OldJob>& jobs) {
    std::string lines;
    for (const auto& job : jobs) {
        lines += fmt::format("{} {}\n", job.whole ? "whole" : "record", job.id);
    }
    return lines;
}

// What the new node has refused, a line each.
Task<Result<std::vector<std::string>>> adopt(ContainerEngine& engine, ContainerId node, std::string lines) {
    auto exec = co_await start_command(engine, node, node_command({"job", "adopt"}));
    CO_TRY(exec);
    const auto id = (*exec)->id();
    ExecLines talk(std::move(*exec));
    CO_TRY(co_await talk.write(std::move(lines)));
    CO_TRY(co_await talk.close_input());
    std::vector<std::string> refused;
    while (true) {
        auto line = co_await talk.next_line();
        CO_TRY(line);
        if (!*line) {
            break;
        }
        refused.push_back(std::move(**line));
    }
    const auto state = co_await engine.inspect_exec(id);
    CO_TRY(state);
    if (state->exit_code != 0) {
        co_return Error{.kind = ErrorKind::node, .message = talk.err().substr(0, talk.err().find('\n'))};
    }
    co_return refused;
}

std::string names_of(const std::vector<OldJob>& jobs) {
    std::vector<std::string> names;
    for (const auto& job : jobs) {
        names.push_back(job.id);
    }
    const bool more = names.size() > most_named_jobs;
    names.resize(std::min(names.size(), most_named_jobs));
    return fmt::format("{}{}", fmt::join(names, ", "), more ? ", …" : "");
}

Errors left_behind_of(const NodeName& node, std::vector<OldJob> jobs, const std::vector<std::string>& refused,
                      std::uint64_t output_limit) {
    Errors errors;
    for (const auto& line : refused) {
        errors.push_back(
            {.kind = ErrorKind::node,
             .where = node.str(),
             .message = "what its old container kept of a job did not come: " + printable(line)});
    }
    std::erase_if(jobs, &OldJob::whole);
    if (!jobs.empty()) {
        errors.push_back(
            {.kind = ErrorKind::node,
             .where = node.str(),
             .message =
                 fmt::format("the output of {} of its old container did not come, their records did: "
                             "{} (at most {} are brought, the latest first)",
                             counted(jobs.size(), "job"), names_of(jobs), format_size(Bytes{output_limit}))});
    }
    return errors;
}

Task<Result<Errors>> hand_over(ContainerEngine& engine, HandOver nodes, std::vector<std::string> ids,
                               std::uint64_t output_limit) {
    auto jobs = co_await bring_records(engine, nodes, std::move(ids));
    CO_TRY(jobs);
    co_await bring_output(engine, nodes, *jobs, output_limit);
    const auto refused = co_await adopt(engine, nodes.to, adoption_of(*jobs));
    CO_TRY(refused);
    co_return left_behind_of(nodes.node, std::move(*jobs), *refused, output_limit);
}

} // namespace

Task<Result<Errors>> hand_over_jobs(ContainerEngine& engine, HandOver nodes, Reporter& reporter,
                                    std::uint64_t output_limit) {
    const auto diff = co_await engine.container_diff(nodes.from);
    if (!diff && diff.error().kind == ErrorKind::not_found) {
        co_return Errors{}; // it is gone
    }
    CO_TRY(diff);
    auto ids = jobs_in(*diff);
    if (ids.empty()) {
        co_return Errors{};
    }
    const auto count = counted(ids.size(), "job");
    Step step(reporter, "replace", nodes.node.str(), "bring the history of " + count);
    auto left = co_await hand_over(engine, nodes, std::move(ids), output_limit);
    if (!left) {
        step.failed(left.error().message);
        auto error = left.error();
        error.message =
            fmt::format("the history of {} could not be brought out of its old container, which stays: {}",
                        count, error.message);
        co_return error;
    }
    step.finished("brought the history of " + count);
    co_return left;
}

} // namespace dockdist
