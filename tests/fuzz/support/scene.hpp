// A folder that a target lets strangers write into, and what stands around it, which they must not touch.
#pragma once

#include <map>
#include <string>

namespace fuzz {

class Scene {
public:
    // Below TMPDIR (scripts/fuzz gives one in memory). The working folder is in what must not be touched.
    Scene();
    ~Scene();
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;

    // The folder, absolute. What stands in it at first, as another program may have left it: a file, a
    // folder, and links to what is around it.
    const std::string& inside() const { return inside_; }
    const std::string& beside() const { return beside_; } // what must not be touched
    void reset();                                         // as it was at first
    // Whether that link is one of those that stood inside at first, and leads where it did.
    bool was_there(const std::string& link) const;
    // Ends the program where anything around it is not as it was: names, types, modes, times, contents.
    void check() const;

private:
    std::string root_{}, inside_{}, beside_{}, before_{};
    std::map<std::string, std::string> links_{}; // inside, and where they lead
};

} // namespace fuzz
