// Damages texts, the same way in every run: for the tests of what reads them.
#pragma once

#include <random>
#include <string>

namespace dockdist {

class Damage {
public:
    std::string apply(std::string text) {
        for (auto times = 1 + pick(4); times > 0; --times) {
            if (text.empty()) {
                text += byte();
            }
            const auto at = pick(text.size());
            switch (pick(5)) {
            case 0:
                text[at] = byte();
                break;
            case 1:
                text.erase(at, 1 + pick(8));
                break;
            case 2:
                text.insert(at, 1, byte());
                break;
            case 3:
                text.insert(at, text.substr(pick(text.size()), pick(16)));
                break;
            default:
                text.resize(at);
            }
        }
        return text;
    }

private:
    std::size_t pick(std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
    }
    char byte() { return static_cast<char>(pick(256)); }
    std::mt19937 random_{20240229}; // the same run every time
};

} // namespace dockdist
