#include "cli/context.hpp"
#include "image/image_list.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

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
        context.print(to_text(list));
    }
    if (!list.errors.empty()) {
        co_return context.fail(list.errors);
    }
    co_return list.same_everywhere() ? 0 : 1;
}

} // namespace

void add_image(CLI::App& app, Program& program) {
    auto* image = app.add_subcommand("image", "The cluster's image on its hosts");
    image->require_subcommand(1);
    auto* list = image->add_subcommand(
        "ls", "Show what each host has of it, and where they differ; exit code 1 unless all have the same");
    list->add_option("FILE", program.options.file, "cluster.yaml, as with --file");
    list->callback([&program] { program.work = run_image_ls; });
    list->fallthrough();
}

} // namespace dockdist
