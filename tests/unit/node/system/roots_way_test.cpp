// What root runs, and whom it believes, must not be led by somebody else's hand.
#include "node/system/clean_environment.hpp"
#include "node/system/program.hpp"
#include "node/system/roots_way.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace roots_way_test {

using namespace dockdist::node;
namespace fs = std::filesystem;
using namespace std::string_literals;

namespace {

constexpr uid_t account = 4242;

struct stat about(uid_t uid, mode_t mode) {
    struct stat status{};
    status.st_uid = uid;
    status.st_mode = mode;
    return status;
}

// Folders of root's and the account's, and programs in them.
struct Image : Scratch {
    Image() {
        fs::permissions(path, fs::perms(0755));
        for (const auto* name : {"bin", "own", "own/bin", "open", "sticky"}) {
            fs::create_directory(*this / name);
            fs::permissions(*this / name, fs::perms(0755));
        }
        fs::permissions(*this / "open", fs::perms(0775));
        fs::permissions(*this / "sticky", fs::perms(01777));
        give("own");
        give("own/bin");
    }
    void give(const char* name) const { REQUIRE(::lchown((*this / name).c_str(), account, account) == 0); }
    std::string program(const char* name, const std::string& text = "#!/bin/sh\n",
                        unsigned mode = 0755) const {
        const auto file = *this / name;
        std::ofstream(file) << text;
        fs::permissions(file, fs::perms(mode));
        return file;
    }
    std::string link(const char* name, const std::string& to) const {
        fs::create_symlink(to, *this / name);
        return *this / name;
    }
};

} // namespace

TEST_CASE("root alone changes what is root's and closed to others") {
    CHECK(only_root_changes(about(0, 0100755), {}));
    for (const mode_t open : {0775U, 0757U, 0777U, 01777U}) {
        CHECK_FALSE(only_root_changes(about(0, open), {}));
    }
    CHECK_FALSE(only_root_changes(about(account, 0755), {}));
}

TEST_CASE("in a user namespace the machine's own files count where nobody can write through the mount") {
    const MountedAs driver{.read_only = true, .user_namespace = true, .overflow = 65534};
    CHECK(only_root_changes(about(65534, 0100755), driver));
    CHECK_FALSE(only_root_changes(about(65534, 0100757), driver));
    CHECK_FALSE(only_root_changes(about(account, 0100755), driver));
    CHECK_FALSE(only_root_changes(about(65534, 0100755), {.read_only = false, .user_namespace = true}));
    CHECK_FALSE(only_root_changes(about(65534, 0100755), {.read_only = true, .user_namespace = false}));
}

TEST_CASE("a script's interpreter is what the kernel takes for it") {
    CHECK(interpreter_in("#!/bin/sh\necho") == "/bin/sh");
    CHECK(interpreter_in("#! \t/usr/bin/env bash\n") == "/usr/bin/env");
    CHECK(interpreter_in("#!/bin/sh") == "/bin/sh");
    CHECK(interpreter_in("#!sh\n") == "sh");
    CHECK(interpreter_in("#!/bin/sh\r\n") == "/bin/sh\r");
    for (const auto& none : {"\x7F"
                             "ELF"s,
                             ""s, "#"s, "#!"s, "#! \n"s, " #!/bin/sh\n"s}) {
        CHECK(interpreter_in(none).empty());
    }
}

TEST_SUITE("as root" * doctest::skip(::geteuid() != 0)) {
    TEST_CASE("a program is root's alone with all that leads to it") {
        const Image image;
        const auto good = image.program("bin/smi");
        CHECK(is_roots_program(good));
        CHECK(is_roots_program(image.link("bin/link", "../bin/smi")));
        CHECK(is_roots_program(image.program("bin/binary", "\x7F"
                                                           "ELF")));
        CHECK(is_roots_program("/bin/sh"));
        CHECK_FALSE(is_roots_program(image / "bin"));
        CHECK_FALSE(is_roots_program(image / "bin/gone"));
        CHECK_FALSE(is_roots_program("bin/sh"));
        CHECK_FALSE(is_roots_program(""));
    }

    TEST_CASE("and no more where somebody else has a hand in it") {
        const Image image;
        const auto theirs = image.program("own/bin/smi");
        CHECK_FALSE(is_roots_program(theirs)); // root's file in a folder of theirs
        CHECK_FALSE(is_roots_program(image / "bin/../own/bin/smi"));
        CHECK_FALSE(is_roots_program(image.link("bin/to-theirs", theirs)));
        CHECK_FALSE(is_roots_program(image.program("open/smi")));
        CHECK_FALSE(is_roots_program(image.program("bin/writable", "", 0775)));
        CHECK_FALSE(is_roots_program(image.program("sticky/smi"))); // may be another name of a file of root's
        image.program("bin/given");
        image.give("bin/given");
        CHECK_FALSE(is_roots_program(image / "bin/given"));
        // Root's folder in theirs: they put another one in its place.
        fs::create_directory(image / "own/tools");
        CHECK_FALSE(is_roots_program(image.program("own/tools/smi")));
        const auto own_shell = image.program("own/bin/sh", "\x7F"
                                                           "ELF");
        CHECK_FALSE(is_roots_program(image.program("bin/script", "#!" + own_shell + "\n")));
        const auto step = image.program("bin/step", "#! " + own_shell + " -u\n");
        CHECK_FALSE(is_roots_program(image.program("bin/steps", "#!" + step + "\n")));
        CHECK_FALSE(is_roots_program(image.program("bin/relative", "#!sh\n")));
        CHECK_FALSE(is_roots_program(image.program("bin/itself", "#!" + (image / "bin/itself") + "\n")));
        REQUIRE(::mkfifo((image / "bin/pipe").c_str(), 0755) == 0);
        CHECK_FALSE(is_roots_program(image / "bin/pipe"));
    }

    TEST_CASE("folders where others put nothing stay of a list, each once") {
        const Image image;
        const auto bin = image / "bin";
        CHECK(is_roots_folder(bin));
        CHECK(is_roots_folder(image / "gone/bin")); // nobody else can make it
        CHECK_FALSE(is_roots_folder(image / "own/gone"));
        CHECK(roots_folders((image / "own/bin") + "::.:bin:" + bin + ":" + (image / "open") + ":" +
                            (image / "sticky") + ":" + bin) == bin);
        CHECK(roots_folders("").empty());
    }

    TEST_CASE("root passes over the programs of others, and says what it has passed over") {
        const Image image;
        Environment environment;
        image.program("own/bin/smi");
        image.program("open/smi");
        environment.set("PATH", (image / "own/bin") + ":" + (image / "open") + ":" + (image / "bin"));
        const auto none = find_roots_program("smi", environment);
        CHECK(none.path.empty());
        CHECK(none.error.code == 126);
        CHECK(none.error.message ==
              "smi: found at " + (image / "own/bin/smi") + ", which users other than root can change");
        const auto good = image.program("bin/smi");
        CHECK(find_roots_program("smi", environment).path == good);
        CHECK(find_program("smi", environment).path == image / "own/bin/smi");
    }
}

} // namespace roots_way_test
