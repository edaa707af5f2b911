// dockdist-probe: measures what NCCL reaches between the cluster's GPUs, and checks that what arrives is
// right.
#include "probe/run.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>
#include <unistd.h>

namespace {

constexpr std::string_view usage =
    R"(dockdist-probe: one rank of a check of CUDA and NCCL, a process for each GPU
  dockdist-probe [--libcuda PATH] [--libnccl PATH]

It reads its order, one JSON line, from stdin, and answers with JSON lines on stdout; the last one is the result. Rank 0
tells the unique id, which whoever started the ranks sends on to the others' stdin: nothing listens for it. stdin stays
open until the result is there; its end ends the probe. To try it on one GPU:

  (echo '{"rank":0,"world_size":1,"deadline_ms":60000,"last_bytes":1048576}'; sleep 60) | dockdist-probe

  --libcuda PATH   this libcuda.so.1, instead of the one found in LD_LIBRARY_PATH, by the loader, or where the NVIDIA
                   container toolkit puts it; where there is none AMD's libamdhip64.so and librccl.so.1 are looked for
  --libnccl PATH   this libnccl.so.2, instead of the one found in LD_LIBRARY_PATH, in PyTorch's site-packages
                   (nvidia/nccl/lib), by the loader, or in CUDA's folders
  --version        its version
  --help           this text

Exit codes: 0 measured, every element right; 1 some elements wrong; 2 the order or the command line is wrong; 3 no usable
libcuda, libnccl or GPU; 4 CUDA, NCCL or a peer failed; 5 the deadline passed; 6 stdin ended.
)";

void print(std::FILE* to, std::string_view text) {
    (void)std::fwrite(text.data(), 1, text.size(), to);
}

} // namespace

int main(int argc, char** argv) {
    dockdist::probe::Paths paths;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        auto* path = word == "--libcuda" ? &paths.cuda : word == "--libnccl" ? &paths.nccl : nullptr;
        if (word == "--help" || word == "-h") {
            print(stdout, usage);
            return 0;
        }
        if (word == "--version") {
            print(stdout, "dockdist-probe " DOCKDIST_VERSION "\n");
            return 0;
        }
        if (path == nullptr || i + 1 == argc) {
            print(stderr, path == nullptr ? "dockdist-probe: there is no option "
                                          : "dockdist-probe: a PATH is missing after ");
            print(stderr, word);
            print(stderr, "\n  dockdist-probe --help lists what there is\n");
            return 2;
        }
        *path = argv[++i];
    }
    (void)std::signal(SIGPIPE, SIG_IGN);
    int code = 70;
    try {
        code = dockdist::probe::run_probe(paths);
    } catch (const std::exception& error) {
        print(stderr, "dockdist-probe: ");
        print(stderr, error.what());
        print(stderr, "\n");
    }
    // Not exit: the destructors of CUDA and NCCL wait for GPUs that may never answer.
    (void)std::fflush(nullptr);
    _exit(code);
}
