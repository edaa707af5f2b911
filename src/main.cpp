// Builds the objects, runs the one io_context, returns the exit code.
#include "client/async/recurring.hpp"
#include "client/cli/context.hpp"
#include "client/cli/line/arguments.hpp"
#include "client/cli/line/help_text.hpp"
#include "client/cli/line/line_error.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/own_home.hpp"
#include "client/engine/docker_engine.hpp"
#include "client/report/held_sink.hpp"
#include "client/report/output.hpp"
#include "shared/core/descriptors.hpp"
#include "shared/core/exit_codes.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <nss.h>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using namespace dockdist;

constexpr std::chrono::milliseconds tick{100};
// What a command has left to its connections (a goodbye that is being sent) is a matter of moments. A name
// that is being looked up is not, where no name server answers: that cannot be cut short.
constexpr std::chrono::seconds parting{1};

// CLI11 takes a word in brackets for a list, of whatever option, and drops the brackets: it gets such words
// behind a mark, which the options take away.
constexpr char as_it_is = '\x02';

std::string marked(const std::string& word) {
    const bool list = word.size() > 1 && word.front() == '[' && word.back() == ']';
    return list || (!word.empty() && word.front() == as_it_is) ? as_it_is + word : word;
}

void take_marks_away(CLI::App& app) {
    for (auto* option : app.get_options({})) {
        if (option->get_items_expected_max() > 0) { // before all other checks
            option->transform(CLI::Validator(
                [](std::string& word) {
                    word.erase(0, word.starts_with(as_it_is) ? 1 : 0);
                    return std::string();
                },
                "", "as it is"));
        }
    }
    for (auto* command : app.get_subcommands({})) {
        take_marks_away(*command);
    }
}

void add_commands(CLI::App& app, Program& program) {
    for (const auto add :
         {add_init,       add_validate, add_plan,    add_up,         add_down,     add_status,
          add_check,      add_run,      add_export,  add_jobs,       add_top,      add_page,
          add_metrics,    add_gpus,     add_logs,    add_attach,     add_stacks,   add_diagnose,
          add_stop,       add_wait,     add_exec,    add_ssh,        add_forward,  add_proxy,
          add_ssh_config, add_sync,     add_setup,   add_cp,         add_hostfile, add_image,
          add_data,       add_slurm,    add_version, add_self_check, add_help,     add_completion}) {
        add(app, program);
    }
    for (auto* command : app.get_subcommands({})) {
        command->fallthrough(); // -f and -o may stand behind the command's name
    }
    take_file_everywhere(app, program.options.file);
    refuse_files_as_names(app);
    refuse_empty_words(app);
    take_marks_away(app);
}

// A command line, and where it leaves what it says.
struct CommandLine {
    CLI::App app{"Multi-node training on plain Docker hosts", "dockdist"};
    Program program{};
    std::string format{};
};

std::shared_ptr<CommandLine> make_line() {
    auto line = std::make_shared<CommandLine>();
    auto& app = line->app;
    auto& options = line->program.options;
    app.formatter(std::make_shared<HelpFormatter>());
    app.add_option("-f,--file", options.file,
                   "cluster.yaml (default: here or in a parent folder; $DOCKDIST_FILE)")
        ->type_name("FILE");
    app.add_option("--hosts", options.hosts,
                   "In place of `hosts` in the file, and written as there: slurm, ssh://USER@HOST, a list "
                   "(default: $DOCKDIST_HOSTS)")
        ->type_name("HOSTS");
    app.add_flag("--take-over", options.take_over,
                 "Act on a cluster of this name although it was made from another file");
    choice(app.add_option("-o,--output", line->format, "What people read, or programs"),
           {"text", "json", "csv"})
        ->type_name("text|json"); // csv is for `jobs` alone, whose help has it
    app.set_version_flag("--version", "dockdist " DOCKDIST_VERSION, "Print the version");
    app.set_help_flag("-h,--help", "Print this");
    app.require_subcommand(1);
    add_commands(app, line->program);
    return line;
}

void read_words(CLI::App& app, const std::vector<std::string>& words) {
    std::vector<std::string> reversed;
    std::transform(words.rbegin(), words.rend(), std::back_inserter(reversed), marked);
    app.parse(std::move(reversed));
}

// For a command that runs others: its line has been read, theirs may be wrong.
Result<Program> read_another(const std::vector<std::string>& words) {
    const auto line = make_line();
    const auto read = read_line(line->app, words);
    if (const auto mistake = mistake_in(read); mistake && read.emptied != nullptr) {
        return *mistake;
    }
    try {
        read_words(line->app, words);
    } catch (const CLI::Success&) {
        return Error{ErrorKind::usage, "", "that asks for help, and runs nothing",
                     "`dockdist help COMMAND` shows it"};
    } catch (const CLI::ParseError& refusal) {
        return mistake_in(read).value_or(line_error(read, refusal));
    }
    const auto& options = line->program.options;
    if (!options.file.empty() || !options.hosts.empty() || !line->format.empty() || options.take_over) {
        return Error{ErrorKind::usage, "",
                     "--file, --hosts, --take-over and --output are for both commands at once",
                     "write them before the first `--`"};
    }
    auto program = line->program;
    program.work = [line, work = program.work](Context& context) { return work(context); };
    return program;
}

int refuse(const Error& error, const LineRead& line) {
    const auto format = line.values.find("--output");
    const bool json = format != line.values.end() && format->second == "json";
    FdSink sink;
    const auto reporter = make_reporter({.format = json ? OutputFormat::json : OutputFormat::text}, sink);
    reporter->error(error);
    reporter->finish();
    return exit_codes::wrong_input;
}

// The exit code of a line that is no command to be run: help was asked for, or it is wrong.
std::optional<int> parse(CLI::App& app, const std::vector<std::string>& words) {
    const auto line = read_line(app, words);
    if (words.empty()) {
        auto output = help_output();
        output.colour = output.colour && probe_output(STDERR_FILENO).colour;
        FdSink().write(STDERR_FILENO, Displayable::drawn(short_help(app, output)));
        return exit_codes::wrong_input;
    }
    if (const auto mistake = mistake_in(line); mistake && line.emptied != nullptr) {
        return refuse(*mistake, line);
    }
    try {
        read_words(app, words);
        return std::nullopt;
    } catch (const CLI::Success& asked) { // --help, --version
        std::ostringstream out;
        app.exit(asked, out, out);
        FdSink().write(STDOUT_FILENO, Displayable::drawn(out.str()));
        return 0;
    } catch (const CLI::ParseError& refusal) {
        return refuse(mistake_in(line).value_or(line_error(line, refusal)), line);
    }
}

int run(boost::asio::io_context& io, const Program& program, Reporter& reporter, HeldSink& sink) {
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
                    .interrupts = &interrupts,
                    .hold_output = [&sink](bool asking) { sink.hold(asking); }};
    context.warn(program.remarks);
    int code = exit_codes::failed;
    bool over = false;
    std::exception_ptr thrown;
    boost::asio::co_spawn(
        io, program.work(context),
        boost::asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr exception, int result) {
            thrown = exception;
            code = result;
            over = true;
            signals.stop();
            hangups.stop();
            if (ticker) {
                ticker->stop();
            }
        }));
    while (!over && io.run_one() > 0) {
    }
    io.run_for(parting);
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
    const bool late = interrupts.time_is_over();
    reporter.error({.kind = ErrorKind::interrupted,
                    .message = late ? "ended, as the allocation's time is nearly over" : "interrupted"});
    return late ? exit_codes::timed_out : exit_codes::interrupted;
}

#ifdef DOCKDIST_STATIC
// The C library that is in this program would open the modules of the host's, which may be of another
// version, and then ends the program. It has these sources in itself.
void look_up_by_own_means() {
    __nss_configure_lookup("hosts", "files dns");
    for (const char* database : {"passwd", "group", "services", "networks", "protocols"}) {
        __nss_configure_lookup(database, "files");
    }
}
#endif

} // namespace

int main(int argc, char** argv) {
#ifdef DOCKDIST_STATIC
    look_up_by_own_means();
#endif
    std::signal(SIGPIPE, SIG_IGN); // a reader that goes is an error of the write
    if (const auto code = answer_for_ssh(argc, argv)) {
        return *code;
    }
    take_all_descriptors(); // a connection to each of a thousand hosts
    complete_home();
    const auto line = make_line();
    auto& program = line->program;
    program.read = read_another;
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (const auto code = parse(line->app, words)) {
        return *code;
    }
    program.options.output = line->format == "json"  ? OutputFormat::json
                             : line->format == "csv" ? OutputFormat::csv
                                                     : OutputFormat::text;
    if (program.options.output == OutputFormat::csv && !program.has_csv) {
        return refuse({ErrorKind::usage, "--output",
                       "csv is what `dockdist jobs` can print, and no other command",
                       "take json, or leave it out"},
                      {});
    }
    FdSink output;
    HeldSink sink(output);
    const auto reporter =
        make_reporter({.format = program.options.output, .one_value = program.one_value}, sink);
    boost::asio::io_context io(1);
    try {
        const int code = run(io, program, *reporter, sink);
        reporter->finish();
        if (!io.stopped()) {
            std::_Exit(code); // the end of `io` would wait for the name
        }
        return code;
    } catch (const std::exception& error) {
        reporter->error({.kind = ErrorKind::internal,
                         .message = error.what(),
                         .hint = "this is a bug of dockdist: please report it"});
        reporter->finish();
        return exit_codes::failed;
    }
}
