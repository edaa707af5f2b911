#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/engine/local_engine.hpp"
#include "client/engine/transport/connect_error.hpp"
#include "client/spec/load_spec.hpp"
#include "client/spec/names.hpp"
#include "client/spec/starter.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/loopback.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unistd.h>

namespace dockdist {
namespace {

struct InitOptions {
    bool local = false;
    std::string file = "cluster.yaml";
    std::vector<std::string> hosts{};
};

constexpr std::string_view trusted = "    insecure: true\n";
constexpr std::string_view trusted_perhaps =
    "    # insecure: true                # only where you trust everybody who reaches that port\n";

// Of an engine address, a name or a range, what stands behind `- `; of a file, the list that it is.
std::string host_item(const std::string& word) {
    std::error_code ignored;
    if (word.find("://") != std::string::npos) {
        return word;
    }
    if (word == "slurm") {
        return "from: slurm";
    }
    return std::filesystem::is_regular_file(word, ignored) // cluster.yaml may come to lie elsewhere
               ? "from: " + std::filesystem::absolute(word, ignored).lexically_normal().string()
               : "ssh://" + word;
}

// The starter with these hosts where it has an example's.
std::string with_hosts(std::string_view starter, const std::vector<std::string>& hosts) {
    std::string text;
    bool in_hosts = false;
    for (const auto& line : split(starter.substr(0, starter.find_last_not_of('\n') + 1), '\n')) {
        in_hosts = line == "hosts:" || (in_hosts && line.starts_with("  "));
        if (in_hosts && line != "hosts:") {
            continue;
        }
        text += line + "\n";
        for (const auto& list : in_hosts ? hosts : std::vector<std::string>()) {
            for (const auto& word : split_host_list(list)) {
                text += "  - " + host_item(word) + "\n";
            }
        }
    }
    return text;
}

// With a name, where its folder has none that a cluster could have.
std::string with_name(std::string_view starter, const std::string& file) {
    std::error_code ignored;
    const auto folder = std::filesystem::absolute(file, ignored).lexically_normal().parent_path().filename();
    const auto name = names_a_cluster(folder.string()) ? "" : "name: cluster-" + random_hex(2) + "\n\n";
    return name + std::string(starter);
}

// As a double-quoted word of YAML.
std::string quoted(const std::string& path) {
    return nlohmann::json(path).dump();
}

// Over the network, and nobody is asked for a key: the file has to say that this may be.
bool is_plain_tcp(const LocalEngine& engine) {
    const auto address = engine.context.empty() ? parse_engine_address(engine.url) : Error{};
    return address && address->scheme == EngineAddress::Scheme::tcp && !engine.tls &&
           !is_loopback(address->host);
}

// The local starter with what reaches this engine where it has an example's.
std::string with_engine(std::string_view starter, const LocalEngine& engine, std::string_view insecure) {
    std::string text;
    for (const auto& line : split(starter.substr(0, starter.find_last_not_of('\n') + 1), '\n')) {
        if (!line.starts_with("    docker: ")) {
            text += line + "\n";
            continue;
        }
        text += engine.context.empty() ? "    docker: " + engine.url + "\n"
                                       : "    context: " + engine.context + "\n";
        if (engine.tls) {
            text += fmt::format("    tls: {{ca: {}, cert: {}, key: {}}}\n", quoted(engine.tls->ca),
                                quoted(engine.tls->cert), quoted(engine.tls->key));
        }
        text += is_plain_tcp(engine) ? insecure : "";
    }
    return text;
}

// That the text is a good file, whose hosts stand in `where`.
Errors check_hosts(const std::string& text, const std::string& file, const std::string& where) {
    auto errors = load_spec(text, file, client_environment).errors;
    for (auto& error : errors) {
        error.where = where;
    }
    return errors;
}

// O_EXCL: a file that is there is never written over, not even one that appears in this moment.
Result<Ok> write_new(const std::string& path, std::string_view text) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        return Error{ErrorKind::usage, path,
                     errno == EEXIST ? "the file already exists" : std::strerror(errno),
                     errno == EEXIST ? "name another one: dockdist init FILE" : ""};
    }
    const auto written = write(fd, text.data(), text.size());
    if (close(fd) != 0 || written != static_cast<ssize_t>(text.size())) {
        return Error{ErrorKind::usage, path, "could not be written completely", "is the disk full?"};
    }
    return ok;
}

// The file says that its folder goes to every node.
Status judge_folder(const std::filesystem::path& file) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const auto folder = fs::weakly_canonical(fs::absolute(file, ignored).parent_path(), ignored);
    const auto home = fs::weakly_canonical(client_environment("HOME").value_or("/"), ignored);
    const auto below = home.lexically_relative(folder);
    if (below.empty() || *below.begin() == "..") {
        return ok;
    }
    return Error{ErrorKind::usage, folder.string(),
                 "your home folder would be copied to every node: `sync` in the file copies the folder that "
                 "the file is in",
                 "make a folder for it: mkdir train && cd train"};
}

// What of the environment makes no file.
Errors judge_engine(const LocalEngine& engine) {
    if (engine.lacks.empty()) {
        return {};
    }
    return {{ErrorKind::config, "DOCKER_TLS_VERIFY",
             fmt::format("there is no {}", fmt::join(engine.lacks, ", no ")),
             "TLS needs certificates on both sides: DOCKER_CERT_PATH names the folder "
             "with ca.pem, cert.pem and key.pem"}};
}

void tell_engine(const Context& context, const LocalEngine& engine, const std::string& file) {
    if (!engine.denied.empty()) {
        auto denied =
            connect_error({.path = engine.denied},
                          boost::system::errc::make_error_code(boost::system::errc::permission_denied));
        denied.message += engine.found ? ": the file has the engine of " + engine.said_by + " instead" : "";
        context.reporter->on(warning_event(denied));
    }
    if (is_plain_tcp(engine)) {
        context.reporter->on(warning_event(
            {.where = engine.said_by,
             .message = printable(engine.url) + " has no TLS: whoever reaches that port is root on the host",
             .hint = "on a network that you fully trust, uncomment `insecure: true` in " + file}));
    }
    if (engine.found && !context.json()) {
        context.tell(
            fmt::format("engine: {} ({})\n",
                        printable(engine.context.empty() ? engine.url : "the context " + engine.context),
                        engine.said_by));
    }
    if (engine.found || !engine.denied.empty()) {
        return;
    }
    context.reporter->on(
        {.kind = Event::Kind::warning,
         .text =
             fmt::format("no engine answers on this machine: looked at {}; start Docker "
                         "or Podman (`systemctl start docker`, or `podman.socket`), or set DOCKER_HOST, and "
                         "correct `docker:` in the file",
                         fmt::join(engine.looked_at, ", "))});
}

Task<int> run_init(Context& context, InitOptions options) {
    if (const auto judged = judge_folder(options.file); !judged) {
        co_return context.fail(judged.error());
    }
    auto text = with_name(starter_file(options.local), options.file);
    LocalEngine engine;
    Errors errors;
    if (options.local) {
        engine = find_local_engine(client_environment, connect_to_socket);
        errors = judge_engine(engine);
        if (errors.empty()) {
            errors = check_hosts(with_engine(text, engine, trusted), options.file, engine.said_by);
        }
        text = with_engine(text, engine, trusted_perhaps);
    } else if (!options.hosts.empty()) {
        text = with_hosts(text, options.hosts);
        errors = check_hosts(text, options.file, "--hosts");
    }
    if (!errors.empty()) {
        co_return context.fail(errors);
    }
    if (const auto written = write_new(options.file, text); !written) {
        co_return context.fail(written.error());
    }
    const auto training = (std::filesystem::path(options.file).parent_path() / "train.py").string();
    std::error_code ignored;
    const bool has_own = std::filesystem::exists(std::filesystem::symlink_status(training, ignored));
    if (!has_own) {
        if (const auto written = write_new(training, starter_training()); !written) {
            co_return context.fail(written.error());
        }
    }
    if (options.local) {
        tell_engine(context, engine, options.file);
    }
    if (context.json()) {
        nlohmann::json json{{"file", options.file}};
        if (!has_own) {
            json["training"] = training;
        }
        if (options.local) {
            json["engine"] = engine.context.empty() ? engine.url : engine.context;
            json["engine_by"] = engine.said_by;
            json["found"] = engine.found;
        }
        context.print_json(json);
    } else {
        context.tell(fmt::format("wrote {}{}\nnext: {}`dockdist up` and `dockdist run -- train.py`\n",
                                 options.file, has_own ? "" : " and " + training,
                                 is_plain_tcp(engine)    ? "decide on `insecure` there, then "
                                 : options.local         ? ""
                                 : options.hosts.empty() ? "put your hosts and image there, then "
                                                         : "put your image there, then "));
    }
    co_return 0;
}

} // namespace

void add_init(CLI::App& app, Program& program) {
    auto options = std::make_shared<InitOptions>();
    auto* command = describe(
        app.add_subcommand("init", "Write a commented cluster.yaml and a small train.py to start from"),
        command_group::cluster,
        {"dockdist init --hosts 'ops@gpu[001-016]'", "dockdist init --local", "dockdist init train.yaml"});
    auto* local = command->add_flag("--local", options->local,
                                    "Two nodes on this machine's own engine: the one that docker would use");
    command
        ->add_option("--hosts", options->hosts,
                     "The machines: names, addresses or ranges (gpu[001-128], ops@10.0.[0-3].[1-254], "
                     "tcp://10.0.0.1:2376), or a file that lists them; between commas, repeatable")
        ->allow_extra_args(false)
        ->type_name("LIST")
        ->excludes(local);
    command->add_option("FILE", options->file, "Where to write it")->capture_default_str();
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_init(context, *options); };
    });
}

} // namespace dockdist
