#include "fakes/fake_engine.hpp"
#include "fakes/text_source.hpp"

#include <utility>

namespace dockdist {
Task<Result<std::unique_ptr<ByteSource>>> FakeEngine::export_image(ImageRef ref) {
    const auto begun = co_await begin("export_image " + ref.str());
    CO_TRY(begun);
    const auto found = exports.find(ref.str());
    if (found == exports.end()) {
        co_return error(ErrorKind::not_found, "No such image: " + ref.str());
    }
    co_return text_source(found->second);
}

Task<Status> FakeEngine::load_image(std::unique_ptr<ByteSource> tar, std::uint64_t size,
                                    std::function<void(std::uint64_t)> on_sent) {
    const auto begun = co_await begin("load_image");
    if (!begun) {
        co_return begun;
    }
    auto& got = loads.emplace_back();
    while (got.size() < size) {
        const auto bytes = co_await tar->read();
        CO_TRY(bytes);
        if (bytes->empty()) {
            co_return error(ErrorKind::internal, "the tar is shorter than was said");
        }
        got += *bytes;
        on_sent(got.size());
    }
    images[loaded_name] = loaded;
    co_return ok;
}

Task<Status> FakeEngine::import_image(std::string repository, std::string tag, std::span<const char>) {
    const auto name = repository + ":" + tag;
    const auto begun = co_await begin("import_image " + name);
    if (begun) {
        add_image(name);
    }
    co_return begun;
}

Task<Status> FakeEngine::tag_image(ImageRef ref, std::string repository, std::string tag) {
    const auto name = repository + ":" + tag;
    const auto begun = co_await begin("tag_image " + ref.str() + " " + name);
    if (begun) {
        images[name] = images[ref.str()];
    }
    co_return begun;
}

Task<Status> FakeEngine::remove_image(ImageRef ref) {
    const auto begun = co_await begin("remove_image " + ref.str());
    if (begun) {
        images.erase(ref.str());
    }
    co_return begun;
}

void FakeEngine::on_build(const std::string& reference, std::vector<BuildOutput> output,
                          std::optional<Error> with) {
    if (with && with->where.empty()) {
        with->where = host_.str();
    }
    builds_[reference] = {std::move(output), std::move(with)};
}

Task<Result<Builder>> FakeEngine::builder(bool) {
    co_return builder_is; // no call: the engine has said it in its answer to the ping
}

Task<Result<std::string>> FakeEngine::build_image(BuildConfig config, std::span<const char> tar,
                                                  std::function<void(const BuildOutput&)> on_output) {
    const auto name = config.reference.str();
    const auto call = "build_image " + name;
    build_config = std::move(config);
    build_tar.assign(tar.begin(), tar.end());
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    const auto build = builds_[name];
    for (const auto& output : build.output) {
        if (on_output) {
            on_output(output);
        }
    }
    if (build.error) {
        co_return *build.error;
    }
    add_image(name);
    if (take_lost(call)) {
        co_return lost();
    }
    co_return images[name].id;
}

Task<Result<std::vector<VolumeDetails>>> FakeEngine::list_volumes(std::vector<std::string> labels) {
    const auto begun = co_await begin("list_volumes");
    CO_TRY(begun);
    std::vector<VolumeDetails> result;
    for (const auto& [name, volume] : volumes) {
        if (has_labels(volume.labels, labels)) {
            result.push_back(volume);
        }
    }
    co_return result;
}

Task<Result<VolumeDetails>> FakeEngine::create_volume(std::string name, Labels labels) {
    const std::string call = "create_volume " + name;
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    const auto& there = volumes.try_emplace(name, VolumeDetails{name, std::move(labels)}).first->second;
    if (take_lost(call)) {
        co_return lost();
    }
    co_return there;
}

} // namespace dockdist
