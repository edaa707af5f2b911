#include "client/cluster/toolkit_bringer.hpp"

#include "client/async/run_all.hpp"
#include "shared/core/text.hpp"
#include "shared/digest/sha256.hpp"
#include "shared/wire/layout.hpp"

#include <boost/asio/this_coro.hpp>

#include <set>

namespace dockdist {
namespace {

constexpr const char* toolkit_repository = "dockdist-toolkit";
constexpr const char* image_init = "/bin/dockdist-init"; // in the image that the tar is

// A container that runs: it hands the toolkit on, or copies it into the volume.
ContainerConfig running(ContainerConfig config) {
    config.command = {"relay", "hold"};
    config.network_mode = "host";
    config.user = "0:0";
    return config;
}

// A host that does not answer is not made to miss a second deadline.
bool is_silent(const Error& error) {
    return error.kind == ErrorKind::unreachable || error.kind == ErrorKind::timeout;
}

} // namespace

std::string toolkit_image(const std::string& version) {
    return toolkit_repository + (":" + version);
}

void ToolkitBringer::expect(const std::vector<UploadToolkit>& uploads) {
    hand_on_.clear();
    std::map<std::string, std::size_t> hosts;
    for (const auto& upload : uploads) {
        ++hosts[upload.architecture];
    }
    for (const auto& [architecture, count] : hosts) {
        const auto& toolkit = *toolkits_.of(architecture);
        const auto tar = toolkit.tar();
        if (HandOn::is_worth_it(count, tar.size())) {
            hand_on_[architecture] =
                std::make_unique<HandOn>(HandedOn{.repository = toolkit_repository,
                                                  .tag = toolkit.version,
                                                  .digest = sha256_of({tar.data(), tar.size()})},
                                         [this](const Error& error) { reporter_.on(warning_event(error)); });
        }
    }
}

HandOn* ToolkitBringer::hand_on_of(const UploadToolkit& upload) const {
    const auto found = hand_on_.find(upload.architecture);
    return found == hand_on_.end() ? nullptr : found->second.get();
}

std::span<const char> ToolkitBringer::tar_of(const UploadToolkit& upload) const {
    return toolkits_.of(upload.architecture)->tar(); // the plan has one for every architecture that it names
}

// Empty: another host of the file is the same engine.
Task<Result<ContainerId>> ToolkitBringer::create(const UploadToolkit& upload, ContainerConfig config,
                                                 Step& step) {
    auto id = co_await engines_[upload.host]->create_container(upload.container_name, std::move(config));
    if (!id && id.error().kind == ErrorKind::conflict) { // the name is this attempt's own
        step.finished("another host of the file is the same engine, and uploads it");
        co_return ContainerId();
    }
    co_return id;
}

Task<Status> ToolkitBringer::until_there(Task<Brought> work) {
    ++working_;
    const auto brought = co_await std::move(work);
    --working_;
    if (done_) {
        done_->notify();
    }
    CO_TRY(brought);
    while (!*brought && working_ > 0) { // nobody can say which one it is
        if (!done_) {
            done_ = std::make_unique<AsyncEvent>(co_await boost::asio::this_coro::executor);
        }
        co_await done_->wait_for_change();
    }
    co_return ok;
}

Task<Status> ToolkitBringer::bring(UploadToolkit upload) {
    return until_there(hand_on_of(upload) != nullptr ? bring_there(std::move(upload))
                                                     : upload_there(std::move(upload)));
}

Task<Status> ToolkitBringer::upload(UploadToolkit upload) {
    return until_there(upload_there(std::move(upload)));
}

Task<ToolkitBringer::Brought> ToolkitBringer::bring_there(UploadToolkit upload) {
    Step step(reporter_, "create", spec_.hosts[upload.host].name.str(), "bring toolkit");
    if (co_await fetch(upload, step)) {
        images_[upload.host] = hand_on_of(upload)->what().image();
        auto brought = co_await unpack(upload, step);
        if (brought) {
            co_return brought;
        }
        if (is_silent(brought.error())) {
            step.failed(brought.error().message);
            co_return brought;
        }
        step.progress("upload toolkit", std::nullopt, std::nullopt); // which tells this host's own trouble
        hand_on_of(upload)->begin_from_here();
    }
    auto put_there = co_await put(upload, step);
    if (!put_there) {
        step.failed(put_there.error().message);
    }
    hand_on_of(upload)->ended(put_there.has_value());
    co_return put_there;
}

Task<bool> ToolkitBringer::fetch(const UploadToolkit& upload, Step& step) {
    return hand_on_of(upload)->fetch(
        *engines_[upload.host], host_label(spec_.hosts[upload.host]),
        [&](const std::string& text, std::optional<std::uint64_t> bytes) {
            images_[upload.host] = hand_on_of(upload)->what().image(); // also of what comes too late
            step.progress(bytes ? text + " toolkit" : "toolkit " + text, bytes, tar_of(upload).size());
        });
}

void ToolkitBringer::add_giver(const UploadToolkit& upload, const ContainerId& container) {
    const auto host = upload.host;
    hand_on_of(upload)->add_giver({.engine = engines_[host].get(),
                                   .host = spec_.hosts[host].name.str(),
                                   .address = spec_.hosts[host].address,
                                   .interface = spec_.hosts[host].interface,
                                   .subnets = spec_.hosts[host].subnets,
                                   .container = container,
                                   .command = {layout::init, "relay", "give"}});
}

// As the image that other hosts gave, and the right one.
Task<ToolkitBringer::Brought> ToolkitBringer::unpack(const UploadToolkit& upload, Step& step) {
    auto& engine = *engines_[upload.host];
    auto config = running(upload.config);
    config.image = hand_on_of(upload)->what().image();
    config.platform.clear(); // an engine calls what it imports its own architecture's
    config.entrypoint = {image_init};
    const auto id = co_await create(upload, std::move(config), step);
    if (!id || id->empty()) {
        co_return id ? Brought(false) : id.error();
    }
    auto status = co_await engine.start_container(*id);
    if (status) {
        const auto copied =
            co_await run_command(engine, *id, {.command = {image_init, "relay", "unpack"}, .user = "0:0"});
        status = !copied                  ? Status(copied.error())
                 : copied->exit_code == 0 ? Status(ok)
                                          : Status(Error{ErrorKind::node, "", printable(copied->err), ""});
    }
    if (!status) {
        co_await engine.remove_container(*id);
        co_return status.error();
    }
    containers_[upload.host] = *id;
    step.finished("toolkit received");
    add_giver(upload, *id);
    co_return true;
}

// From here; its container goes on to hand it on.
Task<ToolkitBringer::Brought> ToolkitBringer::put(const UploadToolkit& upload, Step& step) {
    auto& engine = *engines_[upload.host];
    const auto id = co_await create(upload, running(upload.config), step);
    if (!id || id->empty()) {
        co_return id ? Brought(false) : id.error();
    }
    containers_[upload.host] = *id;
    step.progress("upload toolkit", std::nullopt, tar_of(upload).size());
    CO_TRY(co_await engine.put_archive(*id, layout::toolkit, tar_of(upload)));
    if (const auto started = co_await engine.start_container(*id); started) {
        add_giver(upload, *id);
    } else if (is_silent(started.error())) {
        co_return started.error();
    } // else others get it elsewhere
    step.finished("toolkit uploaded");
    co_return true;
}

Task<ToolkitBringer::Brought> ToolkitBringer::upload_there(UploadToolkit upload) {
    auto& engine = *engines_[upload.host];
    Step step(reporter_, "create", spec_.hosts[upload.host].name.str(), "upload toolkit");
    const auto id = co_await create(upload, upload.config, step);
    if (id && id->empty()) {
        co_return false;
    }
    auto status = id ? Status(ok) : Status(id.error());
    if (id) {
        step.progress("upload toolkit", std::nullopt, tar_of(upload).size());
        status = co_await engine.put_archive(*id, layout::toolkit, tar_of(upload));
        const auto removed = co_await engine.remove_container(*id);
        status = status ? removed : status;
    }
    if (!status) {
        step.failed(status.error().message);
        co_return status.error();
    }
    step.finished("toolkit uploaded");
    co_return true;
}

// What stays of a host that is gone bears our labels: down's.
Task<Status> ToolkitBringer::clear(std::size_t host) {
    if (const auto there = containers_.find(host); there != containers_.end()) {
        if (auto removed = co_await engines_[host]->remove_container(there->second); !removed) {
            co_return removed;
        }
    }
    if (images_.contains(host)) {
        co_return co_await engines_[host]->remove_image(images_.at(host));
    }
    co_return ok;
}

Task<void> ToolkitBringer::end() {
    std::set<std::size_t> hosts;
    for (const auto& [host, image] : images_) {
        hosts.insert(host);
    }
    for (const auto& [host, container] : containers_) {
        hosts.insert(host);
    }
    std::vector<Task<Status>> tasks;
    for (const auto host : hosts) {
        tasks.push_back(clear(host));
    }
    co_await run_all(std::move(tasks));
    containers_.clear();
    images_.clear();
}

} // namespace dockdist
