// What every command is given, and how commands are entered into the program.
#pragma once

#include "client/async/interrupts.hpp"
#include "client/async/task.hpp"
#include "client/image/registry_auth.hpp"
#include "client/image/send_image.hpp"
#include "client/observe/observe.hpp"
#include "client/report/fold_errors.hpp"
#include "client/report/reporter.hpp"
#include "client/spec/cluster_spec.hpp"
#include "client/spec/inventory.hpp"
#include "client/spec/load_spec.hpp"
#include "client/spec/node_words.hpp"
#include "shared/core/result.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace dockdist {

// Of templates/output.schema.json. It rises when a field goes or means another thing.
inline constexpr int output_schema = 1;

struct GlobalOptions {
    std::string file{};  // -f; empty: DOCKDIST_FILE, or cluster.yaml here or above
    std::string hosts{}; // --hosts; empty: DOCKDIST_HOSTS, or those of the file
    OutputFormat output = OutputFormat::text;
    bool timings = false;
    bool take_over = false; // another file's cluster of this name is meant
};

// Passes warnings and errors on, and keeps the progress of reads to itself: what `status` prints is its
// table. Whom it waits for is told where that lasts.
class QuietReporter : public ForwardingReporter {
public:
    using ForwardingReporter::ForwardingReporter;
    void on(const Event& event) override {
        using enum Event::Kind;
        if (event.kind == warning || event.kind == note || event.kind == asked || event.kind == answered) {
            next().on(event);
        } else if (event.kind == step_started) {
            next().on({.kind = asked, .subject = event.subject});
        } else if (event.kind == step_finished || event.kind == step_failed) {
            next().on({.kind = answered, .subject = event.subject});
        }
    }
};

// For what asks again and again, or on the side, and tells of it in its own way.
class SilentReporter : public Reporter {
public:
    void on(const Event&) override {}
    void error(const Error&) override {}
    void finish() override {}
};

struct Context {
    boost::asio::any_io_executor executor{};
    GlobalOptions options{};
    Reporter* reporter = nullptr;
    Interrupts* interrupts = nullptr;
    std::function<void(bool asking)> hold_output{}; // while somebody is asked on the terminal; may be empty
    std::shared_ptr<ClusterSize> size = std::make_shared<ClusterSize>(); // once the file is loaded
    // The lists of hosts that have been read: of several commands in one process all see the same hosts. (Of
    // an allocation that is ending, Slurm names fewer and fewer nodes.)
    std::shared_ptr<HostLists> host_lists = std::make_shared<HostLists>();

    // Data for people or programs: stdout.
    void print(std::string_view text) const;
    // Sentences for people: on a terminal they go on below where they are too wide for it.
    void tell(std::string_view lines) const;
    // What has been laid out for output(), foreign text in it made safe: tables, with their colours.
    void show(std::string_view drawn) const;
    OutputTraits output() const; // of stdout, as it is now
    // An object gets the version of the schema that it follows.
    void print_json(nlohmann::json json) const;
    void print_foreign_json(const nlohmann::json& json) const; // of others' making
    // How many rows a table may have before alike ones become one; `all`: no limit.
    std::size_t table_rows(bool all) const;
    void print_csv(std::string_view lines) const; // of CsvLine
    bool json() const { return options.output == OutputFormat::json; }
    bool csv() const { return options.output == OutputFormat::csv; }
    // Tells every error, people those that are alike in one; the exit code that they mean: 2 for a wrong file
    // or command line, else 1.
    int fail(const Errors& errors) const;
    int fail(const Error& error) const;
    void warn(const Errors& warnings) const;
};

// A variable of this process's environment.
std::optional<std::string> client_environment(const std::string& name);

// A command's work; the exit code is its result.
using Work = std::function<Task<int>(Context&)>;

// Where a parsed command leaves its work.
struct Program {
    GlobalOptions options{};
    Work work{};
    // Of `run`: what is wrong with the line as that of a batch job, by the file alone.
    std::function<Status(const ClusterSpec& spec)> judge_in_batch{};
    Errors remarks{};       // on the line, told before the work begins
    bool has_csv = false;   // it prints a table with -o csv
    bool one_value = false; // with -o json it prints one, which stands alone on stdout; else lines
    // Reads another command line, as if it stood behind `dockdist`: what it leaves, whose work wants a
    // context of the caller's. Errors: usage.
    std::function<Result<Program>(const std::vector<std::string>& words)> read{};
};

// The file that the options or DOCKDIST_FILE name, or that is found here or above. Errors: config; there is
// none.
struct ChosenFile {
    std::filesystem::path path{};
    bool found = false; // and not named
};
Result<ChosenFile> file_of(const GlobalOptions& options);
// What stands in it. One that is found is refused where anybody else could have written it: with its hosts,
// mounts, commands and `${…}` it would have what it likes of whoever comes by. Errors: config.
Result<SpecText> read_chosen(const ChosenFile& file);
Result<SpecText> read_file_of(const GlobalOptions& options); // both
// What stands in place of the file's `hosts`; empty: nothing does.
std::string hosts_of(const GlobalOptions& options);

// Loads the file that the options name, with the lists of hosts that it names. Prints its warnings; the
// errors are all of it.
struct Loaded {
    ClusterSpec spec{};
    Errors errors{};
};
// The file alone, without the hosts of the lists that it names.
LoadedSpec load_without_lists(const Context& context);
// Whether hosts are of an allocation of Slurm's.
bool names_slurm(const LoadedSpec& loaded);
// Secrets are read only for commands that need them: a token that this machine lacks is no reason to refuse
// `down`.
// Which secrets of the file are looked up: those of the containers, of image.build, or both.
enum class Secrets { leave, resolve, of_build, all };
Task<Loaded> load(const Context& context, Secrets secrets);
std::string user_and_machine();                 // USER@MACHINE: who runs dockdist, and where
std::string origin_of(const ClusterSpec& spec); // labels::origin

struct Connected {
    ClusterSpec spec{};
    Engines engines{};
    Errors errors{};
    std::vector<bool> only{}; // the hosts that have an engine; empty: all
};
// load() and an engine a host, not yet connected.
Task<Connected> connect(const Context& context, Secrets secrets = Secrets::leave);

// The nodes that are ready, of all that the file names; the errors say what is wrong with the others.
struct Attached {
    ClusterSpec spec{};
    Engines engines{};
    std::vector<ReadyNode> nodes{};
    Errors errors{};
    ObservedCluster observed{};
    std::vector<bool> reached{}; // hosts, by index; empty: none was asked
};
struct AttachOptions {
    Secrets secrets = Secrets::leave;
    // On the command line: judged before any host is asked. A host of other nodes alone is not asked, and has
    // no engine.
    std::vector<NodeWords> named{}; // empty: all nodes
    std::vector<NodeWords> excluded{};
    std::function<Status(const ClusterSpec& spec)> judge{}; // the rest of it: as early
    bool keep_going = false;  // whatever is there will do, be it less than `min_nodes`
    bool looks = false;       // changes nothing there: it may be another file's cluster
    Words words = Words::all; // nodes of other versions are errors, unless these will do
};
// With so many ready nodes that `min_nodes` is met, what is wrong with the others is a warning.
Task<Attached> attach_to_cluster(Context& context, AttachOptions options = {});
// What is wrong with nodes that a command does without: a line each.
void warn_of_missing(const Context& context, Errors errors);
// The one of the ready nodes that `words` mean, for commands that take one.
Result<ReadyNode> one_node(const Attached& cluster, const NodeWords& words);
// What is told where that has none: words that mean no node, unless they could not be held against any, as
// the file itself is wrong; else what keeps its host from being reached.
Errors why_no_node(const Attached& cluster, const Error& of_node);

// The user's login for the registry of an image; looked up when the function is called.
std::function<Task<Result<RegistryAuth>>()> registry_auth_of(const Context& context, const ImageRef& image);

// What to say when a build is asked for and the file has no `image.build`.
Error no_build_in_file(const ClusterSpec& spec);
enum class Build { never, if_missing, anew };
// Where the cluster's image comes from without a registry: `image.from` "local" is the engine that docker
// would use here, else one of the cluster's hosts. It is built there when the file says how (`image.build`).
// An empty function when `image.from` is empty. The cluster outlives it.
std::function<Task<Result<ImageSource>>()> image_source_of(const Context& context, const Connected& cluster,
                                                           Build build);

// An option's former name, which takes its values still, and stands in no help.
void add_former_name(CLI::App& command, const std::string& former, const std::string& now,
                     std::vector<std::string>& values, Program& program);

// One function a command, each in a file of its name, in the folder of its group in the help
// (line/values.hpp); all are entered in main's table.
void add_init(CLI::App& app, Program& program);
void add_validate(CLI::App& app, Program& program);
void add_plan(CLI::App& app, Program& program);
void add_up(CLI::App& app, Program& program);
void add_down(CLI::App& app, Program& program);
void add_setup(CLI::App& app, Program& program);
void add_status(CLI::App& app, Program& program);
void add_check(CLI::App& app, Program& program);
void add_run(CLI::App& app, Program& program);
void add_export(CLI::App& app, Program& program);
void add_gpus(CLI::App& app, Program& program);
void add_top(CLI::App& app, Program& program);
void add_jobs(CLI::App& app, Program& program);
void add_metrics(CLI::App& app, Program& program);
void add_page(CLI::App& app, Program& program);
void add_logs(CLI::App& app, Program& program);
void add_attach(CLI::App& app, Program& program);
void add_stacks(CLI::App& app, Program& program);
void add_diagnose(CLI::App& app, Program& program);
void add_stop(CLI::App& app, Program& program);
void add_wait(CLI::App& app, Program& program);
void add_exec(CLI::App& app, Program& program);
void add_ssh(CLI::App& app, Program& program);
void add_forward(CLI::App& app, Program& program);
void add_proxy(CLI::App& app, Program& program);
void add_ssh_config(CLI::App& app, Program& program);
void add_sync(CLI::App& app, Program& program);
void add_cp(CLI::App& app, Program& program);
void add_hostfile(CLI::App& app, Program& program);
void add_image(CLI::App& app, Program& program);
void add_data(CLI::App& app, Program& program);
void add_slurm(CLI::App& app, Program& program);
void add_version(CLI::App& app, Program& program);
void add_self_check(CLI::App& app, Program& program);
void add_help(CLI::App& app, Program& program);
void add_completion(CLI::App& app, Program& program);

} // namespace dockdist
