// An image of one layer that many engines need before any program of ours can run there: this machine gives
// it to the first two, and each host that has it hands it on. A container there makes the tar again out of
// its files and gives it to one request; another host's engine fetches it from there by plain HTTP, the only
// way to which an engine as it is can be told. What came is held against the layer's digest.
#pragma once

#include "client/async/async_event.hpp"
#include "client/container/exec_command.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dockdist {

struct HandedOn {
    std::string repository{}, tag{};
    std::string digest{}; // of the layer's tar
    ImageRef image() const { return ImageRef(repository + ":" + tag); }
};

class HandOn {
public:
    // A host that has it.
    struct Giver {
        ContainerEngine* engine = nullptr;
        std::string host{};                 // name
        std::string address{};              // as its peers know it
        std::string interface{};            // which decides where it lacks the address
        std::vector<std::string> subnets{}; // in one of which it is, without an address
        ContainerId container{};
        std::vector<std::string> command{}; // that gives it, node/relay/tar_giver.hpp
    };
    // How far it is, and why it does not come from somewhere.
    using Told = std::function<void(const std::string& text, std::optional<std::uint64_t> bytes)>;

    // `warn`: of something that came and was not it. Those who use this are ended before it is.
    HandOn(HandedOn what, std::function<void(const Error&)> warn)
        : what_(std::move(what)), warn_(std::move(warn)) {}
    const HandedOn& what() const { return what_; }

    // Where so many engines need so many bytes: one or two get it from here, and few bytes do not matter.
    static bool is_worth_it(std::size_t engines, std::uint64_t bytes) {
        return engines > most_from_here && engines * bytes > bytes_that_matter;
    }

    // An engine that needs it: it has the image when this is true. Else it is to get it from here, and
    // ended() says whether it did. `where`: the engine's, in messages. `told` may be empty.
    Task<bool> fetch(ContainerEngine& engine, std::string where, Told told);
    void begin_from_here();
    void ended(bool has_it);

    // Others may fetch it there from now on.
    void add_giver(Giver giver);

private:
    static constexpr std::size_t most_from_here = 2;
    static constexpr std::uint64_t bytes_that_matter = 16 << 20;
    struct Source : Giver {
        int giving = 0;   // to so many at this moment
        bool bad = false; // what it gave was not it
    };

    Task<Source*> next_source(std::set<const Source*> tried);
    Task<bool> take_from(Source& source, ContainerEngine& engine, const std::string& where, const Told& told);
    Task<Status> import_from(Source& source, ContainerEngine& engine, const Told& told);
    Task<Result<std::unique_ptr<ExecLines>>> begin_giving(const Source& source, std::string token,
                                                          std::string& url);
    static Task<Error> watch(ExecLines& lines, Told told);
    // Whether the image is there, and the right one; another one of its name is removed.
    Task<Result<bool>> has_it(ContainerEngine& engine);
    void changed();

    HandedOn what_;
    std::function<void(const Error&)> warn_;
    std::size_t from_here_ = 0; // engines that got it from this machine, or are about to
    std::size_t coming_ = 0;    // those where it is on its way, and which may give it soon
    std::list<Source> sources_{};
    std::unique_ptr<AsyncEvent> changed_{}; // once somebody waits
};

} // namespace dockdist
