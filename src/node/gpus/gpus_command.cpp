#include "node/gpus/gpus_command.hpp"

#include "node/gpus/board_watch.hpp"
#include "node/gpus/gpu_look.hpp"
#include "node/gpus/node_units.hpp"
#include "node/system/client_watch.hpp"
#include "node/system/loop.hpp"
#include "shared/core/number.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t figures_pause_ms = 2000; // between two looks at the figures
constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

wire::GpuFacts facts_of(const UnitState& state, const Board& board, std::int64_t in_use_mib,
                        const BoardFile* file) {
    wire::GpuFacts facts{.unit = state.unit, .problem = state.problem};
    if (state.gpu) {
        facts.memory_used_mib = state.gpu->memory_used_mib;
        facts.memory_total_mib = state.gpu->memory_total_mib;
        facts.utilization_percent = state.gpu->utilization_percent;
        facts.temperature_c = state.gpu->temperature_c;
        facts.power_w = state.gpu->power_w;
    }
    if (const auto* const holder = holder_of(board.entries, state.unit.id)) {
        facts.hold = wire::GpuHold{.unit = state.unit, .by = party_of(*holder, unix_ms())};
    } else if (file != nullptr && file->unit_is_locked(state.unit.id)) {
        facts.hold = wire::GpuHold{.unit = state.unit};
    } else if (state.used_mib.value_or(0) > static_cast<double>(in_use_mib)) {
        facts.hold = wire::GpuHold{.unit = state.unit, .by = {.job = used_text(state)}, .outside = true};
    }
    return facts;
}

// What jobs hold of the host beside what is seen here.
void add_held(wire::GpuReport& report, const Board& board) {
    for (const auto& entry : board.entries) {
        for (const auto& unit : entry.units) {
            const auto same = [&](const wire::GpuFacts& facts) { return facts.unit.id == unit.id; };
            if (std::ranges::none_of(report.units, same)) {
                report.units.push_back(
                    {.unit = unit, .hold = wire::GpuHold{.unit = unit, .by = party_of(entry, unix_ms())}});
            }
        }
    }
}

void add_line(wire::GpuReport& report, const Board& board, bool whole_host) {
    std::vector<const BoardEntry*> line;
    for (const auto& entry : board.entries) {
        const bool here =
            whole_host || std::ranges::any_of(report.units, [&](const wire::GpuFacts& facts) {
                return std::ranges::find(entry.candidates, facts.unit.id) != entry.candidates.end();
            });
        if (entry.units.empty() && here) {
            line.push_back(&entry);
        }
    }
    std::ranges::sort(line, [](const auto* one, const auto* other) { return goes_before(*one, *other); });
    for (const auto* entry : line) {
        report.line.push_back(
            {.who = party_of(*entry, unix_ms()), .wanted = entry->wanted, .priority = entry->priority});
    }
}

class GpusCommand {
public:
    GpusCommand(bool watch, std::int64_t in_use_mib) : watching_(watch), in_use_mib_(in_use_mib) {}

    int run() {
        if (watching_) {
            client_.emplace(loop_);
        }
        look();
        loop_.run();
        return 0;
    }

private:
    void look() {
        look_ = std::make_unique<GpuLook>(loop_, [this](const Result<SeenGpus>& seen) {
            const auto keep = std::move(look_); // this is called from it
            hear(seen);
            if (!watching_) {
                return loop_.stop();
            }
            loop_.after(figures_pause_ms, [this] { look(); });
        });
    }
    void hear(const Result<SeenGpus>& seen) {
        problem_.clear();
        if (seen) {
            states_ = unit_states(known_ ? known_->units : std::vector<wire::GpuUnit>(), *seen);
        } else {
            states_.clear();
            if (known_ && known_->units.empty()) {
                states_ = slot_states(known_->cluster, known_->node, known_->slots);
            } else {
                problem_ = seen.error().message;
            }
        }
        tell();
    }
    // The board may come with the first job.
    void have_board() {
        if (!file_) {
            if (auto file = BoardFile::open_to_look()) {
                file_ = std::move(*file);
                if (watching_) {
                    board_watch_ = std::make_unique<BoardWatch>(loop_, [this] { tell(); });
                    board_watch_->set_pause(figures_pause_ms / 10);
                }
            }
        }
    }
    void tell() {
        have_board();
        const auto read = file_ ? file_->read() : Result<Board>(Board{});
        const auto board = read ? *read : Board{};
        wire::GpuReport report{.problem = read ? problem_ : read.error().message};
        for (const auto& state : states_) {
            if (state.gpu) {
                report.driver = state.gpu->driver;
            }
            report.units.push_back(facts_of(state, board, in_use_mib_, file_ ? &*file_ : nullptr));
        }
        if (!known_) { // no node, with units of its own: it looks for somebody who asks of the host
            add_held(report, board);
        }
        add_line(report, board, !known_);
        if (told_.empty()) {
            report.topology = known_ ? known_->topology : look_at_topology();
        }
        if (auto line = wire::gpu_report_line(report); line != told_) {
            told_ = std::move(line);
            if (!write_all(STDOUT_FILENO, told_)) {
                loop_.stop();
            }
        }
    }

    bool watching_;
    std::int64_t in_use_mib_;
    Loop loop_{};
    Result<KnownGpus> known_ = load_known_gpus();
    std::optional<BoardFile> file_{};
    std::unique_ptr<BoardWatch> board_watch_{};
    std::unique_ptr<GpuLook> look_{};
    std::vector<UnitState> states_{};
    std::string problem_{};
    std::string told_{};
    std::optional<ClientWatch> client_{};
};

std::optional<std::int64_t> read_mib(const std::string& text) {
    const auto number = whole_number<std::int64_t>(text);
    return number && *number >= 0 ? number : std::nullopt;
}

} // namespace

int run_gpus(const std::vector<std::string>& arguments) {
    bool watch = false;
    std::optional<std::int64_t> in_use = endless;
    for (std::size_t i = 0; i < arguments.size() && in_use; ++i) {
        if (arguments[i] == "--watch") {
            watch = true;
        } else if (arguments[i] == "--in-use" && i + 1 < arguments.size()) {
            in_use = read_mib(arguments[++i]);
        } else {
            in_use.reset();
        }
    }
    if (!in_use) {
        (void)write_all(STDERR_FILENO, "usage: dockdist-init gpus [--watch] [--in-use MIB]\n");
        return 2;
    }
    return GpusCommand(watch, *in_use).run();
}

} // namespace dockdist::node
