#include "fuzz/fuzz.hpp"

#include "shared/core/text.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

// As in unit/main.cpp.
extern "C" const char* __asan_default_options() {
    return "detect_stack_use_after_return=1:strict_string_checks=1:handle_abort=1";
}
extern "C" const char* __ubsan_default_options() {
    return "print_stacktrace=1";
}

namespace fuzz {
namespace {

constexpr std::string_view write_seeds_option = "--write-seeds=";

void write_seeds(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    int number = 0;
    for (const auto& seed : seeds()) {
        char name[16];
        std::snprintf(name, sizeof(name), "seed-%03d", number++);
        std::ofstream(folder / name, std::ios::binary) << seed;
    }
}

} // namespace

void require(bool kept, std::string_view promise) {
    if (!kept) {
        std::fprintf(stderr, "\nbroken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
        std::abort();
    }
}

void require_equal(std::string_view one, std::string_view other, std::string_view promise) {
    if (one != other) {
        std::fprintf(stderr, "\none:   %s\nother: %s\n", dockdist::printable(one.substr(0, 4096)).c_str(),
                     dockdist::printable(other.substr(0, 4096)).c_str());
        require(false, promise);
    }
}

Kinded kinded(std::string_view input, std::size_t kinds) {
    if (input.empty()) {
        return {};
    }
    const auto letter = static_cast<unsigned char>(input.front() - 'a');
    return {.kind = letter % kinds, .rest = input.substr(1)};
}

void by_kind(std::string_view input, std::span<const Read> kinds) {
    const auto [kind, rest] = kinded(input, kinds.size());
    kinds[kind](rest);
}

std::string of_kind(std::size_t kind, std::string_view rest) {
    return static_cast<char>('a' + kind) + std::string(rest);
}

std::vector<std::string> parts(std::string_view input, std::size_t count) {
    std::vector<std::string> found;
    while (found.size() + 1 < count) {
        const auto end = std::min(input.find(part_end), input.size());
        found.emplace_back(input.substr(0, end));
        input.remove_prefix(std::min(end + part_end.size(), input.size()));
    }
    found.emplace_back(input);
    return found;
}

std::string of_parts(const std::vector<std::string>& parts) {
    std::string text;
    for (const auto& part : parts) {
        text += (&part == &parts.front() ? "" : std::string(part_end)) + part;
    }
    return text;
}

std::size_t Choices::below(std::size_t limit) {
    if (rest_.empty()) {
        return 0;
    }
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return byte % limit;
}

std::string_view Choices::text() {
    const auto size = std::min(below(256), rest_.size());
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
}

std::string Choices::path(std::span<const std::string_view> words) {
    std::string path;
    for (auto count = 1 + below(2); count > 0; --count) {
        path += (path.empty() ? "" : "/") + std::string(words[below(words.size())]);
    }
    return path;
}

bool has_no_controls(std::string_view text, bool newlines) {
    std::string without(text);
    if (newlines) {
        std::erase(without, '\n');
    }
    return dockdist::is_printable(without);
}

std::string read_file(const std::string& path) {
    std::ifstream input(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(input), {}};
}

std::vector<std::string> recorded_files(const std::string& folder, std::string_view named) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(DOCKDIST_SOURCE_DIR) / folder)) {
        if (entry.is_regular_file() && entry.path().string().find(named) != std::string::npos) {
            paths.push_back(entry.path());
        }
    }
    std::ranges::sort(paths);
    std::vector<std::string> contents;
    for (const auto& path : paths) {
        contents.push_back(read_file(path));
    }
    return contents;
}

} // namespace fuzz

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    for (int i = 1; i < *count; ++i) {
        const std::string_view argument((*arguments)[i]);
        if (argument.starts_with(fuzz::write_seeds_option)) {
            fuzz::write_seeds(argument.substr(fuzz::write_seeds_option.size()));
            std::exit(0);
        }
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::one_input({reinterpret_cast<const char*>(data), size});
    return 0;
}
