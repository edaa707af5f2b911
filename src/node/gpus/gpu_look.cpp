#include "node/gpus/gpu_look.hpp"

#include "node/system/amd_gpus.hpp"
#include "node/system/gpus.hpp"
#include "node/system/paths.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/smi.hpp"
#include "shared/wire/fields.hpp"

#include <algorithm>

namespace dockdist::node {
namespace {

Error unanswered(const Finished& answer) {
    Error error{.kind = ErrorKind::node,
                .message = "nvidia-smi does not answer within " + std::to_string(nvidia_smi_limit_ms / 1000) +
                           " s, so it is not known which GPUs are healthy",
                .hint = "look at it on the host, and for Xid errors in its dmesg; `--share` does not ask"};
    if (answer.code >= 0) {
        error.message = "nvidia-smi fails with code " + std::to_string(answer.code) + ": " +
                        printable(answer.output.substr(0, answer.output.find('\n')));
    }
    return error;
}

} // namespace

GpuLook::GpuLook(Loop& loop, Done when_done) : loop_(loop), when_done_(std::move(when_done)) {
    ask(smi_argv(SmiQuestion::gpus), &GpuLook::hear_gpus);
}

GpuLook::~GpuLook() {
    loop_.cancel(soon_);
}

void GpuLook::ask(std::vector<std::string> argv, void (GpuLook::*heard)(const Finished&)) {
    const auto helper = believed_helper(std::move(argv));
    if (!helper) {
        soon_ = loop_.after(0, [this, message = helper.error().message] {
            SeenGpus amd;
            for (auto& found : look_at_amd_gpus()) {
                amd.gpus.push_back(std::move(found.gpu));
            }
            if (!amd.gpus.empty()) {
                return tell(std::move(amd));
            }
            tell(
                Error{.kind = ErrorKind::not_found,
                      .message = has_amd_gpus(Environment::own())
                                     ? "the amdgpu driver shows no GPU to this container (/dev/kfd, /dev/dri)"
                                     : message});
        });
        return;
    }
    run_ = std::make_unique<HelperRun>(loop_, *helper, nvidia_smi_limit_ms,
                                       [this, heard](const Finished& answer) { (this->*heard)(answer); });
}

void GpuLook::hear_gpus(const Finished& answer) {
    const auto gpus = parse_gpus(answer.output);
    // It fails, and goes on with the others, where one has fallen off its bus.
    // It warns, and answers all the same, where an infoROM is corrupted.
    const bool told = gpus && !gpus->empty() && may_have_answered(answer.code);
    if (answer.code < 0 || (answer.code != 0 && !told && lost_gpus(answer.output).empty())) {
        return tell(unanswered(answer));
    }
    if (!gpus) {
        return tell(Error{.kind = ErrorKind::node, .message = gpus.error().message});
    }
    seen_.gpus = *gpus;
    if (std::ranges::none_of(seen_.gpus, &Gpu::mig)) {
        return tell(std::move(seen_));
    }
    ask(smi_argv(SmiQuestion::listing), &GpuLook::hear_instances);
}

void GpuLook::hear_instances(const Finished& answer) {
    auto instances = parse_mig(answer.output);
    const bool told = !instances.empty() && may_have_answered(answer.code);
    if (answer.code < 0 || (answer.code != 0 && !told && lost_gpus(answer.output).empty())) {
        return tell(unanswered(answer));
    }
    seen_.instances = std::move(instances);
    tell(std::move(seen_));
}

void GpuLook::tell(Result<SeenGpus> seen) {
    const auto when_done = when_done_;
    when_done(std::move(seen));
}

Result<SeenGpus> look_at_gpus() {
    Loop loop;
    Result<SeenGpus> found = Error{};
    const GpuLook look(loop, [&](Result<SeenGpus> seen) {
        found = std::move(seen);
        loop.stop();
    });
    loop.run();
    return found;
}

std::string look_at_topology() {
    const auto helper = believed_helper(smi_argv(SmiQuestion::topology));
    if (!helper) {
        return {};
    }
    auto answer = run_helper(*helper, nvidia_smi_limit_ms);
    return may_have_answered(answer.code) ? std::move(answer.output) : std::string();
}

void fields_of(auto& fields, wire::Of<KnownGpus> auto& known) {
    fields("cluster", known.cluster);
    fields("node", known.node);
    fields("slots", known.slots, 0, wire::any_int);
    fields("units", known.units);
    fields("topology", wire::bytes_of(known.topology));
}

Status save_known_gpus(const KnownGpus& known) {
    return replace_file(paths().known_gpus, wire::text_of(known), 0644, {::geteuid(), ::getegid()});
}

Result<KnownGpus> load_known_gpus() {
    const auto text = read_file(paths().known_gpus);
    if (!text) {
        return Error{.kind = ErrorKind::not_found, .message = text.error().message};
    }
    return wire::parse<KnownGpus>(*text, "the node's GPUs");
}

} // namespace dockdist::node
