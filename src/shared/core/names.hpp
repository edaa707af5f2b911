// Strong types for the words of the tool, where mixing two up would cost.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace dockdist {

template <class Tag>
class StrongString {
public:
    StrongString() = default;
    explicit StrongString(std::string text) : text_(std::move(text)) {}

    const std::string& str() const { return text_; }
    bool empty() const { return text_.empty(); }
    auto operator<=>(const StrongString&) const = default;

private:
    std::string text_;
};

using ClusterName =
    StrongString<struct ClusterNameTag>;           // of a cluster; also stands in container names and labels
using HostName = StrongString<struct HostNameTag>; // of a machine with an engine, as cluster.yaml calls it
using NodeName = StrongString<struct NodeNameTag>; // of one container of the cluster
using ContainerId = StrongString<struct ContainerIdTag>; // the engine's full id, 64 hex digits
using ExecId = StrongString<struct ExecIdTag>;
using ImageRef = StrongString<struct ImageRefTag>; // "repository:tag", "repository@sha256:…" or an id
using JobId = StrongString<struct JobIdTag>;

struct Bytes {
    std::uint64_t count = 0;
    auto operator<=>(const Bytes&) const = default;
};

// A TCP port. 0 stands for "not chosen yet".
struct Port {
    std::uint16_t number = 0;
    auto operator<=>(const Port&) const = default;
};

} // namespace dockdist

template <class Tag>
struct std::hash<dockdist::StrongString<Tag>> {
    std::size_t operator()(const dockdist::StrongString<Tag>& name) const {
        return std::hash<std::string>{}(name.str());
    }
};
