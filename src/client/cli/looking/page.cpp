#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/cli/browser.hpp"
#include "client/cli/context.hpp"
#include "client/cli/host_answers.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/looking/cluster_jobs.hpp"
#include "client/cli/looking/node_feeds.hpp"
#include "client/cli/report_file.hpp"
#include "client/cli/until_interrupt.hpp"
#include "client/job/follow_job.hpp"
#include "client/job/job_histories.hpp"
#include "client/job/job_screen.hpp"
#include "client/job/page/cluster_page.hpp"
#include "client/job/page/job_page.hpp"
#include "client/serve/http_server.hpp"
#include "client/top/top_screen.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <string_view>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto sample_interval = 2s;
constexpr auto refresh_every = 5s;      // of a page that somebody has open
constexpr auto old_after = 3s;          // what all who look at about the same time share
constexpr auto at_first_within = 10s;   // of the nodes, before the first page
constexpr std::int64_t last_lines = 40; // of each rank
constexpr std::size_t most_lines = 1000;
constexpr std::size_t key_digits = 32;

struct PageOptions {
    std::string listen = "127.0.0.1:0";
    bool anywhere = false;
    bool open = false;
};

class TextSink : public OutputSink {
public:
    void write(int, const Displayable& text) override { text_ += text.bytes(); }
    std::vector<std::string> last_lines() const {
        auto lines = split(text_, '\n');
        lines.erase(lines.begin(), lines.size() > most_lines ? lines.end() - most_lines : lines.begin());
        return lines;
    }

private:
    std::string text_{};
};

class PageCommand {
public:
    PageCommand(Context& context, const Connected& cluster, const PageOptions& options, HttpServer server)
        : context_(context), cluster_(cluster), options_(options), server_(std::move(server)),
          way_("/" + random_hex(key_digits) + "/"),
          feeds_(context, cluster, {}, static_cast<int>(std::chrono::milliseconds(sample_interval).count()),
                 {.sample = [this](std::size_t node, const wire::SampleFacts& facts,
                                   wire::Sample sample) { model_.hear(node, facts, std::move(sample)); },
                  .trouble = [this](std::size_t node, const Error& why) { model_.lose(node, why.message); }}),
          model_(cluster.spec.name.str(), feeds_.names()), jobs_(context, cluster, feeds_) {}

    Task<void> go_on() {
        std::vector<Task<Status>> tasks;
        tasks.push_back(follow_nodes());
        tasks.push_back(serve());
        co_await run_all(std::move(tasks));
    }

private:
    Task<Status> follow_nodes() { co_return co_await feeds_.run(); }

    Task<Status> serve() {
        const auto url = server_.url() + way_;
        if (context_.json()) {
            context_.print_json({{"type", "listening"}, {"url", url}});
        } else {
            context_.reporter->on({.kind = Event::Kind::note,
                                   .text = cluster_.spec.name.str() + " is at " + url + " until Ctrl-C"});
        }
        if (options_.open) {
            open_browser(context_, url);
        }
        co_await server_.serve([this](HttpQuestion question) { return answer(std::move(question)); });
        co_return ok;
    }

    // Whoever is on this machine reaches the port: the key is in the address.
    Task<HttpReply> answer(HttpQuestion question) {
        std::string_view path = question.path;
        if (!path.starts_with(way_)) {
            co_return HttpReply{.status = 404,
                                .body = "use the complete address that `dockdist page` printed\n"};
        }
        path.remove_prefix(way_.size());
        co_await look();
        if (path.empty()) {
            co_return page(overview());
        }
        constexpr std::string_view of_job = "job/";
        const auto* job = path.starts_with(of_job)
                              ? exact_job(jobs_.jobs(), JobId(std::string(path.substr(of_job.size()))))
                              : nullptr;
        if (job == nullptr) {
            co_return HttpReply{.status = 404, .body = "there is no such job any more\n"};
        }
        co_return page(co_await page_of(*job));
    }

    static HttpReply page(std::string text) {
        return {.body = std::move(text), .type = "text/html; charset=utf-8"};
    }

    Task<void> look() {
        (void)co_await with_timeout(found(), at_first_within, Error{});
        co_await jobs_.refresh(old_after);
    }
    Task<Status> found() {
        (void)co_await feeds_.first_found();
        co_return ok;
    }

    std::string overview() const {
        ClusterPage page{.cluster = cluster_.spec.name.str(),
                         .time = report_time(),
                         .version = DOCKDIST_VERSION,
                         .refresh_s = static_cast<int>(refresh_every.count()),
                         .nodes = cells_of(top_table(model_, TopView::nodes, 0, true)),
                         .notes = top_notes(model_),
                         .gpus = gpu_tables(jobs_.hosts(), host_names(cluster_.spec))};
        for (const auto& job : jobs_.jobs()) {
            page.jobs.push_back(report_of(job));
        }
        return cluster_page(page);
    }

    Task<std::string> page_of(KnownJob job) const {
        const auto histories = co_await fetch_histories(cluster_.engines, nodes_of(job), job.job);
        TextSink text;
        JobScreen lines({.out = no_terminal, .err = no_terminal, .merged = true}, text);
        (void)co_await follow_job(cluster_.engines, job, {.to_the_end = false, .tail = last_lines}, lines);
        lines.finish();
        co_return job_page(report_of(job), histories.nodes,
                           {.cluster = cluster_.spec.name.str(),
                            .time = report_time(),
                            .version = DOCKDIST_VERSION,
                            .output = text.last_lines(),
                            .way_back = "../",
                            .refresh_s = static_cast<int>(refresh_every.count())});
    }

    Context& context_;
    const Connected& cluster_;
    const PageOptions& options_;
    HttpServer server_;
    std::string way_;
    NodeFeeds feeds_;
    TopModel model_;
    ClusterJobs jobs_;
};

Task<int> run_page(Context& context, PageOptions options) {
    auto server = HttpServer::listen(context.executor, options.listen, options.anywhere,
                                     "--listen takes another port, 0 any");
    if (!server) {
        co_return context.fail(server.error());
    }
    const auto cluster = co_await connect(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    PageCommand command(context, cluster, options, std::move(*server));
    co_await until_interrupt(context, command.go_on());
    co_return 0; // Ctrl-C is how it ends
}

} // namespace

void add_page(CLI::App& app, Program& program) {
    auto options = std::make_shared<PageOptions>();
    auto* command =
        describe(app.add_subcommand("page", "Show the cluster and its jobs in a web browser, until Ctrl-C"),
                 command_group::looking, {"dockdist page --open", "dockdist page --listen 127.0.0.1:8080"});
    command
        ->add_option("--listen", options->listen,
                     "Where this machine serves it (port 0: any that is free); the address that is "
                     "printed has a key in it, without which nobody sees anything")
        ->type_name("ADDRESS:PORT")
        ->capture_default_str();
    command->add_flag("--insecure-listen", options->anywhere,
                      "Allow an address in --listen that other machines can reach: it is plain "
                      "text, and whoever has the whole address can read everything");
    command->add_flag("--open", options->open, "Show it in this machine's web browser");
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_page(context, *options); };
    });
}

} // namespace dockdist
