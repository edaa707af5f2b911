// What all the stubs have in common, and each host's own state: what an engine keeps.
#pragma once

#include "scale/stub_engines/counters.hpp"
#include "scale/stub_engines/fabric.hpp"
#include "scale/stub_engines/http.hpp"
#include "scale/stub_engines/processes.hpp"
#include "scale/stub_engines/sandbox.hpp"
#include "scale/stub_engines/script.hpp"
#include "scale/stub_engines/stored_tars.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::scale {

struct Image {
    std::string id{};
    std::vector<std::string> layers{};
    std::string folder{}; // what its containers see; empty: there is only its name
    std::string saved{};  // a tar as `docker save` writes it
    std::uint64_t size = 0;
    nlohmann::json config = nlohmann::json::object();
};

struct Volume {
    std::string name{}, folder{};
    std::map<std::string, std::string> labels{};
    std::string created{};
};

// One who hears what a container writes, from the moment on in which it began to listen.
struct Listener {
    explicit Listener(const boost::asio::any_io_executor& executor) : frames(executor) {}
    UnderWay frames;
};

struct Container {
    explicit Container(const boost::asio::any_io_executor& executor) : changed(executor) {}
    std::string id{}, name{};
    nlohmann::json config{}; // the body of its creation
    std::shared_ptr<Image> image{};
    std::vector<SandboxMount> mounts{};
    std::string state = "created";
    std::string created{}, started = "0001-01-01T00:00:00Z", finished = "0001-01-01T00:00:00Z", error{};
    std::int64_t created_s = 0;
    std::shared_ptr<Process> process{};
    int exit_code = 0;
    int open_outputs = 0;                           // of its first process: 2, until they end
    std::vector<std::pair<int, std::string>> log{}; // (stream, line)
    std::size_t log_begin = 0;                      // of the lines that are kept, the number of the first
    std::vector<std::shared_ptr<Listener>> listeners{};
    std::unique_ptr<boost::asio::posix::stream_descriptor> input{};
    AsyncEvent changed; // its state or its log: notified
    bool removed = false;

    bool running() const { return state == "running"; }
    std::map<std::string, std::string> labels() const;
};

struct Exec {
    std::string id{};
    std::shared_ptr<Container> container{};
    nlohmann::json config{};
    std::shared_ptr<Process> process{};
    std::optional<int> failed{}; // the exit code where it did not begin
    bool started = false;
};

struct Host {
    int number = 0;
    std::string name{};
    Way way{};
    std::map<std::string, std::shared_ptr<Container>> containers{}; // by id
    std::map<std::string, std::shared_ptr<Exec>> execs{};
    std::map<std::string, Volume> volumes{};
    std::map<std::string, std::shared_ptr<Image>> images{}; // by reference

    // By id, the beginning of one, or name.
    std::shared_ptr<Container> find(const std::string& what) const;
    std::shared_ptr<Image> find_image(const std::string& what) const;
};

struct Setting {
    int hosts = 1;
    std::uint64_t node_bandwidth = 0;
    std::string folder{};                         // where everything is kept that is not in memory
    std::map<std::string, Image> images{};        // that every host has from the beginning
    std::map<std::string, Image> source_images{}; // that the last one alone has
    Script script{};
};

class World {
public:
    World(boost::asio::io_context& io, Setting setting);

    Setting setting;
    Fabric fabric;
    Processes processes;
    StoredTars tars;
    Counters counters;
    std::vector<std::unique_ptr<Host>> hosts{};
    boost::asio::io_context& io;

    std::function<void()> on_script{}; // its doors change with it
    void follow_script(Script script);
    void vanish(Host& host);
};

std::string now_as_text();

} // namespace dockdist::scale
