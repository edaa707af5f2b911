// The version of everything that the client, the nodes and the relays say to each other: all of
// src/shared/wire/. A client of one release meets nodes of another, in a cluster that was made before an
// upgrade of either.
//
// What may change without raising it:
//   - a field more. Whoever reads passes over fields that it does not know, and each has a default for when
//     it is missing: the behaviour of before there was such a field;
//   - a kind of message more, where all readers since the version before pass over kinds that they do not
//     know, or where it is sent only in answer to a field that an older side does not send.
// What raises it, by one: a field that goes, or means something else, or may hold what older readers refuse;
// a kind of message that an older reader refuses; another order of messages. Words that this version says and
// the one before reads stay as they are for one version more, so that both can do what `Words::of_jobs`
// (client/observe/observe.hpp) names. tests/golden/wire holds recorded words of the releases; tests read
// them.
//
// Who knows what: a node's container bears the version in the label `dockdist.wire`, from the client whose
// toolkit runs in it, so that a client knows it before it asks for anything. Joining needs the same version
// on both sides, and both say theirs there: `up` makes nodes of another version anew before it joins them.
#pragma once

namespace dockdist::wire {

inline constexpr int version = 2;

// Of nodes whose container has no such label: dockdist 0.1 has made them.
inline constexpr int version_of_unlabelled = 2;

// Versions that are no further apart read each other's words about jobs.
inline constexpr int most_apart = 1;

} // namespace dockdist::wire
