#include "node/sampler/sample_command.hpp"

#include "node/sampler/sampler.hpp"
#include "node/system/client_watch.hpp"
#include "node/system/os.hpp"
#include "shared/core/number.hpp"

#include <unistd.h>

namespace dockdist::node {

int run_sample(const std::vector<std::string>& arguments) {
    SamplerOptions options;
    bool right = arguments.empty() || (arguments.size() == 2 && arguments[0] == "--interval");
    if (right && !arguments.empty()) {
        options.interval_ms = whole_number<int>(arguments[1]).value_or(0);
        right = options.interval_ms >= wire::least_sample_interval_ms &&
                options.interval_ms <= wire::most_sample_interval_ms;
    }
    if (!right) {
        (void)write_all(STDERR_FILENO, "usage: dockdist-init sample [--interval MS]\n");
        return 2;
    }
    Loop loop;
    const ClientWatch client(loop);
    const auto say = [&loop](const std::string& line) {
        if (!write_all(STDOUT_FILENO, line)) {
            loop.stop();
        }
    };
    const Sampler sampler(
        loop, options, [&](const wire::SampleFacts& facts) { say(wire::facts_line(facts)); },
        [&](const wire::Sample& sample) { say(wire::sample_line(sample)); });
    loop.run();
    return 0;
}

} // namespace dockdist::node
