// Commands whose output tells something about the node, run side by side before the job.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/environment.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "shared/wire/job.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dockdist::node {

// As whom, with what and where they run; a folder that cannot be entered is left for /.
struct Asking {
    Account account{};
    Environment environment{};
    std::string workdir{};
    std::int64_t limit_ms = 30000; // for each; what takes longer is ended
};

class Questions {
public:
    using Answers = std::vector<wire::Answer>;

    // `when_done` is called from the loop, once, with the answers in the order of the questions.
    Questions(Loop& loop, const std::vector<wire::Question>& questions, Asking asking,
              std::function<void(Answers)> when_done);
    ~Questions(); // ends what still runs
    Questions(const Questions&) = delete;
    Questions& operator=(const Questions&) = delete;

private:
    struct Asked {
        wire::Answer answer{};
        pid_t pid = 0; // 0: it has ended
        Fd output{};
        Loop::Timer limit = 0;
    };
    void begin(Asked& asked, const wire::Question& question);
    bool read_output(Asked& asked);
    void reap();
    void ended(Asked& asked, int status);
    void tell_when_all_have_ended();

    Loop& loop_;
    Asking asking_;
    std::function<void(Answers)> when_done_;
    Fd signals_{};
    std::vector<std::unique_ptr<Asked>> asked_{};
    Loop::Timer first_look_ = 0; // there may be nothing to wait for
    bool told_ = false;
};

} // namespace dockdist::node
