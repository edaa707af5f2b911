// HOME of this process: docker's configuration, registries' logins and `~` in files lie below it.
#pragma once

namespace dockdist {

// Where the environment does not say it, as under systemd, cron or `env -i`, it is the account's home, as
// login would set it, or "/" where the account is unknown: never the folder that one happens to be in. For
// this process and for the programs that it starts. Before anything else reads it.
void complete_home();

// Whether the environment said it.
bool home_was_said();

} // namespace dockdist
