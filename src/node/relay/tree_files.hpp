// The files of a tree that a relay carries, in the one folder that its container has: where they are read
// from, or where they are to stand. Nothing here follows a link, or leaves the folder.
#pragma once

#include "node/relay/blob_files.hpp"
#include "shared/tree/folder.hpp"
#include "shared/wire/relay.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace dockdist::node {

class TreeFiles : public BlobFiles {
public:
    explicit TreeFiles(Folder folder) : folder_(std::move(folder)) {}
    // All of them before threads are at work.
    void add(wire::RelayFile file);

    bool keeps_open() const override { return false; }
    Fd reopen(const std::string& id) override;

protected:
    const wire::RelayFile& listed(const std::string& id) const { return files_.at(id); }
    // Where it stands, with a descriptor of its own: other threads go on in the tree.
    struct Place {
        Fd folder{};
        std::string name{};
    };
    Result<Place> place(const std::string& name);

private:
    std::mutex mutex_{}; // of folder_
    Folder folder_;
    std::map<std::string, wire::RelayFile> files_{};
};

// Where they are to stand. A file that comes lies beside its place, under a name that is made of its own, its
// size and its time: a later transfer of the same file goes on with it, and one of another version of it does
// not. It takes its name when the client's digest is right.
class TargetFiles : public TreeFiles {
public:
    // Waits for the digest that the client tells of a file; "" where it was given up.
    using Expected = std::function<std::string(int file)>;
    TargetFiles(Folder folder, Expected expected)
        : TreeFiles(std::move(folder)), expected_(std::move(expected)) {}

    Result<Opened> open(const std::string& id, bool anew) override;
    Result<bool> finish(const std::string& id, Fd& file, const std::string& digest) override;

private:
    Expected expected_;
};

// Where they are: read, and told with their digests. One that is not what the list says is told as given up.
class OriginFiles : public TreeFiles {
public:
    using Tell = std::function<void(const wire::RelayDigest&)>;
    OriginFiles(Folder folder, Tell tell) : TreeFiles(std::move(folder)), tell_(std::move(tell)) {}

    Result<Opened> open(const std::string& id, bool anew) override;
    Result<bool> finish(const std::string& id, Fd& file, const std::string& digest) override;
    void lost(const std::string& id) override { tell_({.file = listed(id).number}); }

private:
    Tell tell_;
};

Error file_given_up();

// The name beside a file's own under which it comes.
std::string begun_name(const wire::RelayFile& file);

} // namespace dockdist::node
