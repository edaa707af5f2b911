#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/image/image_list.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/core/random.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

nlohmann::json to_json(const ImageList& list, const ClusterSpec& spec) {
    auto hosts = nlohmann::json::array();
    for (const auto& row : list.rows) {
        nlohmann::json json{{"host", row.host},
                            {"state", !row.reached ? "unreachable"
                                      : !row.image ? "absent"
                                                   : "present"}};
        if (row.image) {
            json.update({{"id", row.image->id},
                         {"chain_id", row.chain_id},
                         {"layers", row.image->layers},
                         {"tags", row.image->repo_tags},
                         {"digests", row.image->repo_digests},
                         {"size", row.image->size.count},
                         {"architecture", row.image->architecture},
                         {"os", row.image->os},
                         {"created", row.image->created}});
        }
        hosts.push_back(std::move(json));
    }
    return {{"cluster", spec.name.str()},
            {"image", list.ref.str()},
            {"same", list.same_everywhere()},
            {"hosts", std::move(hosts)}};
}

Task<int> run_image_ls(Context& context) {
    auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    const auto list = co_await list_images(cluster.spec, cluster.engines);
    if (context.json()) {
        context.print_json(to_json(list, cluster.spec));
    } else {
        context.show(to_text(list, context.output()));
    }
    if (!list.errors.empty()) {
        co_return context.fail(list.errors);
    }
    co_return list.same_everywhere() ? 0 : 1;
}

struct PushOptions {
    std::string from{};
    std::string ref{};
    bool build = false; // anew, before that
};

void print_pushed(const Context& context, const ClusterSpec& spec, const std::vector<std::size_t>& sent) {
    if (context.json()) {
        nlohmann::json json{
            {"type", "result"}, {"image", spec.image.ref.str()}, {"sent", nlohmann::json::array()}};
        for (const auto host : sent) {
            json["sent"].push_back(spec.hosts[host].name.str());
        }
        context.print_json(json);
        return;
    }
    context.tell(sent.empty() ? fmt::format("{} is on every host already\n", spec.image.ref.str())
                              : fmt::format("{} is on every host: sent to {} of {}\n", spec.image.ref.str(),
                                            sent.size(), spec.hosts.size()));
}

Task<int> run_image_push(Context& context, PushOptions options) {
    auto cluster = co_await connect(context, Secrets::of_build);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    auto& spec = cluster.spec;
    if (options.build && !spec.image.build) {
        co_return context.fail(no_build_in_file(spec));
    }
    if (!options.ref.empty() && ImageRef(options.ref) != spec.image.ref) {
        spec.image.ref = ImageRef(options.ref);
        spec.image.build.reset(); // that is another image
        spec.image.platform.clear();
    }
    if (!options.from.empty()) {
        const auto* const host = find_host(spec, options.from);
        spec.image.from = host == nullptr ? options.from : host->name.str();
    } else if (spec.image.from.empty()) {
        spec.image.from = "local";
    }
    const auto find = image_source_of(context, cluster, options.build ? Build::anew : Build::if_missing);
    const auto source = co_await find();
    if (!source) {
        co_return context.fail(source.error());
    }
    auto list = co_await list_images(spec, cluster.engines);
    auto lacking = co_await hosts_without(list, source->image, spec, cluster.engines);
    std::ranges::move(lacking.errors, std::back_inserter(list.errors));
    const auto& hosts = lacking.hosts;
    if (!hosts.empty()) {
        auto errors = co_await send_image(spec, cluster.engines,
                                          {.ref = spec.image.ref,
                                           .source = *source,
                                           .hosts = hosts,
                                           .toolkits = toolkits(),
                                           .attempt = random_hex(8),
                                           .origin = origin_of(spec)},
                                          *context.reporter);
        std::ranges::move(errors, std::back_inserter(list.errors));
    }
    context.reporter->finish();
    if (!list.errors.empty()) {
        co_return context.fail(list.errors);
    }
    print_pushed(context, spec, hosts);
    co_return 0;
}

} // namespace

void add_image(CLI::App& app, Program& program) {
    auto* image = describe(
        app.add_subcommand("image", "Which image each host has; copy or build it without a registry"),
        command_group::files, {"dockdist image ls", "dockdist image push train:1", "dockdist image build"});
    image->require_subcommand(1);
    auto* list = image->add_subcommand(
        "ls", "Show which image each host has, and where they differ; exit code 1 unless all have the same");
    list->callback([&program] {
        program.one_value = true;
        program.work = run_image_ls;
    });
    list->fallthrough();
    auto options = std::make_shared<PushOptions>();
    auto* push = image->add_subcommand(
        "push", "Copy an image to every host that lacks it or has another, without a registry");
    push->add_option("REF", options->ref, "The image (default: the cluster's)");
    push->add_option(
            "--from", options->from,
            "local (the engine that docker uses here) or a host's name (default: `image.from`, else local)")
        ->type_name("SOURCE");
    push->callback([options, &program] {
        program.work = [options](Context& context) { return run_image_push(context, *options); };
    });
    push->fallthrough();
    auto* build = image->add_subcommand(
        "build", "Build it on one host, as `image.build` in the file says, and copy it to the others");
    build->callback([&program] {
        program.work = [](Context& context) { return run_image_push(context, {.build = true}); };
    });
    build->fallthrough();
}

} // namespace dockdist
