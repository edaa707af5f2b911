// Everything that prints, given what a host, an engine or a node would send to reach the terminal behind it.
#include "client/check/report/report_page.hpp"
#include "client/check/report/report_text.hpp"
#include "client/cli/cluster/check_summary.hpp"
#include "client/cli/jobs/json_job_sink.hpp"
#include "client/image/image_list.hpp"
#include "client/job/job_report.hpp"
#include "client/job/job_screen.hpp"
#include "client/plan/plan.hpp"
#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "client/report/json_reporter.hpp"
#include "client/report/plain_reporter.hpp"
#include "client/report/tty_reporter.hpp"
#include "client/sync/sync_text.hpp"
#include "fakes/check_report.hpp"
#include "shared/core/utf8.hpp"
#include "shared/job_state/job_text.hpp"
#include "shared/launch/launcher.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace hostile_text_test {

using namespace dockdist;

namespace {

// A clipboard write, a cleared screen, a cursor far up, C1's CSI, DEL, all kinds of bidirectional control,
// bytes that are no character, and a line that dockdist never wrote.
const std::string hostile = "n\x1b]52;c;QUFB\x07\x1b[2J\x1b[77A\xc2\x9b"
                            "31m\x7f\b\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f\xe2\x80\xa8\xff\x9b\r"
                            "\nFORGED <script>\t\x1b[999D" +
                            std::string(1, '\0');

bool is_harmless(char32_t c) {
    const bool control = (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c <= 0x9F);
    const bool bidirectional = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
                               (c >= 0x2066 && c <= 0x206F);
    return !control && !bidirectional;
}

// What is wrong with `text`, for the message of a check; empty: nothing.
std::string harm_in(std::string_view text) {
    std::string harm;
    for (std::string_view rest = text; !rest.empty();) {
        const auto [code_point, size] = decode_utf8(rest);
        if (size == 0 || !is_harmless(code_point)) {
            harm += " byte " + std::to_string(static_cast<unsigned char>(rest.front())) + " at " +
                    std::to_string(text.size() - rest.size());
        }
        rest.remove_prefix(std::max<std::size_t>(size, 1));
    }
    if (text.starts_with("FORGED") || text.find("\nFORGED") != std::string_view::npos) {
        harm += " a forged line";
    }
    return harm;
}

// A terminal's text without the sequences that a reporter draws with, none of which a name can have brought.
std::string without_drawing(std::string_view text) {
    std::string rest;
    while (!text.empty()) {
        auto size = drawn_sequence(text);
        if (size != 0) {
            CHECK(text.substr(0, size) != "\x1b[77A");
            CHECK(text.substr(0, size) != "\x1b[2J");
        } else {
            size = 1;
            rest += text.front() == '\r' ? "" : std::string(1, text.front());
        }
        text.remove_prefix(size);
    }
    return rest;
}

class Shown : public OutputSink {
public:
    void write(int, const Displayable& more) override { text += more.bytes(); }
    std::string text{};
};

CheckReport hostile_report() {
    auto report = deep_report();
    for (auto& node : report.nodes) {
        node = NodeName(hostile + node.str());
    }
    for (auto& row : report.rows) {
        row.subject = row.check = row.text = row.hint = hostile;
    }
    for (auto& node : report.gpus) {
        node.node = NodeName(hostile);
        node.cuda = hostile;
        for (auto& gpu : node.gpus) {
            gpu.uuid = gpu.name = gpu.driver = hostile;
        }
    }
    for (auto& measurement : report.collectives) {
        measurement.operation = measurement.data_type = hostile;
    }
    return report;
}

wire::JobFailure hostile_failure(bool found) {
    return {.node = hostile, .rank = 1, .code = 3, .tail = hostile, .finding = found ? hostile : ""};
}

std::vector<NodeOutcome> hostile_outcomes() {
    wire::JobResult found{.reason = hostile, .failures = {hostile_failure(true)}};
    wire::JobResult ended{.code = 3, .failures = {hostile_failure(false)}};
    return {{.node = NodeName(hostile), .result = found}, {.node = NodeName(hostile + "2"), .result = ended}};
}

// Events and errors of every kind, each of whose texts is hostile.
void tell_all(Reporter& reporter) {
    using Kind = Event::Kind;
    for (const auto kind :
         {Kind::phase_started, Kind::step_started, Kind::step_progress, Kind::step_finished,
          Kind::step_started, Kind::step_failed, Kind::note, Kind::warning, Kind::phase_finished}) {
        reporter.on(
            {.kind = kind, .phase = hostile, .subject = hostile, .text = hostile, .current = 5, .total = 9});
        reporter.tick();
    }
    reporter.error({ErrorKind::engine, hostile, hostile, hostile});
    for (const auto& event : check_remarks(hostile_report(), {})) {
        reporter.on(event);
    }
    JobOutcome outcome{.code = 3, .stop_reason = hostile, .nodes = hostile_outcomes()};
    for (const bool found : {false, true}) {
        outcome.first_failure = hostile_failure(found);
        for (const auto& error : end_errors(outcome, JobId(hostile))) {
            reporter.error(error);
        }
        reporter.on({.text = restart_text(hostile_failure(found), 1, 100, {})});
        reporter.on({.subject = hostile, .text = located_text(hostile_failure(found))});
    }
    reporter.on({.text = loss_text({.why = hostile, .by = hostile}, {})});
    reporter.finish();
}

// Each dump that programs read comes back as the value that it was.
void check_json_of(const nlohmann::json& value) {
    using Json = nlohmann::json;
    const auto dumped = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    const auto shown = std::string(Displayable::json(dumped).bytes());
    CHECK(harm_in(shown) == "");
    CHECK(Json::parse(shown) == Json::parse(dumped));
}

} // namespace

TEST_CASE(
    "no name, hint or text of a check reaches the terminal, the page or a program's terminal as it is") {
    const auto report = hostile_report();
    CHECK(harm_in(report_text(report)) == "");
    check_json_of(report_json(report, hostile));
    check_json_of(check_json(report));
    const auto page = report_page(report, {.cluster = hostile, .time = hostile, .version = hostile});
    CHECK(harm_in(page) == "");
    CHECK(page.find("<script") == std::string::npos);
    CHECK(page.find("FORGED &lt;script&gt;") != std::string::npos);
}

TEST_CASE("no container, image or cause of an engine's telling leaves its line of a plan") {
    ClusterSpec spec;
    spec.hosts.push_back({.name = HostName("host-0")});
    spec.image.from = hostile;
    spec.image.build.emplace().context = hostile;
    const NodeSpec node{.name = NodeName(hostile)};
    Plan plan;
    plan.build = BuildImage{.image = ImageRef(hostile), .cause = hostile};
    plan.pulls.push_back({.image = ImageRef(hostile), .cause = hostile});
    plan.sends.push_back({.image = ImageRef(hostile), .cause = hostile});
    plan.uploads.push_back({.container_name = hostile});
    plan.removals.push_back({.id = ContainerId(hostile), .name = hostile, .cause = hostile});
    plan.creates.push_back({.node = node, .container_name = hostile, .cause = hostile});
    plan.creates.back().config.image = ImageRef(hostile);
    plan.creates.back().config.device_requests = {{.count = 0, .device_ids = {hostile}}};
    plan.starts.push_back({.node = node.name, .cause = hostile});
    plan.joins.push_back({.node = node});
    CHECK(harm_in(to_text(plan, spec)) == "");
}

TEST_CASE("no word of a job, its nodes or its failures leaves its cell") {
    JobReport report{.job = JobId(hostile), .state = JobState::failed, .nodes = {NodeName(hostile)}};
    report.reason = hostile;
    report.first_failure = hostile_failure(false);
    report.command = {hostile, hostile};
    CHECK(harm_in(jobs_text({report}, no_terminal)) == "");
    CHECK(harm_in(results_text(hostile_outcomes(), no_terminal)) == "");
}

TEST_CASE("no file's name, environment or tool leaves its line of a dry run") {
    LocalTree tree;
    tree.entries = {{.name = hostile, .type = wire::TreeEntry::Type::link, .target = hostile},
                    {.name = hostile, .type = wire::TreeEntry::Type::file}};
    SyncedTree synced;
    using Action = SyncAction::Kind;
    synced.nodes = {{.node = NodeName("node-0")}, {.node = NodeName("node-1"), .shared_with = "node-0"}};
    for (const auto kind : {Action::remove, Action::make_folder, Action::link, Action::send, Action::set_mode,
                            Action::set_time}) {
        synced.nodes[0].plan.actions.push_back({.kind = kind, .name = hostile});
    }
    CHECK(harm_in(dry_run_text(tree, synced)) == "");
    CHECK(harm_in(summary(hostile, hostile, synced)) == "");
    check_json_of(to_json(hostile, hostile, tree, synced, true));

    // A word of a command may have lines of its own, as it may in a shell.
    auto word = hostile;
    std::erase(word, '\n');
    NodeLaunch launch{.node = NodeName("node-0"), .ranks = 2};
    launch.start.env = {{word, word}};
    launch.start.files = {{hostile, hostile}};
    launch.start.argv = launch.start.rank_command = {word, word};
    CHECK(harm_in(to_text(std::vector{launch})) == "");
}

TEST_CASE("no field of an image leaves its cell") {
    ImageDetails image{.id = hostile};
    image.architecture = image.os = image.created = hostile;
    image.layers = {hostile};
    auto other = image;
    other.layers = {"sha256:00"};
    ImageList list{.ref = ImageRef(hostile)};
    list.rows = {{.host = hostile, .reached = true, .image = image, .chain_id = hostile},
                 {.host = hostile, .reached = true, .image = other, .chain_id = hostile}};
    list.groups = {{.image = image, .hosts = {0}}, {.image = other, .hosts = {1}}};
    REQUIRE(images_differ(list.groups));
    CHECK(harm_in(to_text(list)) == "");
}

TEST_CASE("no cell brings its colours to a terminal that has some") {
    const OutputTraits terminal{.tty = true, .colour = true, .unicode = true, .columns = 60};
    CHECK(harm_in(without_drawing(report_text(hostile_report(), 100, terminal))) == "");
    JobReport report{.job = JobId(hostile), .state = JobState::failed, .nodes = {NodeName(hostile)}};
    report.reason = report.owner = hostile;
    report.first_failure = hostile_failure(false);
    report.command = {hostile, hostile};
    CHECK(harm_in(without_drawing(jobs_text({report}, terminal))) == "");
    CHECK(harm_in(without_drawing(results_text(hostile_outcomes(), terminal))) == "");
    ImageList list{.ref = ImageRef(hostile)};
    list.rows = {{.host = hostile, .reached = true, .image = ImageDetails{.id = hostile}}};
    CHECK(harm_in(without_drawing(to_text(list, terminal))) == "");
}

TEST_CASE("no event or error makes a reporter write what its text says") {
    const OutputTraits colours{.tty = true, .colour = true, .unicode = true};
    {
        Shown shown;
        PlainReporter reporter({.verbose = true}, shown);
        tell_all(reporter);
        CHECK(shown.text.find("FORGED") != std::string::npos);
        CHECK(harm_in(shown.text) == "");
    }
    {
        Shown shown;
        TtyReporter reporter({.traits = colours, .verbose = true}, shown);
        tell_all(reporter);
        CHECK(harm_in(without_drawing(shown.text)) == "");
    }
    {
        Shown shown;
        JsonReporter reporter({}, shown);
        tell_all(reporter);
        CHECK(harm_in(shown.text) == "");
    }
}

TEST_CASE("a rank's line and name bring nothing but colours, and with -o json nothing at all") {
    Shown shown;
    JobScreen screen({}, shown);
    Shown coloured;
    JobScreen colours({.out = {.tty = true, .colour = true}, .err = {.tty = true, .colour = true}}, coloured);
    Shown lines;
    JsonJobSink json(lines);
    for (JobSink* sink : std::initializer_list<JobSink*>{&screen, &colours, &json}) {
        sink->output(NodeName("a" + hostile), 1, StdStream::out, "x\n" + hostile + "\n");
        sink->output(NodeName("a" + hostile), -1, StdStream::err, hostile);
        sink->flush();
    }
    screen.finish();
    colours.finish();
    json.finish();
    CHECK(harm_in(lines.text) == "");
    for (auto* text : {&shown.text, &coloured.text}) {
        CHECK(harm_in(without_drawing(*text)) == "");
        CHECK(text->find("FORGED") != std::string::npos);
    }
}

} // namespace hostile_text_test
