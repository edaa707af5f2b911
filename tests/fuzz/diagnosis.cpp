// What torch's flight recorder and NCCL's RAS say of a job, or whoever answers in their place: read or
// refused, within bounds; what becomes of it fits the wire, and is told without a control character.
#include "fuzz/fuzz.hpp"
#include "shared/diagnosis/flight_recorder.hpp"
#include "shared/diagnosis/pickle.hpp"
#include "shared/diagnosis/ras.hpp"
#include "shared/wire/stacks.hpp"

#include <algorithm>
#include <array>

namespace {

using namespace dockdist;

void is_told(const Evidence& evidence) {
    fuzz::require(fuzz::has_no_controls(evidence.text) && fuzz::has_no_controls(evidence.hint),
                  "no evidence controls the terminal");
    fuzz::require(evidence.text.size() < 4096, "what is told is bounded");
    for (const int rank : evidence.ranks) {
        fuzz::require(rank >= 0, "who is guilty is a rank");
    }
}

void is_refused(const Error& error) {
    fuzz::require(fuzz::has_no_controls(error.message) && error.message.size() < 200,
                  "an error is one short line");
}

// As deep as a dump's values are looked at, and not for ever where a value is in itself.
std::size_t count(const PickleValue& value, int depth) {
    std::size_t sum = 1;
    for (std::size_t i = 0; depth > 0 && i < std::min<std::size_t>(value.size(), 8); ++i) {
        sum +=
            count(value.at(i), depth - 1) + count(value.key(i), depth - 1) + count(value.value(i), depth - 1);
    }
    return sum;
}

void pickles(std::string_view bytes) {
    const auto pickle = Pickle::read(bytes);
    if (!pickle) {
        return is_refused(pickle.error());
    }
    (void)count(pickle->root(), 4);
    fuzz::require(pickle->root().text().size() <= bytes.size(), "a text is one of the pickle's");
}

void dumps(std::string_view bytes) {
    const auto record = read_flight_dump(bytes, 1'795'786'200'000'000'000);
    if (!record) {
        return is_refused(record.error());
    }
    const wire::RankStack stack{.rank = 0, .flight = *record};
    const auto read = wire::parse_stacks_word(wire::rank_stack_line(stack));
    fuzz::require(read.has_value() && read->stack == stack, "what was read of a dump fits the wire");
    is_told(judge_flight({{0, &*record}, {1, &*record}}));
    const wire::FlightRecord silent{.silent = true};
    is_told(judge_flight({{0, &*record}, {1, &silent}}));
}

void reports(const Result<RasStatus>& status) {
    if (!status) {
        return is_refused(status.error());
    }
    for (const auto& report : {report_of(*status), compare_ras(*status, *status, 1000)}) {
        const auto read = wire::parse_stacks_word(wire::stacks_told_line(report));
        fuzz::require(read.has_value() && read->over && read->ras == report, "what RAS said fits the wire");
        is_told(judge_ras({report}, {{0, "127.0.0.1", 3539}}, 2));
    }
    fuzz::require(!compare_ras(*status, *status, 1).moves, "an answer is the same as itself");
}

constexpr std::array<fuzz::Read, 4> kinds{pickles, dumps,
                                          [](std::string_view text) { reports(read_ras_json(text)); },
                                          [](std::string_view text) { reports(read_ras_text(text)); }};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    for (const auto& dump : recorded_files("tests/unit/diagnosis/recorded/flight_recorder", "_dump_1")) {
        all.push_back(of_kind(0, dump));
        all.push_back(of_kind(1, dump));
    }
    for (const auto& answer : recorded_files("tests/gpu_day/recordings/h200/ras")) {
        const auto begin = answer.rfind("STATUS\n");
        if (begin != std::string::npos) {
            const auto body = answer.substr(begin + 7);
            all.push_back(of_kind(body.starts_with("{") ? 2 : 3, body));
        }
    }
    return all;
}
