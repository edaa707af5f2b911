#include "async/pause.hpp"
#include "async/run_all.hpp"
#include "async/with_watch.hpp"
#include "cli/context.hpp"
#include "cli/line/values.hpp"
#include "cli/looking/sampled_nodes.hpp"
#include "core/exit_codes.hpp"
#include "core/units.hpp"
#include "prometheus/metrics_server.hpp"

#include <CLI/CLI.hpp>
#include <boost/system/system_error.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <unistd.h>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto first_round_limit = 20s; // nvidia-smi takes its time, and hangs where a GPU is lost
constexpr const char* default_listen = "127.0.0.1:9464";

struct MetricsOptions {
    std::string listen{}; // empty: the default, unless there is a text file
    bool anywhere = false;
    std::string text_file{};
    std::string interval = "15s";
    bool once = false;
};

// Who reads it sees the old text or the new one, whole.
Status replace_text(const std::string& path, const std::string& text) {
    const auto file = std::filesystem::path(path);
    const auto beside =
        file.parent_path() / ("." + file.filename().string() + "." + std::to_string(::getpid()));
    std::ofstream out(beside, std::ios::trunc);
    out << text;
    out.close();
    if (!out || std::rename(beside.c_str(), path.c_str()) != 0) {
        const auto why = std::string(std::strerror(errno));
        std::error_code ignored;
        std::filesystem::remove(beside, ignored);
        return Error{ErrorKind::usage, path, "cannot be written: " + why,
                     "give --textfile a file in a folder that you may write to"};
    }
    return ok;
}

class MetricsCommand {
public:
    MetricsCommand(Context& context, const Connected& cluster, const MetricsOptions& options,
                   std::optional<MetricsServer> server)
        : context_(context), cluster_(cluster), options_(options),
          interval_(parse_duration(options.interval).value_or(15s)), server_(std::move(server)),
          samples_(context, cluster, interval_) {}

    Task<int> once() {
        (void)co_await with_watch(first_round(), follow());
        const bool some_up = std::ranges::any_of(samples_.nodes(), &SampledNode::up);
        if (options_.text_file.empty()) {
            context_.print(text(ExpositionFormat::text));
        } else if (const auto written = replace_text(options_.text_file, text(ExpositionFormat::text));
                   !written) {
            co_return context_.fail(written.error());
        }
        co_return some_up ? 0 : exit_codes::failed;
    }

    Task<void> go_on() {
        std::vector<Task<Status>> tasks;
        tasks.push_back(follow_nodes());
        if (server_) {
            tell_address();
            tasks.push_back(serve());
        }
        if (!options_.text_file.empty()) {
            tasks.push_back(write_files());
        }
        co_await run_all(std::move(tasks));
    }

private:
    std::string text(ExpositionFormat format) const {
        return exposition(samples_.nodes(), cluster_.spec.name, DOCKDIST_VERSION, format);
    }
    void tell_address() const {
        const auto url = server_->url();
        if (context_.json()) {
            context_.print_json({{"type", "listening"}, {"url", url}});
        } else {
            context_.reporter->on(
                {.kind = Event::Kind::note, .text = "Prometheus finds the figures at " + url});
        }
    }
    Task<Result<bool>> first_round() {
        co_await samples_.first_round(first_round_limit);
        co_return true;
    }
    Task<Error> follow() {
        co_await samples_.follow();
        co_return Error{};
    }
    Task<Status> follow_nodes() {
        co_await samples_.follow();
        co_return ok;
    }
    Task<Status> serve() {
        co_await server_->serve([this](ExpositionFormat format) { return text(format); });
        co_return ok;
    }
    Task<Status> write_files() {
        std::string told;
        co_await samples_.first_round(first_round_limit);
        while (true) {
            const auto written = replace_text(options_.text_file, text(ExpositionFormat::text));
            const auto now = written ? std::string() : written.error().message;
            if (!now.empty() && now != told) {
                context_.reporter->on(warning_event(written.error()));
            }
            told = now;
            co_await pause_for(interval_);
        }
    }

    Context& context_;
    const Connected& cluster_;
    const MetricsOptions& options_;
    std::chrono::milliseconds interval_;
    std::optional<MetricsServer> server_;
    SampledNodes samples_;
};

Task<int> run_metrics(Context& context, MetricsOptions options) {
    std::optional<MetricsServer> server;
    if (!options.once && (!options.listen.empty() || options.text_file.empty())) {
        const auto address =
            parse_listen_address(options.listen.empty() ? default_listen : options.listen, options.anywhere);
        if (!address) {
            co_return context.fail(address.error());
        }
        auto listening = MetricsServer::listen(context.executor, *address);
        if (!listening) {
            co_return context.fail(listening.error());
        }
        server.emplace(std::move(*listening));
    }
    const auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    MetricsCommand command(context, cluster, options, std::move(server));
    if (options.once) {
        co_return co_await command.once();
    }
    try {
        co_await command.go_on();
    } catch (const boost::system::system_error&) {
        if (context.interrupts->count() == 0) {
            throw;
        }
    }
    co_return 0; // Ctrl-C is how it ends
}

} // namespace

void add_metrics(CLI::App& app, Program& program) {
    auto options = std::make_shared<MetricsOptions>();
    auto* command = describe(
        app.add_subcommand("metrics", "Tell Prometheus how busy the nodes and their GPUs are, until Ctrl-C"),
        command_group::looking,
        {"dockdist metrics", "dockdist metrics --textfile /var/lib/prometheus/node-exporter/dockdist.prom",
         "dockdist metrics --once"});
    command
        ->add_option("--listen", options->listen,
                     "Where it can be scraped, over HTTP (default: 127.0.0.1:9464, with --textfile nowhere)")
        ->type_name("ADDRESS:PORT");
    command->add_flag("--insecure-listen", options->anywhere,
                      "Take an address in --listen that other machines reach: whoever does can read it all");
    command
        ->add_option(
            "--textfile", options->text_file,
            "Write it into this file at each interval, whole each time: for node_exporter's textfile "
            "collector, whose files end in .prom")
        ->type_name("FILE");
    duration(command->add_option("--interval", options->interval, "How often the nodes are sampled"), 1s, 1h)
        ->capture_default_str();
    command->add_flag("--once", options->once, "Print it once, or write it into the file once");
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_metrics(context, *options); };
    });
}

} // namespace dockdist
