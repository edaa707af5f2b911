#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/async/with_watch.hpp"
#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/looking/sampled_nodes.hpp"
#include "client/cli/output_file.hpp"
#include "client/cli/until_interrupt.hpp"
#include "client/prometheus/exposition.hpp"
#include "client/serve/http_server.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/units.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto interval_of_once = 1s;   // what a GPU does comes with a node's second sample
constexpr auto limit_of_once = 12s;     // nvidia-smi takes its time, and hangs where a GPU is lost
constexpr auto first_file_within = 20s; // also where something is missing
constexpr const char* default_listen = "127.0.0.1:9464";

struct MetricsOptions {
    std::string listen{}; // empty: the default, unless there is a text file
    bool anywhere = false;
    std::string text_file{};
    std::string interval = "15s";
    bool once = false;
};

OutputFile text_file(const MetricsOptions& options) {
    return {options.text_file, "--textfile"};
}

// For node_exporter, which tells of the file for as long as it is there: it is no longer than this object
// unless that is told to leave it.
class TextFile {
public:
    explicit TextFile(OutputFile file) : file_(std::move(file)) {}
    ~TextFile() {
        if (written_) {
            file_.remove();
        }
    }
    TextFile(const TextFile&) = delete;
    TextFile& operator=(const TextFile&) = delete;

    void leave() { written_ = false; }

    Status replace(const std::string& text) {
        auto written = file_.write(text);
        written_ = written_ || written.has_value();
        return written;
    }

private:
    OutputFile file_;
    bool written_ = false;
};

class MetricsCommand {
public:
    MetricsCommand(Context& context, const Connected& cluster, const MetricsOptions& options,
                   std::optional<HttpServer> server)
        : context_(context), cluster_(cluster), options_(options),
          interval_(options.once ? interval_of_once : parse_duration(options.interval).value_or(15s)),
          server_(std::move(server)), file_(text_file(options)), samples_(context, cluster, interval_) {}

    Task<int> once() {
        (void)co_await with_watch(first_round(), follow());
        context_.warn(samples_.missing());
        const bool some_up = std::ranges::any_of(
            samples_.nodes(), [](const SampledNode& node) { return node.up.value_or(false); });
        if (options_.text_file.empty()) {
            context_.print(text(ExpositionFormat::text));
        } else if (const auto written = file_.replace(text(ExpositionFormat::text)); !written) {
            co_return context_.fail(written.error());
        }
        file_.leave();
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
    Task<HttpReply> answer(HttpQuestion question) const {
        if (question.path == "/metrics") {
            const auto format = accepted_format(question.accept);
            co_return HttpReply{.body = text(format), .type = std::string(content_type(format))};
        }
        const bool root = question.path == "/";
        co_return HttpReply{.status = root ? 200U : 404U,
                            .body = root ? "dockdist: the figures are at /metrics\n" : "there is /metrics\n"};
    }
    void tell_address() const {
        const auto url = server_->url() + "/metrics";
        if (context_.json()) {
            context_.print_json({{"type", "listening"}, {"url", url}});
        } else {
            context_.reporter->on(
                {.kind = Event::Kind::note, .text = "Prometheus finds the figures at " + url});
        }
    }
    Task<Result<bool>> first_round() {
        co_await samples_.first_round(limit_of_once);
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
        co_await server_->serve([this](HttpQuestion question) { return answer(std::move(question)); });
        co_return ok;
    }
    Task<Status> write_files() {
        std::string told;
        co_await samples_.first_round(first_file_within);
        while (true) {
            const auto written = file_.replace(text(ExpositionFormat::text));
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
    std::optional<HttpServer> server_;
    TextFile file_;
    SampledNodes samples_;
};

Task<int> run_metrics(Context& context, MetricsOptions options) {
    if (!options.text_file.empty()) {
        if (const auto possible = text_file(options).check(); !possible) {
            co_return context.fail(possible.error());
        }
    }
    std::optional<HttpServer> server;
    if (!options.once && (!options.listen.empty() || options.text_file.empty())) {
        auto listening = HttpServer::listen(
            context.executor, options.listen.empty() ? default_listen : options.listen, options.anywhere,
            "is another `dockdist metrics` running? --listen takes another port");
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
    co_await until_interrupt(context, command.go_on());
    co_return 0; // Ctrl-C is how it ends
}

} // namespace

void add_metrics(CLI::App& app, Program& program) {
    auto options = std::make_shared<MetricsOptions>();
    auto* command = describe(
        app.add_subcommand("metrics",
                           "Serve metrics of the nodes and their GPUs to Prometheus, until Ctrl-C"),
        command_group::looking,
        {"dockdist metrics", "dockdist metrics --textfile /var/lib/prometheus/node-exporter/dockdist.prom",
         "dockdist metrics --once"});
    command
        ->add_option("--listen", options->listen,
                     "Where it can be scraped, over HTTP (default: 127.0.0.1:9464, with --textfile nowhere)")
        ->type_name("ADDRESS:PORT");
    command->add_flag(
        "--insecure-listen", options->anywhere,
        "Allow an address in --listen that other machines can reach: whoever reaches it can read everything");
    command
        ->add_option(
            "--textfile", options->text_file,
            "Write it into this file at each interval, whole each time, and remove it at the end: for "
            "node_exporter's textfile collector, whose files end in .prom")
        ->type_name("FILE");
    auto* interval =
        duration(command->add_option("--interval", options->interval, "How often the nodes are sampled"), 1s,
                 1h)
            ->capture_default_str();
    command->add_flag("--once", options->once, "Print it once, or write it into the file once")
        ->excludes(interval);
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_metrics(context, *options); };
    });
}

} // namespace dockdist
