#include "node/system/on_record.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"

#include <unistd.h>
#include <utility>

namespace dockdist::node {

Environment recorded_environment() {
    const auto block = read_file(paths().environment);
    return block && !block->empty() ? Environment::from_block(*block) : Environment::own();
}

Account named_account(const std::string& name_or_id, std::string& error) {
    const auto passwd = read_file_or_empty(paths().passwd);
    auto account = find_account(name_or_id, passwd, read_file_or_empty(paths().group));
    if (!account) {
        error = account.error().message;
        return {};
    }
    if (account->shell.empty() || !is_executable(account->shell)) {
        account->shell = is_executable("/bin/sh") ? "/bin/sh" : paths().own;
    }
    return std::move(*account);
}

Account recorded_account() {
    constexpr uid_t nobody = 65534;
    std::string error;
    auto account = named_account(read_file_or_empty(paths().user_name), error);
    return error.empty() ? account
                         : Account{.name = "nobody",
                                   .uid = nobody,
                                   .gid = nobody,
                                   .home = "/",
                                   .shell = "/bin/sh",
                                   .groups = {nobody}};
}

std::string recorded_workdir() {
    auto folder = read_file_or_empty(paths().workdir);
    return folder.empty() ? "/" : folder;
}

bool guards_root() {
    return ::geteuid() == 0 && (read_file_or_empty(paths().user_name).empty() || recorded_account().uid != 0);
}

} // namespace dockdist::node
