// Bytes that come in pieces.
#pragma once

#include "client/container/container_engine.hpp"

#include <memory>
#include <string>
#include <utility>

namespace dockdist {

class TextSource final : public ByteSource {
public:
    explicit TextSource(std::string text) : text_(std::move(text)) {}
    Task<Result<std::string>> read() override {
        constexpr std::size_t piece = 1000;
        std::string bytes = text_.substr(0, piece);
        text_.erase(0, bytes.size());
        co_return bytes;
    }

private:
    std::string text_;
};

inline std::unique_ptr<ByteSource> text_source(std::string text) {
    return std::make_unique<TextSource>(std::move(text));
}

} // namespace dockdist
