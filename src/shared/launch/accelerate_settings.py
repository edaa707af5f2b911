import json, os, runpy, sys


def load(file):
    with open(file, encoding="utf-8") as text:
        if file.endswith(".json"):
            found = json.load(text)
        else:
            import yaml
            found = yaml.safe_load(text)
    if not isinstance(found, dict):
        raise ValueError("it holds no settings")
    return found


def kind(settings):
    return str(settings.get("distributed_type") or "NO")  # YAML reads NO as false


def say(name, value):
    if value:
        print(name, " ".join(str(value).split())[:1500])


def ask(file, hostfile):
    settings = {}
    if file:
        settings = load(file)
        say("type", kind(settings))
        say("processes", settings.get("num_processes"))
        say("gpu_ids", settings.get("gpu_ids"))
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        home = os.environ.get("HF_HOME") or os.path.join(cache, "huggingface")
        unused = os.path.join(home, "accelerate", "default_config.yaml")
        if os.path.isfile(unused):
            say("unused_file", unused)
            say("unused_type", kind(load(unused)))
    deepspeed = settings.get("deepspeed_config") or {}
    say("filter", deepspeed.get("deepspeed_inclusion_filter") or deepspeed.get("deepspeed_exclusion_filter"))
    mpirun = settings.get("mpirun_config") or {}
    hostfile = hostfile or deepspeed.get("deepspeed_hostfile") or mpirun.get("mpirun_hostfile")
    if hostfile and os.path.isfile(hostfile):
        with open(hostfile, encoding="utf-8") as lines:
            hosts = [words[0] for words in map(str.split, lines) if words and not words[0].startswith("#")]
        say("hostfile", hostfile)
        say("hosts", " ".join(hosts))


def merged(theirs, ours):
    settings = dict(theirs)
    for name in ("num_machines", "num_processes", "machine_rank", "main_process_ip", "main_process_port", "gpu_ids",
                 "rdzv_backend", "same_network"):
        settings[name] = ours[name]
    deepspeed = dict(theirs.get("deepspeed_config") or ours["deepspeed_config"])
    for name in ("deepspeed_multinode_launcher", "deepspeed_hostfile"):
        deepspeed.pop(name, None)
        if name in ours["deepspeed_config"]:
            deepspeed[name] = ours["deepspeed_config"][name]
    deepspeed.pop("deepspeed_inclusion_filter", None)
    deepspeed.pop("deepspeed_exclusion_filter", None)
    settings["deepspeed_config"] = deepspeed
    settings.pop("mpirun_config", None)
    if kind(theirs) == "MULTI_CPU" or settings.get("use_cpu"):
        os.environ["ACCELERATE_USE_CPU"] = "true"
    if kind(theirs) in ("NO", "MULTI_CPU"):
        settings["distributed_type"] = "MULTI_GPU"
    return settings


def start(theirs, ours, file, *words):
    with open(file, "w", encoding="utf-8") as out:
        json.dump(merged(load(theirs), load(ours)), out, default=str, indent=1)
    sys.argv = ["accelerate", *words]
    runpy.run_module("accelerate.commands.launch", run_name="__main__", alter_sys=True)


if sys.argv[1] == "start":
    start(*sys.argv[2:])
else:
    try:
        ask(*sys.argv[2:])
    except Exception as error:
        say("error", getattr(error, "strerror", None) or error)
