// The sections of cluster.yaml, one reader and one table of keys each. The tables are the single source for
// what is accepted, for suggestions, and for the test that holds templates/cluster.schema.json against them.
#pragma once

#include "client/spec/inventory.hpp"
#include "client/spec/reader.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// A host with the places that later checks speak of; at first an item of the list, which may stand for many.
struct HostDraft {
    HostSpec spec{};
    Value at{};
    std::optional<Value> name{}, docker{}, context{}, from{}, tls{}, insecure{}, cdi{}, address{}, gpus{},
        nodes{};
    std::string name_text{}, docker_text{}, address_text{}; // as the item has them: ranges, %h
    std::optional<HostSource> source{};                     // of `from`, where it is right
    bool docker_is_read = false;                            // spec.docker holds an address
    bool gpus_are_read = true;
    bool nodes_are_read = true;
};

struct ClusterDraft {
    ClusterSpec spec{};
    std::vector<HostDraft> hosts{};
    std::optional<Value> image{}, hosts_at{}, groups{}, ssh_port{}, spares{}, min_nodes{};
    std::vector<Value> data{};         // one for each of spec.data
    std::vector<HostSource> sources{}; // that nobody has read yet
    bool hosts_are_known = true;       // false: an item's hosts could not be told, so no name can be judged
};

std::span<const Key<ClusterDraft>> cluster_keys();
std::span<const Key<ImageSpec>> image_keys();
std::span<const Key<BuildSpec>> build_keys(); // of the long form
std::span<const Key<HostDraft>> host_keys();
std::span<const Key<TlsFiles>> tls_keys();
std::span<const Key<HostSource>> source_keys(); // of the long form
std::span<const Key<ContainerSpec>> container_keys();
std::span<const Key<UlimitSpec>> ulimit_keys(); // of the long form
Words ulimit_names();
std::span<const Key<MountSpec>> mount_keys(); // of the long form
std::span<const Key<ClusterDraft>> ssh_keys();
std::span<const Key<NetworkSpec>> network_keys();
std::span<const Key<SyncSpec>> sync_keys();   // of the long form
std::span<const Key<SetupSpec>> setup_keys(); // of the long form
std::span<const Key<DataSpec>> data_keys();
std::span<const Key<IdleSpec>> idle_keys(); // of the long form
std::span<const Key<HistorySpec>> history_keys();
Words secret_keys();
Words role_keys();

void read_image(Reader& reader, const Value& value, ImageSpec& image);
void read_build(Reader& reader, const Value& value, ImageSpec& image);
void read_hosts(Reader& reader, const Value& value, ClusterDraft& draft);
void read_source(Reader& reader, const Value& value, HostDraft& draft);
bool is_slurm(const Value& value); // `from: slurm`, `hosts: slurm`: a file of that name is ./slurm
void read_host_groups(Reader& reader, const Value& value, HostDraft& draft);
void read_gpus(Reader& reader, const Value& value, GpuSpec& gpus, bool& is_read);
void read_container(Reader& reader, const Value& value, ContainerSpec& container);
void read_mounts(Reader& reader, const Value& value, ContainerSpec& container);
void read_ulimits(Reader& reader, const Value& value, ContainerSpec& container);
enum class Variables { of_nodes, of_build };
void read_env(Reader& reader, const Value& value, std::map<std::string, std::string>& env,
              Variables of = Variables::of_nodes);
// With `resolve` their values are looked up. Those of a build are no variables: their names are ids, and a
// file's content goes as it is; what cannot be looked up is put off.
void read_secrets(Reader& reader, const Value& value, bool resolve, std::vector<SecretSpec>& secrets,
                  Variables of = Variables::of_nodes);
void read_network(Reader& reader, const Value& value, NetworkSpec& network);
void read_sync(Reader& reader, const Value& value, ClusterDraft& draft);
void read_setup(Reader& reader, const Value& value, ClusterDraft& draft);
void read_data(Reader& reader, const Value& value, ClusterDraft& draft);
void read_idle(Reader& reader, const Value& value, ClusterDraft& draft);
void read_history(Reader& reader, const Value& value, ClusterDraft& draft);
void read_collect(Reader& reader, const Value& value, ClusterDraft& draft);

// NAME, UID, NAME:GROUP or UID:GID; root is "".
std::optional<std::string> read_account(Reader& reader, const Value& value);
// Whether that can be mounted from a host: an absolute path there, or a volume's name; says why not.
bool check_host_source(Reader& reader, const Value& value, const std::string& source);
void read_excluded(Reader& reader, const Value& value, std::vector<std::string>& patterns);

// What an absolute path in a container may not be: a reason, or nothing.
std::optional<std::string> refuse_target(const std::string& target);
// A path in the containers that refuse_target() lets pass; nothing, and the error is told, where it does not.
std::optional<std::string> read_target(Reader& reader, const Value& value);

// `name` as the name of a host, node or cluster; says why not.
bool check_name(Reader& reader, const Value& value, const std::string& name, std::string_view what);

// The hosts that one item of the list stands for, each with its address, name and place for peers. None: the
// mistake is told, or the list it names has not been read.
std::vector<HostDraft> expand_hosts(Reader& reader, const HostDraft& item, ClusterDraft& draft);

// The hosts that neither the file nor a list names. What the file says of other hosts by their position's
// name is settled, too.
void name_hosts(ClusterDraft& draft);

bool is_group_name(std::string_view text);
// `groups` of the file: into the hosts.
void settle_groups(Reader& reader, ClusterDraft& draft);

// What no single section can tell: names, ports and GPUs given twice, what has to be there.
void check_cluster(Reader& reader, const Value& root, ClusterDraft& draft);

} // namespace dockdist
