#include "client/plan/lost_files.hpp"

#include <doctest/doctest.h>

namespace lost_files_test {

using namespace dockdist;

namespace {

LostFiles lost(std::vector<std::string> paths, std::uint64_t written = 1 << 20,
               std::vector<std::string> places = {"/data", "/workspace"}) {
    const auto sent = [](const std::string& path) -> std::optional<std::uint64_t> {
        return path == "/workspace/train.py" ? std::optional<std::uint64_t>(1000) : std::nullopt;
    };
    return lost_files({.paths = std::move(paths), .places = std::move(places), .written = Bytes{written}},
                      sent);
}

} // namespace

TEST_CASE("a fresh node has nothing to lose") {
    // As Docker told of one: dockdist's own, and what it and NVIDIA's hook made for mounts.
    const auto fresh = lost({"/job",
                             "/job/hostfile",
                             "/opt",
                             "/opt/dockdist",
                             "/etc",
                             "/etc/passwd",
                             "/root",
                             "/run",
                             "/run/dockdist",
                             "/tmp",
                             "/tmp/x",
                             "/var",
                             "/var/lib",
                             "/var/lib/dockdist/setup",
                             "/data",
                             "/workspace",
                             "/home",
                             "/home/ada",
                             "/etc/ld.so.cache",
                             "/usr",
                             "/usr/bin",
                             "/usr/bin/nvidia-smi",
                             "/usr/lib",
                             "/usr/lib/x86_64-linux-gnu",
                             "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15",
                             "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"});
    CHECK_FALSE(fresh.any());
    CHECK(fresh.bytes == Bytes{0});
}

TEST_CASE("files that nobody brings again are counted, without their folders") {
    const auto found = lost({"/workspace", "/workspace/train.py", "/workspace/out", "/workspace/out/ckpt.pt",
                             "/workspace/__pycache__/train.cpython-312.pyc", "/etc", "/etc/pip.conf",
                             "/ckpt.pt", "/home/ada", "/home/ada/notes", "/home/ada-x"});
    CHECK(found.files == 4);
    CHECK(found.bytes == Bytes{(1 << 20) - 1000});
    CHECK(to_text(found) ==
          "4 files on no mount are lost with it, up to 1023.0 KiB: /workspace/out/ckpt.pt, /etc/pip.conf, "
          "/ckpt.pt, …");
    CHECK(to_text(lost({"/x\n"}, 512)) == "1 file on no mount is lost with it, up to 512 B: /x\\x0a");
}

TEST_CASE("what an older node has kept of its jobs in its container is named") {
    const std::string kept = "/var/lib/dockdist/jobs";
    auto old = lost({kept, kept + "/night", kept + "/night/summary.json", kept + "/night/log.0",
                     kept + "/day", kept + "/day/summary.json"});
    CHECK(old.jobs == 2);
    CHECK(old.files == 0);
    CHECK(old.any());
    CHECK(to_text(old) ==
          "the output and records of 2 jobs, which its older dockdist has kept in the container, go with it: "
          "`dockdist logs JOB --log-dir FOLDER` keeps a copy");
    CHECK(lost({kept}).jobs == 0);
    CHECK_FALSE(lost({kept, "/var/lib/dockdist/store/jobs/new/summary.json"}).any());
    old = lost({kept + "/night/summary.json", "/workspace/model.pt"});
    CHECK(to_text(old).starts_with("1 file on no mount is lost with it, up to 1.0 MiB: /workspace/model.pt; "
                                   "the output and records of 1 job"));
}

TEST_CASE("an engine that counts less than what is here, or does not tell") {
    CHECK(lost({"/workspace/train.py", "/a"}, 10).bytes == Bytes{0});
    CHECK(to_text(LostFiles{.unknown = "no diff"}) ==
          "files that are on no mount go with it; the engine does not say which: no diff");
}

} // namespace lost_files_test
