// Nodes on fake engines, one each, whose commands a test answers.
#pragma once

#include "client/observe/observe.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/run_task.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dockdist {

struct AskedNodes {
    boost::asio::io_context io{};
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
    std::vector<ReadyNode> nodes{};

    explicit AskedNodes(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), "host-" + std::to_string(i));
            const auto name = "node-" + std::to_string(i);
            nodes.push_back({.name = NodeName(name), .id = engine->add_container("c-" + name).id, .host = i});
            fakes.push_back(engine.get());
            engines.push_back(std::move(engine));
        }
    }
};

} // namespace dockdist
