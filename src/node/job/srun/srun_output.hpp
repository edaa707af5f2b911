// Where srun puts what its tasks write: its own stdout and stderr, or files.
#pragma once

#include "node/job/srun/srun_options.hpp"
#include "node/system/os.hpp"
#include "shared/core/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace dockdist::node {

// srun's own words, on stderr. The first returns its exit code for them, 1.
int srun_error(const std::string& message);
void srun_remark(const std::string& message);

// What stands in a file's name.
struct OutputNames {
    std::string job{}; // its number
    std::string job_name{};
    std::string user{};
    std::string node{};
    int node_rank = 0;
    int rank = 0;
};
// Pure: srun's %j %A %J %s %t %n %N %x %u %%, numbers as wide as "%4t" asks.
std::string expand_output_name(std::string_view pattern, const OutputNames& names);

// Whole lines, so that those of several tasks do not mix, or bytes as they come (--unbuffered). With --label
// each line bears the number of its task.
class SrunOutput {
public:
    SrunOutput(const SrunOptions& options, int tasks);

    // stream: 1 stdout, 2 stderr. An error, once for each file: it cannot be opened or written.
    Status write(std::uint8_t stream, const OutputNames& names, std::string_view bytes);
    // The lines that have no end.
    Status end();

private:
    struct Stream {
        int fd = -1;
        bool dropped = false; // by the options, or because its file failed
        bool in_line = false; // with --unbuffered: the label stands
        std::string line{};
    };
    Result<Stream*> stream_of(std::uint8_t stream, const OutputNames& names);
    Result<int> file_of(const std::string& path, bool is_error);
    Status put(Stream& stream, int rank, std::string_view bytes);
    std::string label(int rank) const;

    const SrunOptions& options_;
    std::size_t label_width_;
    int tasks_;
    std::map<std::pair<int, std::uint8_t>, Stream> streams_{};
    std::map<std::string, Fd> files_{};
};

} // namespace dockdist::node
