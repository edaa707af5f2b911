// A person's or a launcher's way into the node by ssh; the client's exec is with_environment.hpp.
#pragma once

#include "node/session/job_part.hpp"
#include "node/system/accounts.hpp"
#include "node/system/environment.hpp"
#include "node/system/on_record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

// Between TERM and KILL for the processes of a session that has lost its client.
inline constexpr std::int64_t hangup_grace_ms = 5000;

// sshd's ForceCommand. The session's environment is the container's, not sshd's; its folder is the
// container's.
int run_session();

// As an account's shell in an image that has none: `-c COMMAND`, split into words without expansion.
int run_as_shell(const std::vector<std::string>& arguments);

// What both ways in do. end_with() says it on stderr and returns the code; exec_command() runs the shell
// where there is no command, and returns only when it cannot.
int end_with(const std::string& message, int code);
void enter_workdir(const Account& account);
int exec_command(const Account& account, const std::string& command, Environment& environment);

// Pure parts.

// HOME, USER, LOGNAME and SHELL of the account, where the container's environment does not set them. A HOME
// that the engine has put there for PID 1 (root's, or / where the image names no users) counts as not set.
void apply_account(Environment& environment, const Account& account);
// The container's environment, with what sshd alone knows (SSH_*, TERM) and what belongs to the session's
// job: this node's part of it, else what the job sent along.
Environment session_environment(Environment container, const Environment& from_sshd, const Account& account,
                                const std::optional<JobPart>& part = std::nullopt);
// The argv that runs `command` (empty: an interactive shell) in `shell`. What that prints before the command
// (by BASH_ENV) would be in the way of who speaks a protocol with the command: rsync, orted, sftp. So
// the shell's own stdout can be stderr, and the command's be kept beside it until then.
std::vector<std::string> shell_argv(const std::string& shell, const std::string& command, bool output_kept);
bool can_keep_output(const std::string& shell);
inline constexpr int kept_output = 9; // the highest descriptor that every shell can name
// Words as a POSIX shell splits and unquotes them; nothing when it needs more than that (an expansion, a
// pipe, a quote that is not closed).
std::optional<std::vector<std::string>> split_words(const std::string& command);

} // namespace dockdist::node
