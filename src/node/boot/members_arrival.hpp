// How the list of members comes to a node: with the client's next line, or from another node.
#pragma once

#include "node/boot/join_stream.hpp"
#include "node/boot/list_callers.hpp"
#include "node/system/os.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/join.hpp"

#include <memory>
#include <string>

namespace dockdist::node {

// Where sessions of a giver, which are container.user's, hand the list to (session/take_members.hpp): a door
// of FIFOs. There before any giver can know of this node, so that one that finds no door knows that the list
// is not wanted any more. Beside it a socket for givers on the same host, processes of root like this one,
// unless somebody has taken its name: then they, too, come by a session.
class MembersDoor {
public:
    static Result<MembersDoor> open(Owner owner, const std::string& address, int ssh_port);
    MembersDoor(MembersDoor&&) = default;
    MembersDoor& operator=(MembersDoor&&) = default;
    MembersDoor(const MembersDoor&) = delete;
    MembersDoor& operator=(const MembersDoor&) = delete;
    ~MembersDoor();

    const Fd& for_sessions() const { return for_sessions_; }
    Porter* for_neighbours() const { return for_neighbours_.get(); } // none: somebody has taken the name

private:
    MembersDoor(Fd for_sessions, std::unique_ptr<Porter> for_neighbours)
        : for_sessions_(std::move(for_sessions)), for_neighbours_(std::move(for_neighbours)) {}
    Fd for_sessions_;
    std::unique_ptr<Porter> for_neighbours_;
};

// The name of the second one: by where sshd of the node listens that waits there.
std::string neighbours_door(const std::string& address, int ssh_port);

// The text that has the notice's digest, wherever it came from. Whoever brings another is not heard, and the
// client is asked; it is asked, too, when the notice's patience is over. What the client sends must be right.
Result<std::string> await_members(JoinStream& client, const wire::MembersNotice& notice, MembersDoor door);

} // namespace dockdist::node
