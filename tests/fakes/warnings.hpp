// A reporter for tests of what a person is warned of: "SUBJECT: TEXT", one after the other.
#pragma once

#include "client/report/event.hpp"

#include <string>
#include <vector>

namespace dockdist {

class Warnings : public Reporter {
public:
    void on(const Event& event) override {
        if (event.kind == Event::Kind::warning) {
            texts.push_back(event.subject + ": " + event.text);
        }
    }
    void error(const Error& /*error*/) override {}
    void finish() override {}

    std::vector<std::string> texts{};
};

} // namespace dockdist
