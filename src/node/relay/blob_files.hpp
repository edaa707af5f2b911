// Where the blobs of a relay lie: those of an image in a folder of the relay's own, those of a tree where
// they are read from or are to stand.
#pragma once

#include "shared/core/fd.hpp"
#include "shared/core/result.hpp"

#include <cstdint>
#include <string>

namespace dockdist::node {

// Of many threads, but one at a time for each blob.
class BlobFiles {
public:
    BlobFiles() = default;
    BlobFiles(const BlobFiles&) = delete;
    BlobFiles& operator=(const BlobFiles&) = delete;
    virtual ~BlobFiles() = default;

    struct Opened {
        Fd file{};
        std::int64_t begun = 0; // bytes that are there from an earlier time
    };
    // To go on behind what is there; `anew`: nothing is.
    virtual Result<Opened> open(const std::string& id, bool anew) = 0;
    // All of it is there, and `digest` is what its bytes have. False: they are not the right ones. An error
    // is for good: another try would bring nothing else.
    virtual Result<bool> finish(const std::string& id, Fd& file, const std::string& digest) = 0;
    // It cannot be read.
    virtual void lost(const std::string& /*id*/) {}
    // Whether what is whole stays open. Where not, to read of it again: not open when it is gone.
    virtual bool keeps_open() const = 0;
    virtual Fd reopen(const std::string& id) = 0;
};

// Of an image: `folder`/HEX for "sha256:HEX".
class ImageFiles : public BlobFiles {
public:
    explicit ImageFiles(std::string folder) : folder_(std::move(folder)) {}
    Result<Opened> open(const std::string& id, bool anew) override;
    Result<bool> finish(const std::string& id, Fd& /*file*/, const std::string& digest) override {
        return id == digest;
    }
    bool keeps_open() const override { return true; }
    Fd reopen(const std::string& /*id*/) override { return {}; }

private:
    std::string folder_;
};

} // namespace dockdist::node
