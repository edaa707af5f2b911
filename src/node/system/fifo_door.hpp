// How processes of an account speak to one of root's: over FIFOs. A unix socket brings descriptors with its
// bytes, as many as the sender likes, and whoever reads the bytes has to close them, wanted or not. A close
// may take as long as the sender likes: of a TCP socket that lingers, of a file whose server is gone. And one
// that is wanted has the sender's flags: who shares it takes O_NONBLOCK away again.
//
// The door is a FIFO of the account's. Who knocks makes others in a folder of the account's, and writes a
// line to the door: their number, and words of its own. Root looks at each without opening it, opens it anew
// where it is a FIFO, removes its name, and says so by an empty line. Until that is heard, whoever knocks
// holds both ends: what is in a FIFO is lost when nobody has it open.
#pragma once

#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "shared/core/result.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace dockdist::node {

// Beside the two ways to and fro: a child's stdout and stderr.
enum class KnockWith { words, outputs };

// The account's side. SIGPIPE is the caller's to ignore.
class Knock {
public:
    // `words`: a line of a few hundred bytes at most, without its '\n'. An error: nobody is behind the door,
    // or the folder takes no FIFO. Waits while the door is full.
    static Result<Knock> at(const std::string& door, const std::string& folder, std::string_view words,
                            KnockWith with);

    int to() const { return to_.get(); }     // a write never waits, and takes what there is room for
    int from() const { return from_.get(); } // a read never waits
    bool write(std::string_view bytes);      // once it was heard; waits for room. False: root has left
    void end_words();                        // root comes to the end of what was written
    // As wide as the kernel lets a user have them; a write waits for room.
    const Fd& out() const { return out_.own; }
    const Fd& err() const { return err_.own; }
    void forget_outputs(); // this process's ends: a child has them now

    // For when poll(2) tells something of from(): root has opened all, or has come and gone.
    void hear();
    bool was_heard() const { return heard_; }
    // Waits for that, for a minute at most. False: nobody was behind the door. Then nothing of this is heard
    // any more.
    bool await_heard();

private:
    struct Output {
        Fd own{}, both{};
    };
    bool make(KnockWith with);
    std::string path(std::string_view what) const;
    void withdraw() const;

    std::string door_{}, folder_{}, number_{};
    Fd to_{}, from_{};
    Output out_{}, err_{};
    bool heard_ = false;
};

// Root's side. None of these ends waits. A knocker that is gone already is known by a read alone: poll(2)
// tells only of writers that were there.
struct Caller {
    std::string words{};
    Fd from{}, to{}, out{}, err{};
};

class FifoDoor {
public:
    // What stands at `path` is replaced; until it has its owner nobody but root can knock.
    static Result<Fd> make(const std::string& path, Owner owner);

    // `folder`: where those who knock make theirs. Knocks with something else than FIFOs are passed over.
    FifoDoor(Loop& loop, Fd door, std::string folder, KnockWith with, std::function<void(Caller)> on_knock);
    ~FifoDoor();
    FifoDoor(const FifoDoor&) = delete;
    FifoDoor& operator=(const FifoDoor&) = delete;

    // Those who have knocked by now: no more than a door holds.
    void take_waiting();

private:
    void take(std::string_view line);

    Loop& loop_;
    Fd door_;
    std::string folder_;
    KnockWith with_;
    std::function<void(Caller)> on_knock_;
    std::string heard_{}; // an unfinished line
};

} // namespace dockdist::node
