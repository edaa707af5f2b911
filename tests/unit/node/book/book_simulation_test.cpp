#include "unit/node/book/simulated_book.hpp"

namespace book_simulation_test {

using namespace dockdist;
using namespace dockdist::simulated;

namespace {

// A minute of faults, of which each is likely to meet the others.
void one_fault(Book& book, std::size_t voters) {
    const auto ids = book.ids();
    const auto any = [&] {
        return ids[static_cast<std::size_t>(book.pick(0, static_cast<int>(ids.size()) - 1))];
    };
    const auto id = book.pick(0, 1) == 0 ? book.leader().value_or(any()) : any();
    switch (book.pick(0, 9)) {
    case 0:
        book.cut(id, any());
        break;
    case 1:
        for (const auto other : ids) {
            book.cut(id, other);
        }
        break;
    case 2:
    case 3:
        book.mend_all();
        break;
    case 4:
        book.freeze(id, book.pick(100, 4 * election_ms));
        break;
    case 5:
        book.kill(id);
        break;
    case 6: // dies in one of its next writes
        book.disk(id).dies_in = book.pick(0, 3);
        book.disk(id).lucky = book.pick(0, 1) == 0;
        break;
    case 7:
        book.disk(id).full = !book.disk(id).full;
        break;
    case 8:
        if (book.leaving() == 0) {
            book.replace(id, voters > 1 && book.pick(0, 1) == 0);
        }
        break;
    default:
        book.chances = {.lost = book.pick(0, 20), .doubled = book.pick(0, 10), .slow = book.pick(0, 10)};
    }
    for (const auto other : ids) {
        if (!book.runs(other) && !book.is_lost(other) && book.pick(0, 3) == 0) {
            book.start(other);
        }
    }
}

} // namespace

TEST_CASE("whatever happens to voters, what they have accepted stays, and they agree; then they go on") {
    for (const std::size_t voters : {1U, 3U, 5U}) {
        int accepted = 0;
        for (unsigned seed = 1; seed <= 40; ++seed) {
            CAPTURE(voters);
            CAPTURE(seed);
            Book book(voters, seed);
            for (int i = 0; i < 300; ++i) {
                book.pass(book.pick(1, 2 * 200));
                if (i % 4 == 0) {
                    one_fault(book, voters);
                }
                const auto ids = book.ids();
                const auto any =
                    ids[static_cast<std::size_t>(book.pick(0, static_cast<int>(ids.size()) - 1))];
                for (int change = 0; change < book.pick(0, 4); ++change) {
                    book.change_something(book.leader().value_or(any));
                }
                book.care_for_members();
            }
            book.mend_all();
            book.chances = {};
            for (const auto id : book.ids()) {
                book.disk(id).full = false;
                book.disk(id).dies_in.reset();
                if (!book.runs(id) && !book.is_lost(id)) {
                    book.start(id);
                }
            }
            for (int i = 0; i < 20; ++i) {
                book.pass(settled_ms / 20);
                book.care_for_members();
            }
            INFO(book.described());
            const auto leader = book.leader();
            REQUIRE(leader.has_value());
            CHECK(book.leaving() == 0);
            const auto before = book.accepted;
            book.change_something(*leader);
            book.pass(settled_ms);
            REQUIRE(book.leader().has_value());
            CHECK(book.accepted == before + 1);
            const auto& whole = *book.awake(*book.leader());
            CHECK(whole.members().size() == voters);
            for (const auto& member : whole.members()) {
                CAPTURE(member.id);
                CHECK(member.votes);
                CHECK(book.awake(member.id)->committed() == whole.committed());
                CHECK(book.awake(member.id)->records().all() == whole.records().all());
            }
            accepted += book.accepted;
        }
        MESSAGE(voters, " voters: ", accepted, " changes accepted");
        CHECK(accepted > 40 * 20);
    }
}

} // namespace book_simulation_test
