"""Holds what dockdist has read from nvidia-smi's answers (gpu-answers read) against the answers themselves, and against its XML, by rules of
their own. Pure: each function gives sentences, one for each thing that was misread."""

import re
import xml.etree.ElementTree

NOT_TOLD = re.compile(r"\[?(N/A|Not Supported|Not Found|Unknown Error|Insufficient Permissions|GPU requires reset|GPU is lost)\]?$")
MIB = 1 << 20


def cells(argv, output):
    """A row a GPU: {field: what stands there}, by the names that were asked for; and the lines that are none."""
    fields = next(word for word in argv if word.startswith("--query-")).partition("=")[2].split(",")
    rows, others = [], []
    for line in output.splitlines():
        parts = [part.strip() for part in line.split(",")]
        (rows if len(parts) == len(fields) else others).append(dict(zip(fields, parts)) if len(parts) == len(fields) else line)
    return rows, [line for line in others if line.strip()]


def number(cell):
    """Of a cell; None where it is not told, and the cell itself where it is neither."""
    if NOT_TOLD.match(cell):
        return None
    try:
        return float(int(cell, 16)) if cell.startswith("0x") else float(cell)
    except ValueError:
        return cell


def expected(field, cell, in_bytes):
    if field in ("uuid", "name", "driver_version"):
        return "" if field == "uuid" and NOT_TOLD.match(cell) else cell
    if field == "mig.mode.current":
        return {"Enabled": True, "Disabled": False}.get(cell, False if NOT_TOLD.match(cell) else cell)
    value = number(cell)
    return value * MIB if isinstance(value, float) and in_bytes and field.startswith("memory.") else value


def rows_misread(what, argv, output, read, in_bytes=False):
    """Of questions that begin with --query-gpu."""
    rows, others = cells(argv, output)
    found = [f"{what}: a line is no GPU: {line}" for line in others]
    if len(rows) != len(read):
        return found + [f"{what}: {len(rows)} lines, and {len(read)} GPUs were read"]
    for row, gpu in zip(rows, read):
        if gpu is None:
            found.append(f"{what}: not understood: {row}")
            continue
        for field, cell in row.items():
            name = "reasons" if field.endswith("reasons.active") else field
            want = expected(field, cell, in_bytes)
            if gpu[name] != want:
                found.append(f"{what}: {field} is `{cell}`, and was read as {gpu[name]!r}")
    return found


def listing_misread(output, uuids, read):
    """`uuids`: of the question for the GPUs."""
    listed = re.findall(r"^GPU (\d+): .*\(UUID: ([^)]*)\)", output, re.MULTILINE)
    instances = re.findall(r"^ +MIG (\S+) +Device +(\d+): \(UUID: ([^)]*)\)", output, re.MULTILINE)
    other = [line for line in output.splitlines() if line.strip() and not re.match(r"GPU \d+: | +MIG ", line)]
    found = [f"listing: a line is neither a GPU nor an instance: {line}" for line in other]
    if [uuid for _, uuid in listed] != uuids:
        found.append("listing: its GPUs are others than the question for them has told")
    if [instance["uuid"] for instance in read["instances"]] != [uuid for _, _, uuid in instances]:
        found.append(f"listing: {len(instances)} instances, and {len(read['instances'])} were read")
    if not instances and read["usable"] != len(listed):
        found.append(f"listing: {len(listed)} GPUs, and {read['usable']} were counted")
    return found


def topology_misread(output, read):
    """The matrix is a table with tabs; a cell has blanks around it."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).split("\t") for line in output.splitlines()]
    lines = [[cell.strip() for cell in line] for line in lines]
    header = next((line for line in lines if "GPU0" in line), None)
    if header is None:
        return ["topology: there is no line with GPU0 in it"]
    gpus = [cell for cell in header if re.fullmatch(r"GPU\d+", cell)]
    found = []
    if len(read["links"]) != len(gpus):
        found.append(f"topology: {len(gpus)} GPUs, and {len(read['links'])} were read")
    for line in lines:
        if line[0] not in gpus or line is header or len(line) < len(header):
            continue
        gpu = gpus.index(line[0])
        at = dict(zip(header, line))
        for other, name in enumerate(gpus):
            if gpu != other and len(read["links"]) == len(gpus) and read["links"][gpu][other] != at[name]:
                found.append(f"topology: {line[0]} to {name} is {at[name]}, and was read as {read['links'][gpu][other]!r}")
        node = at.get("NUMA Affinity", "")
        want = int(node) if node.isdigit() else -1
        if gpu < len(read["numa_node"]) and read["numa_node"][gpu] != want:
            found.append(f"topology: the NUMA node of {line[0]} is `{node}`, and was read as {read['numa_node'][gpu]}")
    return found


def told(element, path):
    text = (element.findtext(path) or "").strip() if element is not None else ""
    return None if text in ("", "N/A", "Not Supported") else text


def xml_contradicts(document, read):
    """`nvidia-smi -q -x` of all GPUs, which dockdist does not read, against what it has read elsewhere."""
    try:
        root = xml.etree.ElementTree.fromstring(document[document.index("<nvidia_smi_log"):])
    except (ValueError, xml.etree.ElementTree.ParseError) as error:
        return [f"the XML of nvidia-smi -q -x is none: {error}"]
    found = []

    def same(what, theirs, ours):
        if theirs is not None and theirs != ours:
            found.append(f"{what}: the XML says {theirs!r}, and {ours!r} was read")

    same("CUDA's version", told(root, "cuda_version"), read["table"]["cuda"])
    gpus = root.findall("gpu")
    if len(gpus) != len(read["gpus"].get("gpus", [])):
        return found + [f"the XML has {len(gpus)} GPUs, and {len(read['gpus'].get('gpus', []))} were read"]
    for gpu, ours in zip(gpus, read["gpus"]["gpus"]):
        same("the driver", told(root, "driver_version"), ours["driver_version"])
        same("the name", told(gpu, "product_name"), ours["name"])
        same("the UUID", told(gpu, "uuid"), ours["uuid"])
        total = told(gpu, "fb_memory_usage/total")
        same("the memory", float(total.split()[0]) if total else None, ours["memory.total"])
        mode = told(gpu, "mig_mode/current_mig")
        same("MIG", None if mode is None else mode == "Enabled", ours["mig.mode.current"])
    fabric = read["log"]["fabric"] or {}
    for name, path in (("state", "fabric/state"), ("status", "fabric/status"), ("clique", "fabric/cliqueId"), ("cluster", "fabric/clusterUuid")):
        theirs = told(gpus[0], path) if gpus else None
        if name == "cluster" and theirs is not None and not theirs.strip("0-"):
            theirs = ""
        same(f"the fabric's {name}", theirs, fabric.get(name, ""))
    return found


def reasons_misread(bits, names, answers):
    """`answers`: {name: "Active" or "Not Active"}, of the fields that the driver knows; `bits`: of the mask, by name."""
    found = []
    for name, said in answers.items():
        is_set = bool(bits & names[name])
        if said in ("Active", "Not Active") and is_set != (said == "Active"):
            found.append(f"why a clock is lowered: {name} is {said}, and its bit {'is' if is_set else 'is not'} set in {bits:#x}")
    return found


def fields_of_help(text):
    """The fields of --help-query-gpu: each stands in quotes at the beginning of a line, with its other name behind an `or`."""
    return [names[0] for line in text.splitlines() if (names := re.findall(r'"([A-Za-z0-9_.]+)"', line)) and line.startswith('"')]
