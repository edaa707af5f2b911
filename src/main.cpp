// Builds the objects, runs the one io_context, returns the exit code.
#include "async/recurring.hpp"
#include "cli/context.hpp"
#include "core/descriptors.hpp"
#include "core/exit_codes.hpp"
#include "engine/docker_engine.hpp"
#include "report/held_sink.hpp"
#include "report/output.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace {

using namespace dockdist;

constexpr std::chrono::milliseconds tick{100};

// An empty word is what a script's unset variable leaves (`stop "$JOB"`), and means nothing anywhere. Of a
// command to be run it is the program alone that must have a name.
void refuse_empty_words(CLI::App& app) {
    for (auto* option : app.get_options({})) {
        if (option->get_items_expected_max() > 0) {
            const bool is_command = option->get_positional() && option->get_items_expected_max() > 1;
            // Before the option's own checks, which say something else of it.
            option->transform(CLI::Validator(
                                  [](const std::string& word) {
                                      return std::string(word.empty() ? "must not be empty" : "");
                                  },
                                  "", "not empty")
                                  .application_index(is_command ? 0 : -1));
        }
    }
    for (auto* command : app.get_subcommands({})) {
        refuse_empty_words(*command);
    }
}

void add_commands(CLI::App& app, Program& program) {
    for (const auto add :
         {add_init, add_validate, add_plan, add_up,       add_down,  add_status, add_check,  add_run,
          add_jobs, add_gpus,     add_logs, add_attach,   add_stop,  add_wait,   add_exec,   add_ssh,
          add_sync, add_setup,    add_cp,   add_hostfile, add_image, add_data,   add_version}) {
        add(app, program);
    }
    for (auto* command : app.get_subcommands({})) {
        command->fallthrough(); // -f and -o may stand behind the command's name
    }
    refuse_empty_words(app);
}

int run(const Program& program, Reporter& reporter, HeldSink& sink) {
    boost::asio::io_context io(1);
    on_terminal_questions(io.get_executor(), [&sink](bool asking) { sink.hold(asking); });
    Interrupts interrupts;
    boost::asio::cancellation_signal cancel;
    interrupts.handle_with([&] { cancel.emit(boost::asio::cancellation_type::terminal); });
    SignalWatch signals(io.get_executor(), {SIGINT, SIGTERM}, [&] { interrupts.interrupt(); });
    SignalWatch hangups(io.get_executor(), {SIGHUP}, [&] { interrupts.hang_up(); });
    std::optional<Ticker> ticker;
    if (reporter.moves()) {
        ticker.emplace(io.get_executor(), tick, [&] { reporter.tick(); });
    }

    Context context{.executor = io.get_executor(),
                    .options = program.options,
                    .reporter = &reporter,
                    .interrupts = &interrupts};
    int code = exit_codes::failed;
    std::exception_ptr thrown;
    boost::asio::co_spawn(
        io, program.work(context),
        boost::asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr exception, int result) {
            thrown = exception;
            code = result;
            signals.stop();
            hangups.stop();
            if (ticker) {
                ticker->stop();
            }
        }));
    io.run();
    if (!thrown) {
        return code;
    }
    try {
        std::rethrow_exception(thrown);
    } catch (const boost::system::system_error& error) {
        if (interrupts.count() == 0) {
            throw;
        }
    }
    reporter.error({.kind = ErrorKind::interrupted, .message = "interrupted"});
    return exit_codes::interrupted;
}

} // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN); // a reader that goes is an error of the write
    take_all_descriptors();        // a connection to each of a thousand hosts
    CLI::App app{"Multi-node training on plain Docker hosts", "dockdist"};
    Program program;
    app.add_option("-f,--file", program.options.file,
                   "cluster.yaml (default: here or in a parent folder; $DOCKDIST_FILE)");
    app.add_option("-o,--output", program.options.output, "text or json")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, OutputFormat>{{"text", OutputFormat::text}, {"json", OutputFormat::json}}));
    app.set_version_flag("--version", "dockdist " DOCKDIST_VERSION);
    app.require_subcommand(1);
    add_commands(app, program);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        const int code = app.exit(error, out, err);
        FdSink().write(STDOUT_FILENO, Displayable::text(out.str()));
        FdSink().write(STDERR_FILENO, Displayable::text(err.str()));
        return code == 0 ? 0 : exit_codes::wrong_input;
    }
    FdSink output;
    HeldSink sink(output);
    const auto reporter = make_reporter({.format = program.options.output}, sink);
    try {
        const int code = run(program, *reporter, sink);
        reporter->finish();
        return code;
    } catch (const std::exception& error) {
        reporter->error({.kind = ErrorKind::internal,
                         .message = error.what(),
                         .hint = "this is a bug of dockdist: please report it"});
        reporter->finish();
        return exit_codes::failed;
    }
}
