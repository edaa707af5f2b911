#include "client/check/checked_node.hpp"

#include "shared/core/text.hpp"

namespace dockdist {

Result<wire::ProgramOutput> output_of(const CheckedNode& node, const char* question) {
    const auto found = node.facts.programs.find(question);
    return found == node.facts.programs.end()
               ? Result<wire::ProgramOutput>(Error{ErrorKind::protocol, "", "the node was not asked", ""})
               : found->second;
}

std::string first_line(const std::string& output) {
    return printable(output.substr(0, output.find('\n')));
}

} // namespace dockdist
