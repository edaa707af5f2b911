#include "client/export/script_text.hpp"

#include <fmt/format.h>

namespace dockdist {

// What is told to end before it hears TERM finds a file that says so.
std::string rank_loop(bool leads, std::chrono::seconds grace) {
    std::string text = R"(mkfifo "$job_folder/ended" || exit 1
exec 3<>"$job_folder/ended"
stop() {
    : >"$job_folder/stop"
    kill $pids 2>/dev/null
}
pids=
trap '' TERM
LOCAL_RANK=0
while [ "$LOCAL_RANK" -lt "$slots" ]; do
    (
        trap 'stopped=1' TERM
        [ ! -e "$job_folder/stop" ] || stopped=1
        RANK=$((first_rank + LOCAL_RANK))
        export RANK LOCAL_RANK
        run start_rank
        echo "$? $LOCAL_RANK" >&3
    ) &
    pids="$pids $!"
    LOCAL_RANK=$((LOCAL_RANK + 1))
done
trap stop TERM
left=$slots
result=0
while [ "$left" -gt 0 ]; do
    read -r code rank <&3 || continue
    [ "$rank" != late ] || break
    left=$((left - 1))
)";
    if (leads) { // the others end with the script
        text += "    [ \"$code $rank $result\" != \"0 0 0\" ] || break\n";
    }
    text += fmt::format(R"(    if [ "$code" -ne 0 ] && [ "$result" -eq 0 ]; then
        result=$code
        stop
        (sleep {}; echo 0 late >&3) >/dev/null 2>&1 &
    fi
done
)",
                        grace.count());
    if (leads) {
        text += "stop\n";
    }
    return text + "exit \"$result\"\n";
}

std::string here_document(const std::string& file, const std::string& text, bool quoted) {
    std::string end = "END";
    while (text.find(end) != std::string::npos) {
        end += "_";
    }
    return "cat >" + file + " <<" + (quoted ? "'" + end + "'" : end) + "\n" + text + end + "\n";
}

} // namespace dockdist
