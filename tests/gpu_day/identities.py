"""What tells one machine from another, in words that go into files: UUIDs, serial numbers, PCI addresses, names and addresses of hosts.
Each is replaced by another one of the same shape and length, and by the same wherever it stands, so that recordings fit together and can be test data."""

import ipaddress
import pathlib
import re
import socket

UUID = re.compile(r"([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})")
OUR_UUID = re.compile(r"^0000[0-9a-f]{4}-0000-4000-8000-0000[0-9a-f]{8}$|^[0-]*$")  # of none, too
# 00000000:3B:00.0 (nvidia-smi), 0000:3b:00.0 (CUDA), PCI:0000:3b:00 (the kernel's log), 3b:00.0 (lspci)
PCI = re.compile(r"(?:(?<![0-9a-fA-F])([0-9a-fA-F]{8}|[0-9a-fA-F]{4}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(\.[0-7])?"
                 r"|(?<![0-9a-fA-F:.])([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(\.[0-7]))(?![0-9a-zA-Z:])")
# Where a number stands alone, behind what says what it is.
PARTS = [("bus", re.compile(r"(\bBus +: 0x|<pci_bus>)([0-9A-Fa-f]{2})\b")),
         ("domain", re.compile(r"(\bDomain +: 0x|<pci_domain>)([0-9A-Fa-f]{4})\b")),
         ("nccl", re.compile(r"(\bbusId )([0-9a-f]{4,})\b"))]
# Of a board, as `nvidia-smi -q` and its XML have them: what they are is told by the name before it.
SERIALS = re.compile(r"(?:(?:Chassis |Module )?Serial(?: Number)?|GPU PDI|GPU Fabric GUID|Board ID|(?:Host|Rack|System) (?:ID|GUID)) +: (\S[^\n]*)"
                     r"|<(?:\w*serial\w*|pdi|gpu_fabric_guid|board_id|\w*_guid)>([^<\n]*)<")
SAYS_NOTHING = re.compile(r"^(\[?N/A\]?|\[?Not Supported\]?|None|Unknown.*|0x0*|0*|)$")
GENERIC = {"localhost", "localhost.localdomain", "gpu", "node", "host", "vm", "debian", "ubuntu", "h100", "h200"}  # tell nothing


def own_names():
    """This machine's names, its addresses beside loopback's, and what else is its own, each with its kind."""
    found = []
    names = {socket.gethostname(), socket.gethostname().partition(".")[0]}
    found += [("host", name) for name in names]
    for path in ("/etc/machine-id", "/sys/class/dmi/id/product_serial", "/sys/class/dmi/id/board_serial", "/sys/class/dmi/id/chassis_serial"):
        found.append(("serial", read(path)))
    for path in pathlib.Path("/sys/class/net").glob("*/address"):
        address = read(path)
        if address and address.strip("0:"):
            found.append(("mac", address))
    return found + [("address", address) for address in own_addresses()]


def own_addresses():
    """As the kernel has them: who asks for a name may wait for a network that is not there."""
    addresses = set(re.findall(r"\|-- (\S+)\n +/32 host LOCAL", read("/proc/net/fib_trie")))
    for line in read("/proc/net/if_inet6").splitlines():
        addresses.add(str(ipaddress.IPv6Address(bytes.fromhex(line.split()[0]))))
    return sorted(address for address in addresses if not ipaddress.ip_address(address).is_loopback)


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


class Identities:
    def __init__(self, names=()):
        self.uuids, self.busses = {}, {}
        self.literals = {}  # original: what stands for it
        self.counts = {}
        self.taken = {value for _, value in names}  # a machine may have an address that would stand for another's
        for kind, value in names:
            self.add(kind, value)

    def number(self, kind):
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return self.counts[kind]

    def add(self, kind, value):
        value = value.strip()
        if SAYS_NOTHING.match(value) or value in GENERIC or value in self.literals or len(value) < 2 or UUID.fullmatch(value):
            return
        while (stands := self.stands_for(kind, value, self.number(kind))) in self.taken:
            pass
        self.literals[value] = stands

    def stands_for(self, kind, value, number):
        if kind == "host":
            return ("gpu-host" + "-" * len(value))[:len(value) - 2] + f"{number:02}"
        if kind == "mac":
            return f"02:00:00:00:00:{number:02x}"
        if kind == "address":
            return f"2001:db8::{number:x}" if ":" in value else f"192.0.2.{number}"
        stem = "0x" if value.startswith("0x") else ""
        return stem + str(number).rjust(len(value) - len(stem), "0")

    def learn(self, text):
        """What a text says of serial numbers: before anything is replaced, of all texts."""
        for found in SERIALS.finditer(text):
            value = (found[1] or found[2] or "").strip()
            if not SAYS_NOTHING.match(value) and (len(value) >= 6 or value.startswith("0x")):
                self.add("serial", value)

    def uuid(self, found):
        original = found[1].lower()
        if OUR_UUID.match(original):
            return found[1]
        number = self.uuids.setdefault(original, len(self.uuids) + 1)
        return f"0000{number:04x}-0000-4000-8000-0000{number:08x}"

    def bus(self, domain, bus):
        return self.busses.setdefault((int(domain, 16), int(bus, 16)), len(self.busses) + 1)

    def pci(self, found):
        domain, bus, device, function = found.groups()[:4]
        short = domain is None
        if short:
            domain, (bus, device, function) = "0", found.groups()[4:]
        number = f"{self.bus(domain, bus):02x}"
        number = number.upper() if bus.isupper() else number
        return ("" if short else "0" * len(domain) + ":") + f"{number}:{device}{function or ''}"

    def part(self, kind, found):
        before, value = found.groups()
        if kind == "domain":
            return before + "0000"
        if kind == "bus":
            seen = [number for (_, bus), number in self.busses.items() if bus == int(value, 16)]
            return before + (f"{seen[0]:02X}" if seen else "00")
        # NCCL's: the domain, and then bus, device and function in five digits
        number = int(value, 16)
        bus = self.bus(f"{number >> 20:x}", f"{number >> 12 & 0xff:x}")
        return before + f"{bus << 12 | number & 0xfff:x}".rjust(len(value), "0")

    def replace(self, text):
        return self.replace_all(text, r"(?<!\w)(?:%s)(?!\w)")

    def replace_data(self, data):
        """Of what is no text (a pickle, say), where lengths count and words have no ends. None where it can't be done."""
        text = data.decode("latin-1")
        replaced = self.replace_all(text, "%s")
        return replaced.encode("latin-1") if len(replaced) == len(text) else None

    def replace_all(self, text, around):
        text = UUID.sub(self.uuid, text)
        for original, number in self.uuids.items():  # by their beginnings, as CUDA takes them
            text = text.replace(f"GPU-{original[:8]}", f"GPU-0000{number:04x}")
        if self.literals:  # in one go: what stands for one may be another
            words = "|".join(map(re.escape, sorted(self.literals, key=len, reverse=True)))
            text = re.sub(around % words, lambda found: self.literals[found[0]], text)
        text = PCI.sub(self.pci, text)
        for kind, pattern in PARTS:
            text = pattern.sub(lambda found, kind=kind: self.part(kind, found), text)
        return text

    def left(self, text):
        """What a text still tells of this machine."""
        words = [original for original in self.literals if re.search(rf"(?<!\w){re.escape(original)}(?!\w)", text)]
        return words + [uuid for uuid in self.uuids if uuid in text.lower()]
