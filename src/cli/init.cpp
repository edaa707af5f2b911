#include "cli/context.hpp"
#include "spec/starter.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace dockdist {
namespace {

struct InitOptions {
    bool local = false;
    std::string file = "cluster.yaml";
};

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
    if (const auto written = write_new(options.file, starter_file(options.local)); !written) {
        co_return context.fail(written.error());
    }
    if (context.json()) {
        context.print_json({{"file", options.file}});
    } else {
        context.print(fmt::format("wrote {}\nnext: {}`dockdist up`\n", options.file,
                                  options.local ? "" : "put your hosts and image there, then "));
    }
    co_return 0;
}

} // namespace

void add_init(CLI::App& app, Program& program) {
    auto options = std::make_shared<InitOptions>();
    auto* command = app.add_subcommand("init", "Write a commented cluster.yaml to start from");
    command->add_flag("--local", options->local, "Two nodes on this machine's own engine");
    command->add_option("FILE", options->file, "Where to write it")->capture_default_str();
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_init(context, *options); };
    });
}

} // namespace dockdist
