// What the nodes' images hold, compared: the image itself, and the versions that have to agree in a job.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"
#include "client/container/types.hpp"
#include "shared/wire/job.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// Programs whose output judge_versions reads; none imports torch.
std::vector<wire::Question> version_questions();

// One row when they agree, one for each that differs; none where an image has nothing of all this.
std::vector<CheckRow> judge_versions(const std::vector<CheckedNode>& nodes);

// The toolkit's OpenSSH, whose version tells those who read of a hole whether it is theirs.
std::vector<CheckRow> judge_openssh(const std::vector<CheckedNode>& nodes);

// The image that each node was made of (client/container/same_image.hpp): ids cannot be compared between
// image stores.
std::vector<CheckRow> judge_images(const std::vector<std::pair<NodeName, Result<ImageDetails>>>& images);

} // namespace dockdist
