// The lines are from public reports, named above each case.
#include "probe/nccl_log.hpp"

#include <doctest/doctest.h>

namespace nccl_log_test {

using namespace dockdist::probe;
using Strings = std::vector<std::string>;
using Transports = std::vector<Transport>;

TEST_CASE("RoCE and NVLink: NCCL 2.19 and 2.22") {
    // github.com/NVIDIA/nccl-tests/issues/185, nccl/issues/1538, nccl/issues/1189
    const auto log = parse_nccl_log(
        R"(dgxh100-4:460770:460770 [0] NCCL INFO Bootstrap : Using enp220s0np0:11.1.128.136<0>
dgxh100-4:460770:460770 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory No plugin found (libnccl-net.so), using internal implementation
NCCL version 2.19.3+cuda12.3
dgxh100-4:460770:460842 [0] NCCL INFO NET/IB : Using [0]mlx5_10:1/RoCE [1]mlx5_11:1/RoCE [RO]; OOB enp220s0np0:11.1.128.136<0>
dgxh100-4:460770:460842 [0] NCCL INFO Using non-device net plugin version 0
dgxh100-4:460770:460842 [0] NCCL INFO Using network IB
H20-GPU-06:4015540:4015653 [1] NCCL INFO Channel 00/0 : 1[1] -> 3[1] [receive] via NET/IB/2/GDRDMA
H20-GPU-06:4015540:4015653 [1] NCCL INFO Channel 02/0 : 1[1] -> 3[1] [receive] via NET/IB/2/GDRDMA
H20-GPU-06:4015540:4015653 [1] NCCL INFO Channel 01/0 : 3[1] -> 1[1] [send] via NET/IB/2/GDRDMA
H20-GPU-06:4015540:4015653 [1] NCCL INFO Channel 00/0 : 3[1] -> 2[0] via P2P/CUMEM
)");
    CHECK(log.version == "2.19.3+cuda12.3");
    CHECK(log.network == "IB");
    CHECK(log.rdma_devices == Strings{"mlx5_10:1/RoCE", "mlx5_11:1/RoCE"});
    CHECK(log.interfaces.empty());
    CHECK_FALSE(log.no_rdma_device);
    CHECK(log.transports == Transports{{"NET/IB", "GDRDMA", 3}, {"P2P", "CUMEM", 1}});
}

TEST_CASE("no RDMA device, sockets: NCCL 2.19") {
    // github.com/NVIDIA/nccl/issues/1267, nccl-tests/issues/188, nccl/issues/952
    const auto log = parse_nccl_log(
        R"(instance-8g-96c-2:525781:525957 [0] NCCL INFO NET/IB : No device found.
instance-8g-96c-2:525781:525957 [0] NCCL INFO NET/Socket : Using [0]ens7:10.128.0.31<0>
instance-8g-96c-2:525781:525957 [0] NCCL INFO Using non-device net plugin version 0
instance-8g-96c-2:525781:525957 [0] NCCL INFO Using network Socket
user:169132:169177 [7] NCCL INFO Channel 00/0 : 15[ca000] -> 0[27000] [send] via NET/Socket/3
user:169127:169179 [2] NCCL INFO Channel 00/0 : 10[51000] -> 11[57000] via P2P/IPC/read
)");
    CHECK(log.no_rdma_device);
    CHECK(log.network == "Socket");
    CHECK(log.interfaces == Strings{"ens7"});
    CHECK(log.transports == Transports{{"NET/Socket", "", 1}, {"P2P", "IPC/read", 1}});
}

TEST_CASE("several interfaces, one address hidden: NCCL 2.4") {
    // github.com/NVIDIA/nccl/issues/224, nccl-tests/issues/29
    const auto log = parse_nccl_log(
        R"([1,3]<stdout>:gpu6:1410:1605 [3] NCCL INFO NET/Socket : Using [0]enp1s0f0:172.16.0.166<0> [1]enp96s0f0:10.0.26.164<0> [2]flannel.1:10.244.3.0<0>
server3:15223:15223 [7] NCCL INFO NET/Socket : Using [0]enp41s0f1:<0> [1]virbr0:<0>
server3:15221:15221 [5] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB enp41s0f1:<0>
)");
    CHECK(log.interfaces == Strings{"enp1s0f0", "enp96s0f0", "flannel.1", "enp41s0f1", "virbr0"});
    CHECK(log.rdma_devices == Strings{"mlx5_0:1/IB"});
}

TEST_CASE("older words: rings with bus ids, NCCL 2.6") {
    // github.com/NVIDIA/nccl/issues/302
    const auto log = parse_nccl_log(
        R"([56] crow-ib-new-nccl-262-b-7:7240:7401 [0] NCCL INFO Ring 00 : 51[3d000] -> 56[1a000] [receive] via NET/IB/2
[56] crow-ib-new-nccl-262-b-7:7240:7401 [0] NCCL INFO Ring 00 : 56[1a000] -> 58[3e000] via P2P/IPC
[56] crow-ib-new-nccl-262-b-7:7240:7401 [0] misc/ibvwrap.cc:284 NCCL WARN Call to ibv_modify_qp failed with error Invalid argument
)");
    CHECK(log.transports == Transports{{"NET/IB", "", 1}, {"P2P", "IPC", 1}});
    CHECK(log.warnings == Strings{"Call to ibv_modify_qp failed with error Invalid argument"});
}

TEST_CASE("shared memory, direct pointers, a plugin, another rank's NIC") {
    // github.com/NVIDIA/nccl-tests/issues/166, nccl/issues/1412, nccl/issues/1814, nccl/issues/1538; the two
    // last lines are formats of src/transport/net.cc and coll_net.cc of 2.28.
    const auto log = parse_nccl_log(
        R"(ubuntu:39964:40050 [6] NCCL INFO Channel 09 : 6[6] -> 7[7] via SHM/direct/direct
swat1-04:2017630:2017697 [7] NCCL INFO Channel 00/0 : 7[7] -> 6[6] via P2P/direct pointer/read
hostname-test:987:1260 [7] NCCL INFO Channel 03/0 : 47[7] -> 39[7] [receive] via NET/IBext_v8/2
job-3bb823c0:5665:5733 [2] NCCL INFO Using network IBext_v8
h:1:2 [0] NCCL INFO Channel 02/0 : 0[0] -> 9[1] [send] via NET/IB/1(1)/GDRDMA(PCI)/Shared
h:1:2 [0] NCCL INFO CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA
)");
    CHECK(log.network == "IBext_v8");
    CHECK(log.transports == Transports{{"SHM", "direct/direct", 1},
                                       {"P2P", "direct pointer/read", 1},
                                       {"NET/IBext_v8", "", 1},
                                       {"NET/IB", "GDRDMA(PCI)/Shared/PXN", 1},
                                       {"COLLNET/SHARP", "GDRDMA", 1}});
}

TEST_CASE("a log that is cut, or none") {
    CHECK(parse_nccl_log("").transports.empty());
    CHECK(parse_nccl_log("h:1:2 [0] NCCL INFO NET/Socket : Using [0").interfaces.empty());
    CHECK(parse_nccl_log("h:1:2 [0] NCCL INFO NET/Socket : Using [").interfaces.empty());
    CHECK(parse_nccl_log("h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via ").transports.empty());
    CHECK(parse_nccl_log("h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via NET\r\n").transports.size() ==
          1);
    CHECK(parse_nccl_log("DOCKDIST via NET/IB -> nobody").transports.size() == 1);
}

TEST_CASE("of many warnings the first ten") {
    std::string text;
    for (int i = 0; i < 30; ++i) {
        text += "h:1:2 [0] x.cc:1 NCCL WARN number " + std::to_string(i) + "\n";
    }
    const auto log = parse_nccl_log(text);
    CHECK(log.warnings.size() == 10);
    CHECK(log.warnings.back() == "number 9");
}

} // namespace nccl_log_test
