#include "node/job/job_preparation.hpp"

#include "node/session/session.hpp"
#include "node/system/gpus.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/gpu/kfd.hpp"
#include "shared/gpu/units.hpp"
#include "shared/rdma/variables.hpp"

#include <algorithm>
#include <iterator>

namespace dockdist::node {
namespace {

std::optional<std::string> users_value(const wire::JobOpening& opening, const Environment& container,
                                       const char* name) {
    if (std::ranges::find(opening.unset, name) != opening.unset.end()) {
        return std::nullopt;
    }
    for (const auto* variables : {&opening.secrets, &opening.env}) {
        if (const auto found = variables->find(name); found != variables->end()) {
            return found->second;
        }
    }
    return container.get(name);
}

// With what the node tells jobs of RDMA ports, where this one's user has chosen others.
std::vector<std::string> unset_for(const wire::JobOpening& opening) {
    const auto given = Environment::from_block(read_file_or_empty(paths().container_environment));
    auto unset = rdma::not_for([&](std::string_view name) {
        return users_value(opening, given, std::string(name).c_str()).has_value();
    });
    unset.insert(unset.end(), opening.unset.begin(), opening.unset.end());
    return unset;
}

} // namespace

JobPreparation::JobPreparation(Loop& loop, const wire::JobOpening& opening, Listener listener)
    : loop_(loop), opening_(opening), listener_(std::move(listener)) {}

Status JobPreparation::begin() {
    std::string problem;
    account_ = named_account(opening_.user, problem);
    if (!problem.empty()) {
        return Error{.kind = ErrorKind::config,
                     .message = problem,
                     .hint = "set container.user to a user of the image or to a numeric uid"};
    }
    auto ports = opening_.same_ports.empty() ? reserve_ports(opening_.job, opening_.ports)
                                             : reserve_these_ports(opening_.same_ports);
    TRY(ports);
    ports_ = std::move(*ports);
    if (auto own = reserve_ports(opening_.job, 1)) {
        own_port_ = std::move(*own);
    }
    part_ = {.job = opening_.job,
             .env = opening_.env,
             .secrets = opening_.secrets,
             .rank_secrets = true, // until the start says more: the questions need none
             .unset = unset_for(opening_),
             .workdir = opening_.workdir.empty() ? recorded_workdir() : opening_.workdir};
    const auto recorded = recorded_environment();
    const Asking asking{.account = account_,
                        .environment = job_environment(recorded, part_, account_),
                        .workdir = part_.workdir};
    questions_ = std::make_unique<Questions>(loop_, opening_.questions, asking,
                                             [this](std::vector<wire::Answer> answers) {
                                                 questions_.reset();
                                                 answers_ = std::move(answers);
                                                 tell_when_all_is_known();
                                             });
    if (opening_.gpus.share) {
        turn_known_ = true;
    } else {
        reserve(recorded);
    }
    return ok;
}

void JobPreparation::reserve(const Environment& recorded) {
    Environment users;
    for (const auto* name :
         {amd_asked_variable, cuda_devices_variable, rocm_devices_variable, hip_devices_variable}) {
        if (const auto value = users_value(opening_, recorded, name)) {
            users.set(name, *value);
        }
    }
    users_gpus_ = visible_to(users);
    are_amd_s_ = has_amd_gpus(users);
    auto known = load_known_gpus();
    wire::GpuParty who{.job = opening_.job, .owner = opening_.owner};
    if (known) {
        who.cluster = known->cluster;
        who.node = known->node;
    }
    reservation_ = std::make_unique<Reservation>(
        loop_,
        GpuRequest{.who = std::move(who),
                   .ask = opening_.gpus,
                   .visible = users_gpus_,
                   .variable = choosing_variable(users),
                   .timeout_ms = opening_.timeout_ms},
        std::move(known),
        Reservation::Listener{.on_turn = [this](const wire::GpuTurn& turn) { hear_turn(turn); },
                              .on_error = listener_.on_error});
    reservation_->begin();
}

void JobPreparation::hear_turn(const wire::GpuTurn& turn) {
    if (told_) {
        return listener_.on_turn(turn);
    }
    turn_known_ = true;
    tell_when_all_is_known();
}

void JobPreparation::tell_when_all_is_known() {
    if (!answers_ || !turn_known_ || told_) {
        return;
    }
    told_ = true;
    wire::LaunchFacts facts{.answers = std::move(*answers_)};
    for (const auto& port : ports_) {
        facts.ports.push_back(port.number);
    }
    if (reservation_) {
        facts.gpus = reservation_->turn();
    }
    listener_.on_facts(facts);
}

void JobPreparation::obey(const wire::JobCommand& order) {
    using Type = wire::JobCommand::Type;
    if (reservation_ && order.type == Type::line) {
        reservation_->line(order.number, order.order);
    } else if (reservation_ && order.type == Type::take) {
        reservation_->take(order.order);
    } else if (reservation_ && order.type == Type::look) {
        reservation_->look(order.order);
    }
}

bool JobPreparation::may_start() const {
    using Turn = wire::GpuTurn::State;
    const auto turn = reservation_ ? reservation_->turn().state : Turn::none;
    return told_ && (turn == Turn::none || turn == Turn::taken);
}

void JobPreparation::insist() {
    reservation_->insist();
}

PreparedJob JobPreparation::finish(wire::JobStart start) {
    PreparedJob job;
    job.summary = {.job = part_.job,
                   .running = true,
                   .started_ms = unix_ms(),
                   .lease_ms = opening_.lease_ms,
                   .token = opening_.token,
                   .owner = opening_.owner,
                   .before = start.before};
    if (reservation_ && reservation_->turn().state == wire::GpuTurn::State::taken) {
        job.held = reservation_->hand_over();
        job.summary.units = job.held.units();
        part_.units = static_cast<int>(job.held.units().size());
        const auto visible = visible_devices(job.held.units());
        part_.gpus = users_gpus_ && !visible.empty() ? *users_gpus_ : visible;
        if (users_gpus_ && are_amd_s_) { // the user's variables choose already, one among another's
            part_.gpus.clear();
        }
    }
    part_.grace_ms = opening_.grace_ms;
    job.part = part_;
    job.opening_env = opening_.env;
    job.own_port = own_port_.empty() ? 0 : own_port_.front().number;
    job.take_start(std::move(start));
    job.account = account_;
    job.grace_ms = opening_.grace_ms;
    job.signal = opening_.signal;
    job.timeout_ms = opening_.timeout_ms;
    job.ports = std::move(ports_);
    std::ranges::move(own_port_, std::back_inserter(job.ports));
    return job;
}

} // namespace dockdist::node
