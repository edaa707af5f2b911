#include "client/job/job_screen.hpp"

namespace dockdist {

JobScreen::JobScreen(JobOutputOptions options, OutputSink& sink) : output_(std::move(options), sink) {}

void JobScreen::expect(const NodeName& node, int rank) {
    source_of(node, rank);
}

JobOutput::Source JobScreen::source_of(const NodeName& node, int rank) {
    const auto [entry, is_new] = sources_.try_emplace({node, rank});
    if (is_new) {
        entry->second = output_.add_source(rank < 0 ? node.str() : node.str() + ":" + std::to_string(rank));
    }
    return entry->second;
}

void JobScreen::output(const NodeName& node, int rank, StdStream stream, std::string_view bytes) {
    output_.write(source_of(node, rank), stream == StdStream::err ? JobStream::err : JobStream::out, bytes);
}

void JobScreen::flush() {
    output_.flush();
}

void JobScreen::finish() {
    output_.finish();
}

} // namespace dockdist
