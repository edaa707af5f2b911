#include "node/book/voter.hpp"

#include "node/book/raft_machine.hpp"
#include "node/book/raft_words.hpp"

namespace dockdist::node {

Status Voter::found(Disk& disk, const Members& members) {
    const auto stored = disk.load();
    TRY(stored);
    if (stored->term != 0 || stored->snapshot || !stored->entries.empty()) {
        return Error{.kind = ErrorKind::conflict, .message = "this voter's disk is not empty"};
    }
    const auto first = first_entry_of(members);
    TRY(disk.set_term(1, 0));
    return disk.append(std::span(&first, 1));
}

Voter::Voter(VoterOptions options, Disk& disk, Send send, Changed changed)
    : machine_(std::make_unique<RaftMachine>(std::move(options), disk, std::move(send), std::move(changed))) {
}
Voter::~Voter() = default;

Status Voter::open(std::int64_t now_ms) {
    return machine_->open(now_ms);
}
void Voter::tick(std::int64_t now_ms) {
    machine_->tick(now_ms);
}
Status Voter::receive(VoterId from, std::string_view message, std::int64_t now_ms) {
    auto parsed = parse_message(message);
    TRY(parsed);
    machine_->receive(from, std::move(*parsed), now_ms);
    return ok;
}
void Voter::propose(RecordChange change, Answered answered) {
    machine_->propose(std::move(change), std::move(answered));
}
void Voter::add(VoterId id, Answered answered) {
    machine_->change_members(RaftMachine::Change::add, id, std::move(answered));
}
void Voter::promote(VoterId id, Answered answered) {
    machine_->change_members(RaftMachine::Change::promote, id, std::move(answered));
}
void Voter::remove(VoterId id, Answered answered) {
    machine_->change_members(RaftMachine::Change::remove, id, std::move(answered));
}
void Voter::step_down() {
    machine_->step_down();
}
const Records& Voter::records() const {
    return machine_->records();
}
Members Voter::members() const {
    return machine_->members();
}
bool Voter::leads() const {
    return machine_->leads();
}
VoterId Voter::leader() const {
    return machine_->leader();
}
std::uint64_t Voter::term() const {
    return machine_->term();
}
std::uint64_t Voter::committed() const {
    return machine_->committed();
}
const std::optional<Error>& Voter::failed() const {
    return machine_->failed();
}

} // namespace dockdist::node
