#include "keys/ssh_key.hpp"
#include "own_ssh/login_files.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

namespace login_files_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

struct Home {
    Home() {
        std::string name = (fs::temp_directory_path() / "own-ssh-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder = name;
        places = {.state = folder / "state/dockdist/ssh", .ssh = folder / ".ssh"};
    }
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;
    ~Home() { fs::remove_all(folder); }

    LoginFiles files(const std::string& file = "/a/cluster.yaml") const { return {places, "demo", file}; }
    std::string text(const fs::path& path) const {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void write(const fs::path& path, const std::string& content, fs::perms mode) const {
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << content;
        fs::permissions(path, mode);
    }
    static unsigned mode(const fs::path& path) {
        struct stat status{};
        return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
    }

    fs::path folder{};
    LoginPlaces places{};
};

constexpr auto config_mode = fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read;

} // namespace

TEST_CASE("a key pair is made once, for its user alone") {
    const Home home;
    const auto files = home.files();
    CHECK(files.public_key().error().kind == ErrorKind::not_found);
    const auto made = files.make_key();
    REQUIRE(made.has_value());
    CHECK(is_ed25519_key(*made));
    CHECK(*files.make_key() == *made);
    CHECK(*files.public_key() == *made);
    CHECK(Home::mode(files.key()) == 0600);
    CHECK(Home::mode(files.key().parent_path()) == 0700);
    // Another file's cluster of the same name has another one.
    CHECK(*home.files("/b/cluster.yaml").make_key() != *made);
}

TEST_CASE("host keys are renewed, and only when they have changed") {
    const Home home;
    const auto files = home.files();
    const auto one = make_ssh_key().public_line;
    const auto other = make_ssh_key().public_line;
    REQUIRE(files.write_known_hosts({{"node-0", "root", one}, {"node-1", "root", one}}).has_value());
    CHECK(home.text(files.known_hosts()) == "node-0 " + one + "\nnode-1 " + one + "\n");
    const auto before = fs::last_write_time(files.known_hosts());
    REQUIRE(files.renew_host_key("node-0", one).has_value());
    CHECK(fs::last_write_time(files.known_hosts()) == before);
    REQUIRE(files.renew_host_key("node-0", other).has_value());
    CHECK(home.text(files.known_hosts()) == "node-1 " + one + "\nnode-0 " + other + "\n");
}

TEST_CASE("entries are installed beside what is there, again and again, and go without a trace") {
    const Home home;
    const std::string mine = "Host *\n    User ada\n";
    home.write(home.folder / "dotfiles/ssh_config", mine, config_mode);
    fs::create_directories(home.places.ssh);
    fs::create_symlink(home.folder / "dotfiles/ssh_config", home.places.ssh / "config");
    const auto files = home.files();
    REQUIRE(files.make_key().has_value());
    CHECK_FALSE(files.installed());
    REQUIRE(files.install("Host demo.node-0\n").has_value());
    const auto once = home.text(home.places.ssh / "config");
    CHECK(once.starts_with("# dockdist's"));
    CHECK(once.ends_with("\n" + mine));
    CHECK(fs::is_symlink(home.places.ssh / "config"));
    CHECK(Home::mode(home.folder / "dotfiles/ssh_config") == 0640);
    REQUIRE(files.install("Host demo.node-0\nHost demo.node-1\n").has_value());
    CHECK(home.text(home.places.ssh / "config") == once);
    CHECK(home.text(files.entries()) == "Host demo.node-0\nHost demo.node-1\n");
    CHECK(Home::mode(files.entries()) == 0600);

    const auto second = home.files("/b/cluster.yaml");
    const auto refused = second.install("# dockdist: cluster demo of /b\nHost demo.node-1\n");
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::conflict);
    CHECK(refused.error().where == "demo.node-1");
    REQUIRE(second.install("Host b.node-1\n").has_value());

    CHECK(*files.remove());
    CHECK_FALSE(files.installed());
    CHECK_FALSE(fs::exists(files.key()));
    CHECK(home.text(home.places.ssh / "config") == once); // the other's
    CHECK(*second.remove());
    CHECK(home.text(home.places.ssh / "config") == mine);
    CHECK_FALSE(fs::exists(home.places.ssh / "dockdist"));
    CHECK_FALSE(fs::exists(home.places.state.parent_path()));
    CHECK_FALSE(*second.remove());
}

TEST_CASE("a private key that is lost is made again") {
    const Home home;
    const auto files = home.files();
    const auto made = files.make_key();
    REQUIRE(made.has_value());
    fs::remove(files.key());
    CHECK(files.public_key().error().kind == ErrorKind::not_found);
    CHECK(files.make_key().value() != *made);
    CHECK(fs::exists(files.key()));
}

TEST_CASE("a configuration that is not to be written to stays as it is, and its user is told what to do") {
    const std::string mine = "Host *\n    User ada\n";
    for (const bool dangling : {false, true}) {
        const Home home;
        const auto config = home.places.ssh / "config";
        const auto read_only = fs::perms::owner_read;
        home.write(dangling ? home.folder / "elsewhere" : config, mine, read_only);
        if (dangling) {
            fs::create_directories(home.places.ssh);
            fs::create_symlink(home.folder / "gone", config);
        }
        const auto files = home.files();
        REQUIRE(files.make_key().has_value());
        const auto refused = files.install("Host demo.node-0\n");
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().where == config.string());
        CHECK(refused.error().hint == "put the line `Include ~/.ssh/dockdist/*.conf` at its top yourself");
        CHECK(fs::is_symlink(config) == dangling);
        CHECK(home.text(config) == (dangling ? "" : mine));
        CHECK(files.installed());
        // The user has done so: it is theirs, now and at the end.
        fs::remove(config);
        const auto theirs = "Include ~/.ssh/dockdist/*.conf\n" + mine;
        home.write(config, theirs, read_only);
        REQUIRE(files.install("Host demo.node-0\n").has_value());
        CHECK(*files.remove());
        CHECK(home.text(config) == theirs);
        CHECK_FALSE(fs::exists(files.key()));
    }
}

TEST_CASE("the key goes even where the configuration cannot be changed any more") {
    const Home home;
    const auto files = home.files();
    REQUIRE(files.make_key().has_value());
    REQUIRE(files.install("Host demo.node-0\n").has_value());
    fs::permissions(home.places.ssh / "config", fs::perms::owner_read);
    const auto removed = files.remove();
    REQUIRE_FALSE(removed.has_value());
    CHECK(removed.error().hint == "take the line `Include ~/.ssh/dockdist/*.conf` out yourself");
    CHECK_FALSE(files.installed());
    CHECK_FALSE(fs::exists(files.key()));
}

TEST_CASE("where there is no ~/.ssh it is made as ssh wants it") {
    const Home home;
    REQUIRE(home.files().install("Host demo.node-0\n").has_value());
    CHECK(Home::mode(home.places.ssh) == 0700);
    CHECK(Home::mode(home.places.ssh / "config") == 0600);
    CHECK(*home.files().remove());
    CHECK(home.text(home.places.ssh / "config").empty());
}

TEST_CASE("the state's folder is XDG's") {
    const auto with = [](const char* state) {
        return login_places([state](const std::string& name) -> std::optional<std::string> {
            return name == "XDG_STATE_HOME" ? std::optional<std::string>(state)
                   : name == "HOME"         ? std::optional<std::string>("/home/ada")
                                            : std::nullopt;
        });
    };
    CHECK(with("/var/state").state == "/var/state/dockdist/ssh");
    CHECK(with("/var/state").state_home == "/var/state");
    for (const auto* none : {"relative", ""}) {
        CHECK(with(none).state == "/home/ada/.local/state/dockdist/ssh");
        CHECK(with(none).state_home.empty());
    }
}

} // namespace login_files_test
