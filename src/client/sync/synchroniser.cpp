#include "client/sync/synchroniser.hpp"

#include "client/async/run_all.hpp"
#include "client/report/step.hpp"
#include "client/sync/plan_writer.hpp"
#include "shared/core/random.hpp"
#include "shared/tree/read_tree.hpp"

#include <algorithm>
#include <filesystem>

namespace dockdist {
namespace {

using Kind = wire::SyncMessage::Kind;
using Flags = wire::OpenedFlags;

constexpr std::chrono::milliseconds progress_interval{100};

std::string token_name(const std::string& id, std::size_t lane) {
    return std::string(wire::temporary_prefix) + "token-" + id + "-" + std::to_string(lane);
}

} // namespace

Errors SyncedTree::errors() const {
    Errors all;
    for (const auto& node : nodes) {
        all.insert(all.end(), node.errors.begin(), node.errors.end());
    }
    return all;
}

Synchroniser::Synchroniser(const Engines& engines, std::vector<ReadyNode> nodes, Options options,
                           Reporter& reporter)
    : engines_(engines), options_(std::move(options)), reporter_(reporter) {
    lanes_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        lanes_[i].node = std::move(nodes[i]);
        lanes_[i].exec =
            options_.execs.empty() ? SyncExec{.opening = options_.opening} : std::move(options_.execs[i]);
    }
}

// A lane whose work fails keeps its error, loses its stream, and takes no part in what follows.
Task<void> Synchroniser::on_all(Work work) {
    std::vector<Task<Status>> tasks;
    std::vector<Lane*> at_work;
    for (auto& lane : lanes_) {
        if (lane.result.errors.empty() && lane.result.shared_with.empty()) {
            tasks.push_back(work(lane));
            at_work.push_back(&lane);
        }
    }
    if (tasks.empty()) {
        co_return;
    }
    const auto results = co_await run_all(std::move(tasks));
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i]) {
            at_work[i]->result.errors.push_back(results[i].error());
            at_work[i]->stream.reset();
        }
    }
}

Task<Status> Synchroniser::ready(Lane& lane) {
    if (!lane.stream) {
        auto stream =
            co_await NodeStream::open(*engines_[lane.node.host], lane.node.id, lane.node.name, lane.exec);
        CO_TRY(stream);
        lane.stream = std::move(*stream);
    }
    co_return ok;
}

// Problems become errors of the lane; other messages go to the handler.
NodeStream::Handler Synchroniser::collecting(Lane& lane, NodeStream::Handler handler) const {
    return [&lane, handler = std::move(handler)](wire::SyncMessage message) {
        if (message.kind == Kind::problem) {
            lane.stopped = lane.stopped || (message.size & wire::ProblemFlags::final) != 0;
            lane.result.errors.push_back(lane.stream->problem(message));
        } else if (handler) {
            handler(std::move(message));
        }
    };
}

Task<Status> Synchroniser::open(Lane& lane, const std::string& folder, bool make) {
    CO_TRY(co_await ready(lane));
    std::string messages;
    wire::append(messages, {.kind = Kind::open, .size = make ? 1U : 0U, .text = folder});
    co_return co_await lane.stream->ask(std::move(messages), collecting(lane, [&lane](auto message) {
                                            if (message.kind == Kind::opened) {
                                                lane.there = (message.size & Flags::there) != 0;
                                                lane.maybe_shared = (message.size & Flags::maybe_shared) != 0;
                                            }
                                        }));
}

// Each node that may share the folder leaves a file of its own there, and looks for those of the ones before
// it.
Task<void> Synchroniser::find_shared() {
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        if (lanes_[i].maybe_shared && lanes_[i].result.errors.empty()) {
            candidates.push_back(i);
        }
    }
    if (candidates.size() < 2 || options_.dry_run || !options_.share) {
        co_return;
    }
    const auto id = random_hex(16);
    const auto number = [this](const Lane& lane) { return static_cast<std::size_t>(&lane - lanes_.data()); };
    co_await on_all([&](Lane& lane) -> Task<Status> {
        std::string messages;
        if (lane.maybe_shared) {
            wire::append(messages, {.kind = Kind::token, .text = token_name(id, number(lane))});
        }
        return lane.stream->ask(std::move(messages), collecting(lane));
    });
    std::vector<std::size_t> leader(lanes_.size());
    co_await on_all([&](Lane& lane) -> Task<Status> {
        const auto own = number(lane);
        leader[own] = own;
        std::string messages;
        for (const auto other : candidates) {
            if (lane.maybe_shared && other < own) {
                wire::append(messages, {.kind = Kind::look, .text = token_name(id, other)});
            }
        }
        return lane.stream->ask(std::move(messages), collecting(lane, [&, own](auto message) {
                                    for (const auto other : candidates) {
                                        if (message.kind == Kind::seen && message.size == 1 &&
                                            message.text == token_name(id, other)) {
                                            leader[own] = std::min(leader[own], other);
                                        }
                                    }
                                }));
    });
    co_await on_all([&](Lane& lane) -> Task<Status> {
        std::string messages;
        wire::append(messages, {.kind = Kind::forget, .text = token_name(id, number(lane))});
        return lane.stream->ask(std::move(messages), collecting(lane));
    });
    for (const auto i : candidates) {
        if (leader[i] != i && lanes_[i].result.errors.empty()) {
            lanes_[i].result.shared_with = lanes_[leader[i]].node.name.str();
        }
    }
}

Task<Status> Synchroniser::list(Lane& lane, Comparison& comparison) {
    for (auto folders = comparison.folders_to_list(); lane.there && !folders.empty();
         folders = comparison.folders_to_list()) {
        std::string messages;
        for (const auto& folder : folders) {
            wire::append(messages, {.kind = Kind::list, .name = folder});
        }
        auto listed =
            co_await lane.stream->ask(std::move(messages), collecting(lane, [&comparison](auto message) {
                                          if (message.kind == Kind::entry && !message.name.empty()) {
                                              comparison.node_has(wire::to_entry(std::move(message)));
                                          }
                                      }));
        if (!listed) {
            co_return listed;
        }
    }
    co_return ok;
}

Task<Status> Synchroniser::settle_doubts(Lane& lane, const LocalTree& tree, Comparison& comparison) {
    const auto doubts = comparison.doubts();
    if (doubts.empty()) {
        co_return ok;
    }
    auto folder = options_.origin != nullptr ? Result<Folder>(Folder()) : Folder::open(tree.path);
    CO_TRY(folder);
    std::string messages;
    for (const auto entry : doubts) {
        wire::append(messages, {.kind = Kind::digest, .name = tree.entries[entry].name});
    }
    co_return co_await lane.stream->ask(
        std::move(messages), collecting(lane, [&](auto message) {
            const auto at = tree.index.find(message.name);
            if (message.kind != Kind::hashed || at == tree.index.end() || message.text.empty()) {
                return;
            }
            auto& own = digests_[at->second];
            if (!own && folder->open()) { // once for all nodes
                const auto digest = digest_file(*folder, tree.local_name(tree.entries[at->second]));
                own = digest ? *digest : "";
            }
            if (own == message.text) {
                comparison.same_content(at->second);
            }
        }));
}

Task<Status> Synchroniser::write_plan(Lane& lane, const LocalTree& tree, SyncPlan plan,
                                      std::vector<std::string>& unsettled,
                                      std::function<void(std::uint64_t)> sent) {
    PlanWriter writer{.tree = tree,
                      .plan = plan,
                      .write = [&lane](const std::string& messages) { return lane.stream->write(messages); },
                      .stopped = [&lane] { return lane.stopped; },
                      .sent = std::move(sent),
                      .unsettled = unsettled};
    const auto handler = collecting(lane);
    std::vector<Task<Status>> both;
    both.push_back(lane.stream->read_until_done(handler));
    both.push_back(writer.run());
    for (const auto& status : co_await run_all(std::move(both))) {
        CO_TRY(status);
    }
    co_return ok;
}

Task<Status> Synchroniser::send(Lane& lane, const LocalTree& tree, std::vector<std::string>& unsettled) {
    Step step(reporter_, "sync", lane.node.name.str(), "sending");
    auto last = std::chrono::milliseconds{0};
    const auto total = lane.result.plan.bytes;
    const auto written =
        co_await write_plan(lane, tree, lane.result.plan, unsettled, [&](std::uint64_t bytes) {
            lane.sent += bytes;
            if (step.elapsed() - last >= progress_interval) {
                last = step.elapsed();
                step.progress("sending", lane.sent, total);
            }
        });
    if (!written) {
        step.failed("broke off");
    } else if (lane.result.errors.empty()) {
        step.finished("sent");
    } else {
        step.failed("could not take all");
    }
    co_return written;
}

Task<Status> Synchroniser::compare_and_send(Lane& lane, const LocalTree& tree, CompareOptions compare,
                                            std::vector<std::string>& unsettled) {
    Comparison comparison(tree, compare);
    if (auto listed = co_await list(lane, comparison); !listed) {
        co_return listed;
    }
    if (auto settled = co_await settle_doubts(lane, tree, comparison); !settled) {
        co_return settled;
    }
    lane.result.plan = comparison.plan();
    if (lane.result.plan.actions.empty() || options_.dry_run) {
        co_return ok;
    }
    co_return co_await send(lane, tree, unsettled);
}

void Synchroniser::reset_lanes() {
    for (auto& lane : lanes_) {
        lane.result = {.node = lane.node.name};
        lane.comparison.reset();
        lane.sent = 0;
        lane.stopped = lane.there = lane.maybe_shared = false;
    }
}

Task<SyncedTree> Synchroniser::sync(const LocalTree& tree, std::string target, CompareOptions compare) {
    const auto folder = tree.single.empty() ? target : std::filesystem::path(target).parent_path().string();
    digests_.assign(tree.entries.size(), std::nullopt);
    reset_lanes();
    co_await on_all([&](Lane& lane) { return open(lane, folder, !options_.dry_run); });
    co_await find_shared();
    SyncedTree synced;
    if (options_.carry) {
        co_await compare_and_carry(tree, compare, synced.unsettled);
    } else {
        co_await on_all([&](Lane& lane) { return compare_and_send(lane, tree, compare, synced.unsettled); });
    }
    std::ranges::sort(synced.unsettled);
    const auto twice = std::ranges::unique(synced.unsettled);
    synced.unsettled.erase(twice.begin(), twice.end());
    for (auto& lane : lanes_) {
        synced.nodes.push_back(std::move(lane.result));
        lane.result = {};
    }
    co_return synced;
}

Task<std::vector<std::string>> Synchroniser::find_sharing(std::string folder) {
    reset_lanes();
    co_await on_all([&](Lane& lane) { return open(lane, folder, false); });
    co_await find_shared();
    std::vector<std::string> with;
    for (const auto& lane : lanes_) {
        with.push_back(lane.result.shared_with);
    }
    reset_lanes(); // who has no such folder, or may not write there, shares nothing: no error
    co_return with;
}

Task<Result<NodeStream*>> Synchroniser::stream(std::size_t node) {
    CO_TRY(co_await ready(lanes_.at(node)));
    co_return lanes_[node].stream.get();
}

Task<Result<wire::TreeEntry>> Synchroniser::look(std::string path) {
    auto& lane = lanes_.front();
    CO_TRY(co_await ready(lane));
    wire::TreeEntry found;
    std::string messages;
    wire::append(messages, {.kind = Kind::stat, .text = path});
    auto asked = co_await lane.stream->ask(std::move(messages), [&](auto message) {
        if (message.kind == Kind::entry) {
            found = wire::to_entry(std::move(message));
        }
    });
    CO_TRY(asked);
    co_return found;
}

} // namespace dockdist
