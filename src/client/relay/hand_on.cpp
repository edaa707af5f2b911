#include "client/relay/hand_on.hpp"

#include "client/async/pause.hpp"
#include "client/async/with_timeout.hpp"
#include "client/async/with_watch.hpp"
#include "client/container/image_address.hpp"
#include "client/relay/relay_program.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/relay.hpp"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

namespace dockdist {
namespace {

constexpr int most_at_once = 2; // of one giver: the more that give, the less each has to, and one may hang
constexpr std::size_t most_givers = 3;           // that one engine tries
constexpr std::chrono::seconds answer_limit{10}; // of a giver, to be ready
constexpr std::chrono::seconds ask_limit{5};     // of the other engine, to ask the giver for it
constexpr std::chrono::seconds idle_limit{30};   // the giver itself gives up earlier
constexpr std::chrono::seconds import_limit{120};

Error broke_off(ExecLines& lines) {
    const auto said = printable(lines.err().substr(0, lines.err().find('\n')));
    return {ErrorKind::node, "", "it broke off" + (said.empty() ? "" : " (" + said + ")"), ""};
}

} // namespace

void HandOn::changed() {
    if (changed_) {
        changed_->notify();
    }
}

void HandOn::begin_from_here() {
    ++from_here_;
    ++coming_;
}

void HandOn::ended(bool has_it) {
    --coming_;
    from_here_ -= has_it ? 0U : 1U;
    changed();
}

void HandOn::add_giver(Giver giver) {
    sources_.push_back({std::move(giver)});
    changed();
}

// The one that gives to the fewest; nullptr when none is left to try and none is to come, or when one is to
// get it from here.
Task<HandOn::Source*> HandOn::next_source(std::set<const Source*> tried) {
    while (true) {
        Source* best = nullptr;
        bool busy = false;
        for (auto& source : sources_) {
            if (source.bad || tried.contains(&source)) {
                continue;
            }
            busy = busy || source.giving >= most_at_once;
            if (source.giving < most_at_once && (best == nullptr || source.giving < best->giving)) {
                best = &source;
            }
        }
        if (best != nullptr || (!busy && coming_ == 0) || from_here_ < most_from_here) {
            co_return best;
        }
        if (!changed_) {
            changed_ = std::make_unique<AsyncEvent>(co_await boost::asio::this_coro::executor);
        }
        co_await changed_->wait_for_change();
    }
}

Task<bool> HandOn::fetch(ContainerEngine& engine, std::string where, Told told) {
    std::set<const Source*> tried;
    while (from_here_ >= most_from_here && tried.size() < most_givers) {
        auto* source = co_await next_source(tried);
        if (source == nullptr) {
            break;
        }
        tried.insert(source);
        ++source->giving; // before anybody else looks
        ++coming_;
        const bool came = co_await take_from(*source, engine, where, told);
        --source->giving;
        --coming_;
        changed();
        if (came) {
            co_return true;
        }
    }
    begin_from_here();
    co_return false;
}

Task<Result<bool>> HandOn::has_it(ContainerEngine& engine) {
    const auto there = co_await engine.inspect_image(what_.image());
    if (!there) {
        co_return there.error().kind == ErrorKind::not_found ? Result<bool>(false) : there.error();
    }
    if (there->layers == std::vector{what_.digest}) {
        co_return true;
    }
    const auto removed = co_await engine.remove_image(what_.image());
    co_return removed ? Result<bool>(false) : removed.error();
}

Task<bool> HandOn::take_from(Source& source, ContainerEngine& engine, const std::string& where,
                             const Told& told) {
    if (const auto there = co_await has_it(engine); there && *there) {
        co_return true; // of a client that was killed
    }
    const auto imported = co_await import_from(source, engine, told);
    const auto right = imported ? co_await has_it(engine) : Result<bool>(imported.error());
    if (right && !*right) {
        source.bad = true;
        warn_({ErrorKind::protocol, where,
               fmt::format("what came from {} was not what it should have passed on, and was removed",
                           source.host),
               "does something between these two hosts alter their traffic?"});
    } else if (!right && told) {
        told(fmt::format("not from {}: {}", source.host, right.error().message), std::nullopt);
    }
    co_return right && *right;
}

Task<Status> HandOn::import_from(Source& source, ContainerEngine& engine, const Told& told) {
    std::string url;
    auto lines = co_await begin_giving(source, random_hex(64), url);
    CO_TRY(lines);
    co_return co_await with_watch(engine.pull_image(image_at(url, what_.repository, what_.tag), "", "", {}),
                                  watch(**lines, told));
}

Task<Result<std::unique_ptr<ExecLines>>> HandOn::begin_giving(const Source& source, std::string token,
                                                              std::string& url) {
    auto exec =
        co_await start_command(*source.engine, source.container,
                               {.command = source.command, .user = fmt::format("{0}:{0}", relay_account)});
    CO_TRY(exec);
    auto lines = std::make_unique<ExecLines>(std::move(*exec));
    const wire::RelayOpening opening{
        .token = token, .address = source.address, .interface = source.interface, .subnets = source.subnets};
    CO_TRY(co_await lines->write(wire::to_line(opening)));
    const auto line = co_await with_timeout(lines->next_line(), answer_limit,
                                            Error{ErrorKind::timeout, "", "it does not answer", ""});
    CO_TRY(line);
    const auto message = *line ? wire::parse_relay_message(**line) : Result<wire::RelayMessage>(Error{});
    if (!message || message->type != wire::RelayMessage::Type::listening || message->peer_port == 0) {
        co_return broke_off(*lines);
    }
    url = "http://" + address_and_port(message->address, message->peer_port) + "/" + token;
    co_return lines;
}

// Ends when it is of no use to wait for the other engine any longer.
Task<Error> HandOn::watch(ExecLines& lines, Told told) {
    using Type = wire::RelayMessage::Type;
    Error late{ErrorKind::timeout, "", "the engine does not reach it", ""};
    for (auto limit = ask_limit;;) {
        const auto line = co_await with_timeout(lines.next_line(), limit, late);
        CO_TRY(line);
        const auto message = *line ? wire::parse_relay_message(**line) : Result<wire::RelayMessage>(Error{});
        if (!message || (message->type != Type::progress && message->type != Type::done)) {
            co_return broke_off(lines);
        }
        if (message->type == Type::done) {
            co_await pause_for(import_limit);
            co_return Error{ErrorKind::timeout, "", "the engine has all of it, and has not finished", ""};
        }
        if (told) {
            told("receive", static_cast<std::uint64_t>(message->bytes));
        }
        limit = idle_limit;
        late.message = fmt::format("nothing moved for {} s", idle_limit.count());
    }
}

} // namespace dockdist
