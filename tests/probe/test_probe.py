"""dockdist-probe: real processes, which exchange data through stub libraries that compute on the host (stubs/)."""

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import tempfile

import pytest

from harness.cleanup import WithCleanup
from harness.patience import Watch
from harness.probe_process import CUDA, NCCL, PROGRAM, STUBS, Probe, World

ROCM = STUBS + "/rocm"
OPERATIONS = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_receive"]
REAL_NCCL = ["/usr/local/cuda/lib/libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2", "/usr/lib/x86_64-linux-gnu/libnccl.so.2"]


def output_of(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


class TestProgram:
    def test_says_what_it_is(self):
        helped = output_of("--help")
        assert helped.returncode == 0
        for word in ("--libcuda", "--libnccl", "--version", "Exit codes", "stdin"):
            assert word in helped.stdout
        assert re.search(r"^dockdist-probe \d+\.\d+\.\d+\n$", output_of("--version").stdout)

    def test_an_unknown_option(self):
        refused = output_of("--speed")
        assert refused.returncode == 2
        assert "there is no option --speed" in refused.stderr
        assert "a PATH is missing after --libnccl" in output_of("--libnccl").stderr

    def test_starts_with_glibc_2_17(self):
        # What it asks of the image's C library, by versions; 2.17 is RHEL 7's.
        symbols = subprocess.run(["objdump", "-T", PROGRAM], capture_output=True, text=True, check=True).stdout
        versions = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", symbols)}
        assert max(versions) <= (2, 17), sorted(versions)[-3:]
        needed = subprocess.run(["objdump", "-p", PROGRAM], capture_output=True, text=True, check=True).stdout
        libraries = set(re.findall(r"NEEDED +(\S+)", needed))
        assert libraries <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2",
                                         "ld-linux-aarch64.so.1"}

    def test_is_small(self):
        assert os.path.getsize(PROGRAM) <= 2 << 20

    def test_an_order_that_is_none(self):
        for order, words in (({"rank": 0}, "world_size"), ({"rank": 2, "world_size": 2, "deadline_ms": 1}, "rank is from 0"),
                             ({"rank": 0, "world_size": 1, "deadline_ms": 1, "operations": ["all_reduce", "gather"]}, '"gather"')):
            probe = Probe()
            probe.tell(**order)
            assert probe.end() == 2
            assert words in probe.result["error"]["message"]

    def test_the_end_of_stdin_ends_it_at_once(self):
        probe = Probe()
        probe.tell(rank=1, world_size=2, deadline_ms=60000)
        assert probe.next("device") is not None  # from here on it waits for the id
        watch = Watch()
        probe.process.stdin.close()
        assert probe.process.wait(10) == 6
        assert watch.within(5), watch
        probe.reader.join()
        assert probe.result["error"]["kind"] == "interrupted"
        probe.process.stdout.close()
        probe.process.stderr.close()


class TestResult(WithCleanup):
    def check_world(self, size, nccl=NCCL, **order):
        world = World(self.cleanup, size, nccl=nccl, **{"first_bytes": 1024, "last_bytes": 1 << 20, "factor": 8, **order})
        assert world.end() == [0] * size
        for probe in world.ranks:
            assert probe.result["ok"]
            assert {m["wrong"] for m in probe.measurements()} == {0}
            # Every operation, type and size, in the same order on every rank.
            assert ([(m["operation"], m["data_type"], m["bytes"]) for m in probe.measurements()]
                    == [(m["operation"], m["data_type"], m["bytes"]) for m in world.ranks[0].measurements()])
        return world

    def test_one_rank_is_a_copy(self):
        world = self.check_world(1)
        measurements = world.ranks[0].measurements()
        assert len(measurements) == 6 * 2 * 4
        assert {m["kind"] for m in measurements} == {"copy"}
        assert {m["bus_gbps"] for m in measurements} == {0}

    def test_two_ranks(self):
        world = self.check_world(2)
        for probe in world.ranks:
            measurements = probe.measurements()
            assert {(m["operation"], m["data_type"]) for m in measurements} == {(o, t) for o in OPERATIONS for t in ("float", "bf16")}
            for m in measurements:
                assert m["kind"] == "collective"
                factor = {"all_gather": 0.5, "reduce_scatter": 0.5, "all_to_all": 0.5}.get(m["operation"], 1)
                assert round(m["bus_gbps"] - m["algorithm_gbps"] * factor, 7) == 0
                assert round(m["algorithm_gbps"] - m["bytes"] / m["time_us"] / 1e3, 7) == 0
                # Twice every element: before the timed iterations and after them.
                elements = m["bytes"] // (4 if m["data_type"] == "float" else 2)
                assert m["checked"] == 2 * (elements // 2 if m["operation"] == "reduce_scatter" else elements)
            assert probe.result["network"] == "Socket"
            assert probe.result["interfaces"] == ["lo"]
            assert probe.result["transports"] == [{"kind": "NET/Socket", "detail": "", "connections": 2}]

    def test_amd_s_libraries(self):
        world = self.check_world(2, cuda=ROCM + "/libamdhip64.so.6", nccl=None, environment={"LD_LIBRARY_PATH": ROCM}, sizes=[1024, 300000])
        for probe in world.ranks:
            device = next(line for line in probe.lines if line["type"] == "device")
            assert (device["name"], device["nccl"], device["libnccl"]) == ("Stub GPU of AMD's", "2.20.5", ROCM + "/librccl.so.1")

    def test_three_and_four_ranks(self):
        self.check_world(3, sizes=[1000, 65536])
        self.check_world(4, sizes=[1024, 300000])

    def test_more_than_a_period_of_the_pattern(self):
        # 12 MiB of bf16 are six periods, in more than one piece of the staging buffer for float's 20 MiB.
        self.check_world(2, sizes=[12 << 20], types=["bf16"], iterations=1, warm_up=0)
        self.check_world(2, sizes=[20 << 20], types=["float"], operations=["all_reduce", "all_gather"], iterations=1, warm_up=0)

    def test_sizes_that_do_not_fit_are_left_out_on_every_rank(self):
        # Rank 1 has the least memory, and decides for all.
        world = World(self.cleanup, 2, sizes=[1024, 1 << 20, 64 << 20], operations=["all_reduce"], types=["float"], deadline_ms=10000,
                      environment={"DOCKDIST_STUB_MEMORY": str(512 << 20)},
                      environments={1: {"DOCKDIST_STUB_MEMORY": str(4 << 20)}})
        assert world.end() == [0, 0]
        for probe in world.ranks:
            assert {m["bytes"] for m in probe.measurements()} == {1024, 1 << 20}
            assert probe.result["left_out"] == [64 << 20]

    def test_an_nccl_whose_calls_block(self):
        world = self.check_world(2, nccl=STUBS + "/nccl-21210/libnccl.so.2", sizes=[4096])
        device = next(line for line in world.ranks[0].lines if line["type"] == "device")
        assert device["nccl"] == "2.12.10"
        assert (device["name"], device["driver"]) == ("Stub GPU", "12.4")

    def test_only_lines_on_stdout(self):
        world = self.check_world(1, sizes=[1024])  # every line was read as JSON
        assert "the stub's word on stdout" in world.ranks[0].error_words


class TestFault(WithCleanup):
    def world(self, size, fault, rank=1, **order):
        return World(self.cleanup, size, environments={rank: {"DOCKDIST_STUB_FAULT": fault}}, **{"sizes": [4096], **order})

    def test_a_corrupt_element(self):
        for operation in OPERATIONS[:5]:
            world = self.world(4 if operation == "all_to_all" else 2, operation_fault := "corrupt=%s:17" % operation, types=["float"],
                               operations=[operation])
            codes = world.end()
            assert codes[:2] == [0, 1], operation_fault
            result = world.ranks[1].result
            assert not result["ok"]
            assert re.search(r"^%s of 4096 bytes of float: 2 of \d+ elements are wrong, the first one at index 17: expected " % operation,
                             result["error"]["message"])
            wrong = world.ranks[1].measurements()[0]["first_wrong"]
            assert wrong["index"] == 17
            assert wrong["got"] == wrong["expected"] + 1
            assert result["error"]["where"] == "rank 1 of %d" % len(world.ranks)
            assert "ECC" in result["error"]["hint"]

    def test_a_corrupt_element_of_bf16_far_behind(self):
        world = self.world(2, "corrupt=all_reduce:1500000", types=["bf16"], operations=["all_reduce"], sizes=[4 << 20], iterations=1)
        assert world.end() == [0, 1]
        assert world.ranks[1].measurements()[0]["first_wrong"]["index"] == 1500000

    def test_an_element_that_is_never_written(self):
        world = self.world(2, "lose=all_gather:1023", operations=["all_gather"], types=["float"])
        assert world.end() == [0, 1]
        assert world.ranks[1].measurements()[0]["first_wrong"]["index"] == 1023

    def test_an_element_that_keeps_what_an_earlier_iteration_wrote(self):
        world = self.world(2, "late=all_reduce:5", operations=["all_reduce"], types=["float"])
        assert world.end() == [0, 1]
        measured = world.ranks[1].measurements()[0]
        assert (measured["wrong"], measured["first_wrong"]["index"]) == (1, 5)

    def test_blocks_that_change_places(self):
        world = self.world(2, "swap=all_gather", operations=["all_gather"], sizes=[1 << 20], types=["float"])
        assert world.end() == [0, 1]
        measured = world.ranks[1].measurements()[0]
        assert measured["wrong"] > 0.9 * measured["checked"]

    def test_a_hang_ends_by_the_deadline(self):
        # The one that hangs has the later deadline: it hears of no other's end.
        deadlines = [3000, 4500]
        world = self.world(2, "hang=all_gather", types=["bf16"], orders={rank: {"deadline_ms": ms} for rank, ms in enumerate(deadlines)})
        assert world.end() == [5, 5]
        assert world.watch.within(12), world.watch
        for rank, probe in enumerate(world.ranks):
            error = probe.result["error"]
            assert error["kind"] == "timeout"
            assert error["message"] == f"all_gather of 4096 bytes of bf16 had not ended when the deadline of {deadlines[rank]} ms passed"
            assert error["where"] == "rank %d of 2" % rank
            # What was measured before is there.
            assert [m["operation"] for m in probe.measurements()] == ["all_reduce"]

    def test_an_init_that_never_comes_back(self):
        # An old NCCL, whose call blocks: the main thread is stuck in it, and the other one ends the process.
        world = World(self.cleanup, 1, nccl=STUBS + "/nccl-21210/libnccl.so.2", environment={"DOCKDIST_STUB_FAULT": "hang=init"},
                      deadline_ms=500)
        assert world.end() == [5]
        assert "the meeting of all ranks" in world.ranks[0].result["error"]["message"]
        assert world.watch.within(8), world.watch

    def test_a_rank_that_never_comes(self):
        world = World(self.cleanup, 1, world_size=2, deadline_ms=1500)
        assert world.end() == [5]
        assert "the meeting of all ranks" in world.ranks[0].result["error"]["message"]

    def test_an_id_that_never_comes(self):
        probe = Probe()
        self.cleanup.callback(probe.kill)
        probe.tell(rank=1, world_size=2, deadline_ms=500)
        assert probe.end() == 5
        assert "waiting for rank 0's id" in probe.result["error"]["message"]

    def test_the_death_of_one_ends_the_others(self):
        world = self.world(4, "die=broadcast", rank=2)
        codes = world.end()
        assert codes == [4, 4, 9, 4]
        assert world.watch.within(15), world.watch  # not by the deadline of 25 s
        for rank in (0, 1, 3):
            error = world.ranks[rank].result["error"]
            assert "remote process exited" in error["message"]
            assert "ended first" in error["hint"]

    def test_a_call_that_fails(self):
        world = self.world(1, "refuse=reduce_scatter", rank=0)
        assert world.end() == [4]
        assert world.ranks[0].result["error"]["message"] == "ncclReduceScatter: error (NCCL 5): the stub's own words"

    def test_an_init_that_fails(self):
        world = self.world(2, "fail=init", deadline_ms=2000)
        assert world.end() == [5, 4]
        assert "unhandled system error (NCCL 2)" in world.ranks[1].result["error"]["message"]


class TestLibrary(WithCleanup):
    ORDER = {"rank": 0, "world_size": 1, "deadline_ms": 20000, "sizes": [1024], "operations": ["all_reduce"]}

    def run_probe(self, **settings):
        probe = Probe(**settings)
        self.cleanup.callback(probe.kill)
        probe.tell(**self.ORDER)
        return probe.end(), probe

    def refusal(self, **settings):
        code, probe = self.run_probe(**settings)
        assert code == 3
        assert probe.result["error"]["hint"]
        return probe.result["error"]["message"]

    def test_missing_libraries(self):
        assert (self.refusal(cuda="/nowhere/libcuda.so.1")
                == "there is no libcuda.so.1 (looked in 1 place, the first of them /nowhere/libcuda.so.1)")
        assert "there is no libnccl.so.2" in self.refusal(nccl="/nowhere/libnccl.so.2")

    def test_a_file_that_is_no_library(self):
        assert "libnccl.so.2 does not open: " + __file__ in self.refusal(nccl=__file__)

    def test_an_nccl_without_send_and_receive(self):
        assert "has no ncclSend" in self.refusal(nccl=STUBS + "/nccl-20408/libnccl.so.2")

    def test_no_driver_and_no_gpu(self):
        assert "no CUDA-capable device is detected" in self.refusal(DOCKDIST_STUB_CUINIT="100")
        assert self.refusal(DOCKDIST_STUB_GPUS="0") == "there is no GPU 0: the container has 0"

    def test_no_memory(self):
        code, probe = self.run_probe(DOCKDIST_STUB_MEMORY="4096")
        assert code == 4
        assert "no memory to spare" in probe.result["error"]["message"]

    def test_library_path(self):
        code, probe = self.run_probe(cuda=None, nccl=None, LD_LIBRARY_PATH=os.path.dirname(CUDA) + ":" + os.path.dirname(NCCL))
        assert code == 0, probe.lines
        assert (probe.lines[0]["libcuda"], probe.lines[0]["libnccl"]) == (CUDA, NCCL)

    def test_amd_s_are_looked_for_where_there_is_no_libcuda(self):
        with contextlib.suppress(OSError):
            ctypes.CDLL("libcuda.so.1")
            pytest.skip("there is a libcuda here")
        code, probe = self.run_probe(cuda=None, nccl=None, LD_LIBRARY_PATH=ROCM)
        assert code == 0, probe.lines
        assert (probe.lines[0]["libcuda"], probe.lines[0]["libnccl"]) == (ROCM + "/libamdhip64.so.6", ROCM + "/librccl.so.1")
        code, probe = self.run_probe(cuda=None, nccl=None, LD_LIBRARY_PATH=ROCM, DOCKDIST_STUB_CUINIT="100")
        assert (code, probe.result["error"]["message"]) == (3, "HIP's cuInit: no CUDA-capable device is detected (HIP 100)")
        assert "/dev/kfd" in probe.result["error"]["hint"]
        assert "there is no libcuda.so.1" in self.refusal(cuda=None, nccl=None)

    def test_pytorchs_wheel(self):
        folder = tempfile.mkdtemp(prefix="dockdist-probe-")
        self.cleanup.callback(shutil.rmtree, folder)
        wheel = folder + "/lib/python3.11/site-packages/nvidia/nccl/lib"
        os.makedirs(wheel)
        shutil.copy(NCCL, wheel)
        code, probe = self.run_probe(nccl=None, VIRTUAL_ENV=folder)
        assert code == 0, probe.lines
        assert probe.lines[0]["libnccl"] == wheel + "/libnccl.so.2"


class TestRealNccl(WithCleanup):
    def test_opens_and_fails_clearly_without_a_gpu(self):
        path = next((path for path in REAL_NCCL if os.path.exists(path)), None)
        if path is None:
            pytest.skip("there is no real NCCL here")
        world = World(self.cleanup, 1, nccl=path, sizes=[1024], deadline_ms=15000)
        code = world.end()[0]
        probe = world.ranks[0]
        device = next(line for line in probe.lines if line["type"] == "device")
        assert re.search(r"^2\.\d+\.\d+$", device["nccl"])
        assert device["libnccl"] == (os.path.realpath(path) if device["libnccl"] != path else path)
        assert code == 4, probe.lines
        assert re.search(r"^nccl\w+: .+ \(NCCL \d\)", probe.result["error"]["message"])
