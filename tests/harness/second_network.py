"""A second network between the lab's hosts, beside the one over which their engines are reached: a bridge in the network
namespace of the lab's own engine, and a pair of interfaces for each host."""

import contextlib
import os
import pathlib
import subprocess

from harness.lab import LAB_NAME

BRIDGE = "second"


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)


def process_of(lab, number):
    shown = subprocess.run(["docker", "--host", lab.env["LAB_DOCKER_HOST"], "inspect", "--format", "{{.State.Pid}}", f"host-{number}"],
                           check=True, capture_output=True, text=True).stdout
    return shown.strip()


def on_hosts(lab, hosts, script):
    for number in hosts:
        lab.script("exec", str(number), "sh", "-euc", script.format(number=number))


@contextlib.contextmanager
def second_network(lab, addresses, interface="data0", mtu=1500, switch_mtu=9000, machine=None):
    """`addresses`: of each host, by its number, with the bits of its network: {1: "10.99.0.1/24"}. `mtu`: of all, or by number.
    `machine`: this machine's own address there, for engines that are to be reached over it."""
    engine = (pathlib.Path("/run/dockdist-lab") / LAB_NAME / "engine.pid").read_text().strip()
    inside = ["nsenter", "--target", engine, "--net"]
    link = "lab2-" + lab.env["LAB_SUBNET"].split("/")[0].replace(".", "")[:10]
    for leftover in (BRIDGE, *(f"{BRIDGE}-{number}" for number in (0, *addresses))):  # of a test that was killed
        subprocess.run([*inside, "ip", "link", "delete", leftover], check=False, capture_output=True)
    with contextlib.ExitStack() as ending:
        run(*inside, "ip", "link", "add", BRIDGE, "mtu", 9000, "type", "bridge")
        ending.callback(run, *inside, "ip", "link", "delete", BRIDGE)

        def plug(end, peer, namespace):
            run(*inside, "ip", "link", "add", end, "mtu", switch_mtu, "type", "veth", "peer", "name", peer, "netns", namespace)
            ending.callback(run, *inside, "ip", "link", "delete", end)
            run(*inside, "ip", "link", "set", end, "master", BRIDGE, "up")

        for number, address in addresses.items():
            plug(f"{BRIDGE}-{number}", interface, process_of(lab, number))
            of_it = mtu if isinstance(mtu, int) else mtu[number]
            lab.script("exec", str(number), "sh", "-euc",
                       f"""for each in lo {interface}; do echo 0 >/proc/sys/net/ipv6/conf/$each/disable_ipv6; done
                       ip address add {address} dev {interface} {'nodad' if ':' in address else ''}
                       ip link set {interface} mtu {of_it} up""")
        if machine:
            plug(f"{BRIDGE}-0", link, os.getpid())
            run("ip", "address", "add", machine, "dev", link, *(["nodad"] if ":" in machine else []))
            run("ip", "link", "set", link, "up")
        run(*inside, "ip", "link", "set", BRIDGE, "up")
        yield


@contextlib.contextmanager
def first_network_cut(lab, hosts):
    """The hosts reach this machine over the first network, and each other no more."""
    rule = f"-i eth0 ! -s {lab.env['LAB_MACHINE_ADDRESS']} -j DROP"
    on_hosts(lab, hosts, f"iptables -I INPUT {rule}")
    try:
        yield
    finally:
        on_hosts(lab, hosts, f"iptables -D INPUT {rule}")


VPN = """
mkdir -p /dev/net
[ -e /dev/net/tun ] || mknod -m 666 /dev/net/tun c 10 200
setsid socat TUN:{address}/32,tun-name=tailscale0,iff-no-pi,iff-up UDP4-DATAGRAM:{peer}:41641,bind=:41641 >/run/lab/vpn.log 2>&1 &
echo $! >/run/lab/vpn.pid
until ip link show tailscale0 >/dev/null 2>&1; do sleep 0.05; done
ip link set tailscale0 mtu 1280
ip route add 100.64.0.0/10 dev tailscale0"""


@contextlib.contextmanager
def vpn(lab, addresses):
    """Between the first two hosts, as Tailscale makes one: an interface from point to point, an address without a network, a small
    MTU; without its encryption."""
    with contextlib.ExitStack() as ending:
        for number, address in zip((1, 2), addresses):
            ending.callback(lab.script, "exec", str(number), "sh", "-uc",
                            "kill $(cat /run/lab/vpn.pid); while ip link show tailscale0 >/dev/null 2>&1; do sleep 0.05; done")
            lab.script("exec", str(number), "sh", "-euc", VPN.format(address=address, peer=lab.addresses[2 - number]))
        yield
