#include "client/image/send_image.hpp"

#include "client/async/cleanup.hpp"
#include "client/async/limiter.hpp"
#include "client/async/run_all.hpp"
#include "client/image/image_archive.hpp"
#include "client/image/registry_name.hpp"
#include "client/plan/plan.hpp"
#include "client/relay/relay_peers.hpp"
#include "shared/core/random.hpp"
#include "shared/core/units.hpp"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

// No relay has its disk filled by the one before it. Some engines count an image's files, some its blobs.
std::int64_t most_ahead(const ImageDetails& image) {
    constexpr std::uint64_t margin = 256 << 20;
    constexpr std::uint64_t most = 1ULL << 50U;
    return static_cast<std::int64_t>(margin + 4 * std::min(image.size.count, most));
}

// By a name alone, engines give all images of that name, whatever their tags.
ImageRef with_tag(const ImageRef& ref) {
    const auto name = split_ref(ref.str());
    return ImageRef(name.repository + ":" + name.tag);
}

class Sending {
public:
    Sending(const boost::asio::any_io_executor& executor, const ClusterSpec& spec, const Engines& engines,
            SendSetting setting, Reporter& reporter)
        : spec_(spec), engines_(engines), setting_(std::move(setting)), reporter_(reporter),
          is_read_(executor) {}

    Task<Errors> run() {
        make_relays();
        co_return co_await with_cleanup<Errors>(carry(), [this] { return clean_up(); });
    }

private:
    Task<Status> read() {
        Step step(reporter_, "image", setting_.source.name, "read " + setting_.ref.str());
        auto spool = co_await ImageSpool::fill(
            *setting_.source.engine, with_tag(setting_.ref),
            [&](std::uint64_t bytes) {
                step.progress("read " + setting_.ref.str(), bytes, std::nullopt);
                is_read_.notify();
            },
            growing_);
        is_read_.set();
        if (!spool) {
            auto error = spool.error();
            if (error.where.empty()) {
                error.where = setting_.source.name;
            }
            if (error.kind == ErrorKind::internal) { // the disk here
                error.message +=
                    fmt::format(" (the image has about {})", format_size(setting_.source.image.size));
            }
            if (error.message.find("no manifest found for platform") != std::string::npos) {
                error.hint = "that engine only hands out what is for its own machine: build or pull the "
                             "image there for that, or let hosts pull it from a registry";
            }
            step.failed(error.message);
            co_return error;
        }
        spool_ = std::move(*spool);
        step.finished("read");
        co_return ok;
    }

    void make_relays() {
        programs_.emplace(setting_.toolkits, setting_.hosts.size(),
                          [this](const Error& error) { reporter_.on(warning_event(error)); });
        const RelayRun run{.attempt = setting_.attempt, .origin = setting_.origin, .programs = &*programs_};
        for (const auto host : setting_.hosts) {
            auto relay = relay_setting(spec_.name, spec_.hosts[host], std::to_string(host), run);
            relay.place = {.type = Mount::Type::volume, .target = relay_folder};
            relays_.push_back(std::make_unique<ImageRelay>(*engines_[host], spec_.hosts[host].name.str(),
                                                           std::move(relay), random_hex(64),
                                                           most_ahead(setting_.source.image)));
        }
        failures_.resize(relays_.size());
    }

    void failed(std::size_t i, Error error) {
        if (!failures_[i]) {
            error.where = host_label(spec_.hosts[setting_.hosts[i]]);
            failures_[i] = std::move(error);
        }
    }

    Task<Errors> carry() {
        std::vector<Task<Status>> beginnings;
        beginnings.push_back(read());
        beginnings.push_back(start_relays());
        const auto begun = co_await run_all(std::move(beginnings));
        if (!begun.front()) {
            co_return Errors{begun.front().error()};
        }
        std::vector<Task<Status>> work;
        for (std::size_t i = 0; i < relays_.size(); ++i) {
            work.push_back(tell_image(i));
        }
        note(co_await run_all(std::move(work)));
        work.clear();
        for (std::size_t i = 0; i < relays_.size(); ++i) {
            if (!failures_[i]) {
                work.push_back(serve(i));
            }
        }
        work.push_back(pull_on_all());
        co_await run_all(std::move(work));
        Errors errors;
        for (auto& failure : failures_) {
            if (failure) {
                errors.push_back(std::move(*failure));
            }
        }
        co_return errors;
    }

    // While the image is being read. What is there of it goes to the first relay ahead, and from there to the
    // others; not where a host has an image of that name, of which most layers are likely to be there.
    Task<Status> start_relays() {
        std::vector<Task<Status>> starts;
        for (std::size_t i = 0; i < relays_.size(); ++i) {
            starts.push_back(start(i));
        }
        note(co_await run_all(std::move(starts)));
        std::vector<std::string> addresses;
        for (std::size_t i = 0; i < relays_.size(); ++i) {
            addresses.push_back(failures_[i] ? "" : relays_[i]->peer_address());
        }
        auto peers = make_peers(addresses);
        std::vector<Task<Status>> tellings;
        for (std::size_t i = 0; i < relays_.size(); ++i) {
            tellings.push_back(set_peers(i, std::move(peers[i])));
        }
        note(co_await run_all(std::move(tellings)));
        const auto first = std::ranges::find_if(failures_, [](const auto& failure) { return !failure; });
        if (first != failures_.end() && !has_other_) {
            // What breaks here breaks the host's pull as well, which tells it better.
            co_await relays_[static_cast<std::size_t>(first - failures_.begin())]->give_ahead(growing_,
                                                                                              is_read_);
        }
        co_return ok;
    }

    Task<Status> start(std::size_t i) {
        const auto there = co_await engines_[setting_.hosts[i]]->inspect_image(setting_.ref);
        has_other_ = has_other_ || there.has_value();
        co_return co_await relays_[i]->start();
    }

    void note(const std::vector<Status>& results) {
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (!results[i]) {
                failed(i, results[i].error());
            }
        }
    }

    Task<Status> set_peers(std::size_t i, wire::RelayPeers peers) {
        co_return failures_[i] ? Status(ok) : co_await relays_[i]->set_peers(std::move(peers));
    }

    Task<Status> tell_image(std::size_t i) {
        co_return failures_[i] ? Status(ok) : co_await relays_[i]->tell_image(*spool_);
    }

    // What breaks here breaks the host's pull as well, which tells it better.
    Task<Status> serve(std::size_t i) { co_return co_await relays_[i]->serve(); }

    Task<Status> pull_on_all() {
        std::vector<Task<Status>> pulls;
        for (std::size_t i = 0; i < relays_.size(); ++i) {
            pulls.push_back(pull_on(i));
        }
        note(co_await run_all(std::move(pulls)));
        // Only now: those behind read from those before.
        std::vector<Task<Status>> ends;
        for (const auto& relay : relays_) {
            ends.push_back(end(*relay));
        }
        co_await run_all(std::move(ends));
        co_await load_on_those_left();
        co_return ok;
    }

    // After the others have it: all of it goes over this machine's link.
    Task<void> load_on_those_left() {
        std::vector<std::size_t> left;
        std::vector<std::string> names;
        bool only_podman = true;
        for (std::size_t i = 0; i < relays_.size(); ++i) {
            if (!failures_[i] && relays_[i]->must_load()) {
                left.push_back(i);
                names.push_back(relays_[i]->host());
                only_podman = only_podman && relays_[i]->engine().podman();
            }
        }
        if (left.empty()) {
            co_return;
        }
        const auto size = ImageArchive(*spool_, full_name(setting_.ref)).size();
        reporter_.on(warning_event(load_notice(names, only_podman, size)));
        Limiter places(co_await boost::asio::this_coro::executor, most_loads);
        std::vector<Task<Status>> loads;
        for (const auto i : left) {
            loads.push_back(load_on(i, places));
        }
        const auto results = co_await run_all(std::move(loads));
        for (std::size_t n = 0; n < left.size(); ++n) {
            if (!results[n]) {
                failed(left[n], results[n].error());
            }
        }
    }

    Task<Status> load_on(std::size_t i, Limiter& places) {
        const auto place = co_await places.acquire();
        co_return co_await relays_[i]->load(setting_.ref, setting_.source.image.layers);
    }

    Task<Status> pull_on(std::size_t i) {
        co_return failures_[i]
            ? Status(ok)
            : co_await relays_[i]->pull(setting_.ref, setting_.source.image.layers, reporter_);
    }

    static Task<Status> end(ImageRelay& relay) {
        co_await relay.end();
        co_return ok;
    }

    Task<void> clean_up() {
        std::vector<Task<Status>> removals;
        for (const auto& relay : relays_) {
            removals.push_back(relay->clean_up());
        }
        co_await run_all(std::move(removals)); // what stays of a host that is gone bears our labels: down's
    }

    const ClusterSpec& spec_;
    const Engines& engines_;
    SendSetting setting_;
    Reporter& reporter_;
    GrowingFiles growing_{};
    AsyncEvent is_read_;     // notified when growing_ has more
    bool has_other_ = false; // some host has an image of that name
    std::optional<RelayPrograms> programs_{};
    std::unique_ptr<ImageSpool> spool_{};
    std::vector<std::unique_ptr<ImageRelay>> relays_{};
    std::vector<std::optional<Error>> failures_{};
};

} // namespace

Task<Errors> send_image(const ClusterSpec& spec, const Engines& engines, SendSetting setting,
                        Reporter& reporter) {
    const auto begin = std::chrono::steady_clock::now();
    reporter.on({.kind = Event::Kind::phase_started, .phase = "image"});
    Sending sending(co_await boost::asio::this_coro::executor, spec, engines, std::move(setting), reporter);
    auto errors = co_await sending.run();
    reporter.on({.kind = Event::Kind::phase_finished,
                 .phase = "image",
                 .elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
                     std::chrono::steady_clock::now() - begin)});
    co_return errors;
}

Task<Result<ImageSource>> find_image_source(ContainerEngine& engine, std::string name, ImageRef ref) {
    auto image = co_await engine.inspect_image(ref);
    if (!image) {
        auto error = image.error();
        error.where = name;
        if (error.kind == ErrorKind::not_found) {
            error.message = "the image " + ref.str() + " is not there";
            error.hint = "build or pull it there, or name another source (`image.from`, --from)";
        }
        co_return error;
    }
    co_return ImageSource{.engine = &engine, .name = std::move(name), .image = std::move(*image)};
}

} // namespace dockdist
