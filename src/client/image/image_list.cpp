#include "client/image/image_list.hpp"

#include "client/async/run_all.hpp"
#include "client/container/same_image.hpp"
#include "client/plan/architecture.hpp"
#include "client/plan/plan.hpp"
#include "client/report/error_text.hpp"
#include "client/report/table.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/digest/sha256.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace dockdist {
namespace {

Task<Result<ImageRow>> look(ContainerEngine& engine, const HostSpec& host, ImageRef ref) {
    ImageRow row{.host = host.name.str(), .reached = true};
    auto image = co_await engine.inspect_image(ref);
    if (image) {
        row.chain_id = chain_id(image->layers);
        row.image = std::move(*image);
    } else if (image.error().kind != ErrorKind::not_found) {
        auto error = image.error();
        error.where = host_label(host);
        co_return error;
    }
    co_return row;
}

std::vector<std::string> cells_of(const ImageRow& row, const std::string& ref) {
    if (!row.reached || !row.image) {
        return {row.host, row.reached ? "absent" : "unreachable", "-", "-", "-", "-", "-"};
    }
    const auto& image = *row.image;
    const auto& created = image.created;
    return {row.host,
            ref,
            short_image_id(image.id),
            row.chain_id.empty() ? "-" : short_image_id(row.chain_id),
            format_size(image.size),
            image.architecture.empty() ? "-" : image.architecture,
            created.size() < 16 ? "-" : created.substr(0, 10) + " " + created.substr(11, 5)};
}

} // namespace

std::string chain_id(const std::vector<std::string>& diff_ids) {
    std::string chain;
    for (const auto& diff_id : diff_ids) {
        chain = chain.empty() ? diff_id : sha256_of(chain + " " + diff_id);
    }
    return chain;
}

bool ImageList::same_everywhere() const {
    return errors.empty() && !images_differ(groups) &&
           std::ranges::all_of(rows, [](const ImageRow& row) { return row.image.has_value(); });
}

Task<ImageList> list_images(const ClusterSpec& spec, const Engines& engines) {
    std::vector<Task<Result<ImageRow>>> tasks;
    for (std::size_t host = 0; host < engines.size(); ++host) {
        tasks.push_back(look(*engines[host], spec.hosts[host], spec.image.ref));
    }
    auto rows = co_await run_all(std::move(tasks));
    ImageList list{.ref = spec.image.ref};
    ObservedCluster cluster;
    for (std::size_t host = 0; host < rows.size(); ++host) {
        if (rows[host]) {
            list.rows.push_back(std::move(*rows[host]));
        } else {
            list.rows.push_back({.host = spec.hosts[host].name.str()});
            list.errors.push_back(rows[host].error());
        }
        cluster.hosts.push_back({.image = list.rows.back().image});
    }
    list.groups = image_groups(cluster);
    co_return list;
}

Task<LackingHosts> hosts_without(const ImageList& list, const ImageDetails& image, const ClusterSpec& spec,
                                 const Engines& engines) {
    LackingHosts lacking;
    std::vector<Task<Result<EngineInfo>>> questions;
    for (std::size_t i = 0; i < list.rows.size(); ++i) {
        const auto& row = list.rows[i];
        if (row.reached && (!row.image || !same_image(*row.image, image))) {
            lacking.hosts.push_back(i);
            questions.push_back(engines[i]->info());
        }
    }
    const auto answers = co_await run_all(std::move(questions));
    std::vector<std::size_t> fitting;
    for (std::size_t n = 0; n < answers.size(); ++n) {
        const auto host = lacking.hosts[n];
        const auto& there = list.rows[host].image;
        auto refusal = answers[n] ? judge_source(spec.image, image, *answers[n]) : std::nullopt;
        if (!refusal) { // an engine that does not answer breaks the sending as well
            fitting.push_back(host);
        } else if (!there || judge_source(spec.image, *there, *answers[n])) {
            lacking.errors.push_back({ErrorKind::config, host_label(spec.hosts[host]),
                                      std::move(refusal->message), std::move(refusal->hint)});
        }
    }
    lacking.hosts = std::move(fitting);
    co_return lacking;
}

std::string to_text(const ImageList& list, const OutputTraits& output) {
    Table table({{.title = "HOST", .narrow = Narrow::middle},
                 {.title = "IMAGE", .narrow = Narrow::middle, .least = 14},
                 {.title = "ID", .give_up = 5},
                 {.title = "LAYERS", .give_up = 2},
                 {.title = "SIZE", .align = Align::right, .give_up = 4},
                 {.title = "ARCH", .give_up = 1},
                 {.title = "CREATED", .give_up = 3}});
    std::vector<std::string> names;
    for (const auto& row : list.rows) {
        table.add_row(cells_of(row, list.ref.str()));
        names.push_back(row.host);
    }
    auto text = table.to_text(std::numeric_limits<std::size_t>::max(), output);
    if (images_differ(list.groups)) {
        std::string differences = "\nit is not the same on every host:\n";
        for (const auto& group : list.groups) {
            differences += "  " + printable(to_text(group, names)) + "\n";
        }
        text += laid_out(std::move(differences), output);
    }
    return text;
}

} // namespace dockdist
