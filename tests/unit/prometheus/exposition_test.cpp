#include "client/prometheus/exposition.hpp"
#include "golden.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

namespace exposition_test {

using namespace dockdist;

namespace {

std::vector<SampledNode> nodes() {
    SampledNode node{.node = NodeName("node-0"), .host = HostName("node-0"), .up = true};
    node.facts = {.cpus = 16,
                  .memory_bytes = 64ULL << 30U,
                  .driver = "550.127.08",
                  .gpus = {{.index = 0,
                            .uuid = "GPU-a",
                            .name = "NVIDIA \"H100\"\\\n80GB",
                            .memory_bytes = 80ULL << 30U,
                            .power_limit_w = 700},
                           {.index = 1, .uuid = "GPU-b", .name = "NVIDIA H100"}},
                  .disks = {{.path = "/", .size_bytes = 100'000}},
                  .network = {"eth0"},
                  .rdma = {"mlx5_0/1"}};
    node.sample = wire::Sample{
        .at_ms = 1772300000000,
        .clock_ms = 5000,
        .cpu_ms = 1234567,
        .memory_bytes = 5ULL << 30U,
        .disk_read = 17,
        .disk_written = 18,
        .disk_bytes = {99'000},
        .network = {{.received = 18446744073709ULL, .sent = 5}},
        .rdma = {{.received = std::nullopt, .sent = 7}},
        .gpus = {{.utilization_percent = 87.5,
                  .memory_bytes = 71ULL << 30U,
                  .power_w = 612.3,
                  .temperature_c = 61,
                  .clock_mhz = 1980,
                  .throttle = 0x44},
                 {}},
        .ranks = {{.job = "train", .rank = -1, .cpu_ms = 10, .memory_bytes = 4096},
                  {.job = "train", .rank = 3, .cpu_ms = 61500, .memory_bytes = 1 << 20, .gpus = {0}}}};
    return {node,
            {.node = NodeName("node-1"), .host = HostName("gpu7"), .up = false},
            {.node = NodeName("node-2"), .host = HostName("gpu8")}};
}

std::string shown(ExpositionFormat format) {
    return exposition(nodes(), ClusterName("vision"), "0.1.0", format);
}

} // namespace

TEST_CASE("the text that Prometheus reads") {
    check_golden("prometheus/metrics.txt", shown(ExpositionFormat::text));
}

TEST_CASE("the same as OpenMetrics") {
    check_golden("prometheus/openmetrics.txt", shown(ExpositionFormat::openmetrics));
}

TEST_CASE("what a node has not told has no line, and every family stands once and together") {
    const auto text = shown(ExpositionFormat::text);
    CHECK(
        text.find("dockdist_gpu_power_watts{cluster=\"vision\",node=\"node-0\",host=\"node-0\",gpu=\"1\"") ==
        std::string::npos);
    CHECK(text.find("rdma_received") == std::string::npos);
    CHECK(text.find("node=\"node-1\",host=\"gpu7\"} 0\n") != std::string::npos);
    CHECK(text.find("node-2") == std::string::npos); // neither up nor down, as far as is known
    std::set<std::string> families;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# TYPE ")) {
            CHECK_MESSAGE(families.insert(line.substr(7, line.find(' ', 7) - 7)).second, line);
        }
    }
    CHECK(families.size() > 20);
}

TEST_CASE("a client gets OpenMetrics where it prefers that") {
    using enum ExpositionFormat;
    CHECK(accepted_format("") == text);
    CHECK(accepted_format("*/*") == text);
    CHECK(accepted_format("text/plain;version=0.0.4") == text);
    // Prometheus 2.42's own
    CHECK(accepted_format(
              "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
              "text/plain;version=0.0.4;q=0.5,*/*;q=0.1") == openmetrics);
    CHECK(accepted_format("text/plain;q=0.9, application/openmetrics-text;q=0.2") == text);
    CHECK(accepted_format("application/openmetrics-text;q=0") == text);
}

TEST_CASE("the dashboard in templates/ asks for nothing that there is not") {
    std::ifstream file(std::string(DOCKDIST_SOURCE_DIR) + "/templates/grafana-dashboard.json");
    const auto dashboard = nlohmann::json::parse(file);
    const auto names = metric_names();
    int asked = 0;
    const auto check_text = [&](const std::string& text) {
        for (auto at = text.find("dockdist_"); at != std::string::npos; at = text.find("dockdist_", at + 1)) {
            auto end = at;
            while (end < text.size() &&
                   (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
                ++end;
            }
            const auto name = text.substr(at, end - at);
            CHECK_MESSAGE(std::ranges::find(names, name) != names.end(), name);
            ++asked;
        }
    };
    const auto flat = dashboard.flatten();
    for (const auto& [place, value] : flat.items()) {
        if (value.is_string() &&
            (place.ends_with("/expr") || place.ends_with("/query") || place.ends_with("/definition"))) {
            check_text(value.get<std::string>());
        }
    }
    CHECK(asked >= 10);
}

} // namespace exposition_test
