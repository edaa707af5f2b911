#include "client/own_ssh/login_files.hpp"
#include "shared/keys/ssh_key.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace login_files_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

struct Home {
    Home() {
        std::string name = (fs::temp_directory_path() / "own-ssh-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder = name;
        places = {.state = folder / "state/dockdist/ssh", .ssh = folder / ".ssh", .machine = "desk"};
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

// As `ssh-config` would write them.
std::string entries_of(const LoginFiles& files, const std::string& file, const std::string& machine = "desk",
                       const std::string& prefix = "demo") {
    return ssh_entries({.prefix = prefix,
                        .cluster = "demo",
                        .machine = machine,
                        .program = "/bin/dockdist",
                        .file = file,
                        .environment = {"XDG_STATE_HOME=" + files.state_home()},
                        .key = files.key().string(),
                        .known_hosts = files.known_hosts().string(),
                        .nodes = {{"node-0", "root", make_ssh_key().public_line}}})
        ->text;
}

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

    CHECK(files.remove().own);
    CHECK_FALSE(files.installed());
    CHECK_FALSE(fs::exists(files.key()));
    CHECK(home.text(home.places.ssh / "config") == once); // the other's
    CHECK(second.remove().own);
    CHECK(home.text(home.places.ssh / "config") == mine);
    CHECK_FALSE(fs::exists(home.places.ssh / "dockdist"));
    CHECK_FALSE(fs::exists(home.places.state.parent_path()));
    CHECK_FALSE(second.remove().own);
}

TEST_CASE("installed entries may stay when the key goes, and are of use again once there is one") {
    const Home home;
    const auto files = home.files();
    CHECK_FALSE(files.remove(LoginFiles::Entries::keep).kept); // there are none
    REQUIRE(files.make_key().has_value());
    REQUIRE(files.install(entries_of(files, "/a/cluster.yaml")).has_value());
    const auto config = home.text(home.places.ssh / "config");
    const auto removal = files.remove(LoginFiles::Entries::keep);
    CHECK(removal.own);
    CHECK(removal.kept);
    CHECK(removal.errors.empty());
    CHECK_FALSE(fs::exists(files.key()));
    CHECK(files.installed());
    CHECK(home.text(home.places.ssh / "config") == config);
    CHECK(files.as_installed().make_key().has_value());
    CHECK(fs::exists(files.key()));
    CHECK(files.remove().own);
    CHECK_FALSE(files.installed());
}

TEST_CASE("a key goes from where the installed entries have it, whatever XDG_STATE_HOME is by then") {
    const Home home;
    const auto files = home.files();
    REQUIRE(files.make_key().has_value());
    REQUIRE(files.install(entries_of(files, "/a/cluster.yaml")).has_value());
    auto places = home.places;
    places.state = home.folder / "other/dockdist/ssh";
    const LoginFiles later(places, "demo", "/a/cluster.yaml");
    CHECK(later.key() != files.key());
    CHECK(later.as_installed().key() == files.key()); // `up` keeps it
    CHECK(later.as_installed().state_home() == home.folder / "state");
    const auto removal = later.remove();
    CHECK(removal.own);
    CHECK(removal.errors.empty());
    CHECK_FALSE(fs::exists(home.places.state.parent_path()));
    CHECK_FALSE(fs::exists(home.places.ssh / "dockdist"));
}

TEST_CASE("nothing is removed for the sake of entries that name a place that is not ours") {
    const Home home;
    const auto name = home.files().entries().stem().string();
    for (const std::string& place :
         {std::string("state/dockdist/ssh/mine/id_ed25519"), "dockdist/" + name + "/id_ed25519",
          "state/dockdist/ssh/" + name + "/key", "state/dockdist/ssh/x/../" + name + "/id_ed25519"}) {
        CAPTURE(place);
        auto entries = entries_of(home.files(), "/a/cluster.yaml");
        const auto key = home.files().key().string();
        entries.replace(entries.find(key), key.size(), (home.folder / place).string());
        home.write(home.folder / "state/dockdist/ssh/x/y", "", config_mode);
        home.write(home.folder / place, "mine", config_mode);
        auto places = home.places;
        places.state = home.folder / "other/dockdist/ssh";
        const LoginFiles files(places, "demo", "/a/cluster.yaml");
        REQUIRE(files.install(entries).has_value());
        CHECK(files.as_installed().key() == files.key());
        CHECK(files.remove().own);
        CHECK(home.text(home.folder / place) == "mine");
    }
}

TEST_CASE("what a file has left that is no more goes as well; another machine's stays, and what is there") {
    const Home home;
    const auto there = home.folder / "there.yaml";
    home.write(there, "", config_mode);
    const auto gone = (home.folder / "gone.yaml").string();
    const auto moved = home.files(gone);
    const auto elsewhere = home.files("/of/another.yaml");
    const auto used = home.files(there);
    REQUIRE(moved.make_key().has_value());
    REQUIRE(moved.install(entries_of(moved, gone)).has_value());
    REQUIRE(elsewhere.make_key().has_value());
    REQUIRE(elsewhere.install(entries_of(elsewhere, "/of/another.yaml", "laptop", "b")).has_value());
    REQUIRE(used.make_key().has_value());
    REQUIRE(used.install(entries_of(used, there, "desk", "c")).has_value());

    const auto refused = home.files().install("Host demo.node-0\n");
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().hint.ends_with("remove " + moved.entries().string() + " and " +
                                         moved.key().parent_path().string()));

    const auto removal = home.files().remove();
    CHECK_FALSE(removal.own);
    CHECK(removal.orphans == std::vector<std::string>{gone});
    CHECK(removal.errors.empty());
    CHECK_FALSE(moved.installed());
    CHECK_FALSE(fs::exists(moved.key().parent_path()));
    for (const auto& kept : {elsewhere, used}) {
        CHECK(kept.installed());
        CHECK(fs::exists(kept.key()));
        CHECK(kept.remove().own);
    }
    CHECK(home.text(home.places.ssh / "config").empty());
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
    enum { locked, dangling_link, of_another };
    for (const auto what : {locked, dangling_link, of_another}) {
        const Home home;
        const auto config = home.places.ssh / "config";
        const auto read_only = fs::perms::owner_read;
        const bool dangling = what == dangling_link;
        home.write(dangling ? home.folder / "elsewhere" : config, mine,
                   what == of_another ? config_mode : read_only);
        if (dangling) {
            fs::create_directories(home.places.ssh);
            fs::create_symlink(home.folder / "gone", config);
        }
        if (what == of_another && ::chown(config.c_str(), 4711, 4711) != 0) {
            continue; // root alone can give a file away
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
        CHECK(files.remove().own);
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
    const auto removal = files.remove();
    REQUIRE(removal.errors.size() == 1);
    CHECK(removal.errors.front().hint == "take the line `Include ~/.ssh/dockdist/*.conf` out yourself");
    CHECK_FALSE(files.installed());
    CHECK_FALSE(fs::exists(files.key()));
}

TEST_CASE("where there is no ~/.ssh it is made as ssh wants it") {
    const Home home;
    REQUIRE(home.files().install("Host demo.node-0\n").has_value());
    CHECK(Home::mode(home.places.ssh) == 0700);
    CHECK(Home::mode(home.places.ssh / "config") == 0600);
    CHECK(home.files().remove().own);
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
    for (const auto* state : {"/var/state", "/var/./state/"}) {
        CHECK(with(state).state == "/var/state/dockdist/ssh");
        CHECK(LoginFiles(with(state), "demo", "/a").state_home() == "/var/state");
    }
    for (const auto* none : {"relative", ""}) {
        CHECK(with(none).state == "/home/ada/.local/state/dockdist/ssh");
        CHECK(LoginFiles(with(none), "demo", "/a").state_home() == "/home/ada/.local/state");
    }
    CHECK_FALSE(with("").machine.empty());
}

} // namespace login_files_test
