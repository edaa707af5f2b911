#include "cli/context.hpp"
#include "core/host_list.hpp"
#include "core/text.hpp"
#include "spec/load_spec.hpp"
#include "spec/starter.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
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

// Of an engine address, a name or a range, what stands behind `- `; of a file, the list that it is.
std::string host_item(const std::string& word) {
    std::error_code ignored;
    if (word.find("://") != std::string::npos) {
        return word;
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

Errors check_hosts(const std::string& text, const std::string& file) {
    auto errors = load_spec(text, file, client_environment).errors;
    for (auto& error : errors) {
        error.where = "--hosts";
    }
    return errors;
}

// O_EXCL: a file that is there is never written over, not even one that appears in this moment.
Result<Ok> write_new(const std::string& path, std::string_view text) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        return Error{ErrorKind::usage, path,
                     errno == EEXIST ? "the file is there already" : std::strerror(errno),
                     errno == EEXIST ? "name another one: dockdist init FILE" : ""};
    }
    const auto written = write(fd, text.data(), text.size());
    if (close(fd) != 0 || written != static_cast<ssize_t>(text.size())) {
        return Error{ErrorKind::usage, path, "could not be written whole", "is the disk full?"};
    }
    return ok;
}

Task<int> run_init(Context& context, InitOptions options) {
    std::string text(starter_file(options.local));
    if (!options.hosts.empty()) {
        text = with_hosts(text, options.hosts);
        if (const auto errors = check_hosts(text, options.file); !errors.empty()) {
            co_return context.fail(errors);
        }
    }
    if (const auto written = write_new(options.file, text); !written) {
        co_return context.fail(written.error());
    }
    if (context.json()) {
        context.print_json({{"file", options.file}});
    } else {
        context.print(fmt::format("wrote {}\nnext: {}`dockdist up`\n", options.file,
                                  options.local           ? ""
                                  : options.hosts.empty() ? "put your hosts and image there, then "
                                                          : "put your image there, then "));
    }
    co_return 0;
}

} // namespace

void add_init(CLI::App& app, Program& program) {
    auto options = std::make_shared<InitOptions>();
    auto* command = app.add_subcommand("init", "Write a commented cluster.yaml to start from");
    auto* local = command->add_flag("--local", options->local, "Two nodes on this machine's own engine");
    command
        ->add_option("--hosts", options->hosts,
                     "The machines: names, addresses or ranges (gpu[001-128], ops@10.0.[0-3].[1-254], "
                     "tcp://10.0.0.1:2376), or a file that lists them; between commas, repeatable")
        ->allow_extra_args(false)
        ->excludes(local);
    command->add_option("FILE", options->file, "Where to write it")->capture_default_str();
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_init(context, *options); };
    });
}

} // namespace dockdist
