// A process's environment as an ordered list of NAME=VALUE, values byte for byte.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

class Environment {
public:
    static Environment from_block(std::string_view nul_separated);
    static Environment own();

    std::optional<std::string> get(std::string_view name) const;
    void set(std::string_view name, std::string_view value);
    void set_default(std::string_view name, std::string_view value);
    void unset(std::string_view name);

    std::string block() const; // NUL after each entry
    // For execve; valid while this object is unchanged.
    std::vector<char*> pointers();
    const std::vector<std::string>& entries() const { return entries_; }

private:
    std::vector<std::string>::iterator find(std::string_view name);
    std::vector<std::string> entries_{};
};

// Puts the toolkit's bin first, unless it stands there somewhere already.
std::string with_toolkit_first(std::string_view path);
inline constexpr const char* default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// The variables of a job that travel with its ssh sessions: one line of printable ASCII ("A=1 B=x%20y -C" for
// A, B set and C unset), or nothing when it would be longer than a variable may be.
inline constexpr const char* job_environment_variable = "DOCKDIST_JOB_ENV";
std::optional<std::string> pack_variables(const std::map<std::string, std::string>& set,
                                          const std::vector<std::string>& unset);
void apply_packed(Environment& environment, std::string_view packed);

} // namespace dockdist::node
