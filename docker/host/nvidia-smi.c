// A stand-in for nvidia-smi on machines without a GPU. What a simulated GPU is stands in the file /dev/nvidiaN, one
// `field=value` a line, with the field names of `nvidia-smi --help-query-gpu`; the lab's hook mounts those files, so a
// container sees the GPUs it was given, and whoever edits the file on the lab host changes what every container reads.
// Static, because it has to run in images that hold nothing. Messages and exit codes are the real tool's.
//
// Beside the fields a file may have these lines:
//   process=PID MEMORY NAME  a process that computes on it, anybody's on the machine; its MEMORY (MiB) is used
//   mig=UUID PROFILE         a MIG instance; for mig.mode.current=Enabled
//   topo.M=LINK              how it is linked with /dev/nvidiaM: NV18, PIX, PXB, PHB, NODE, SYS. One of the two files is
//                            enough; without it NODE within a numa_node, and SYS
//   fabric.state=Completed   its NVLink fabric, as `nvidia-smi -q` has it; also .status, .cliqueId and .clusterUuid
//   removed=yes              it has fallen off the bus, and the driver lists it no more
// With -lms the files are read anew for each round. Where there is no container, SIMULATED_GPUS in the environment is a
// folder in place of /dev, or PROGRAM.dev beside the program: whoever starts it may keep its environment to himself.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include <unistd.h>

enum { MAX_GPUS = 64, MAX_FIELDS = 64, MAX_VALUE = 256 };
enum { EXIT_INVALID_ARGUMENT = 2, EXIT_NOT_FOUND = 6, EXIT_NO_DRIVER = 9, EXIT_UNKNOWN = 255 };

struct field {
    const char *name;
    const char *alias;
    const char *unit;
};

static const struct field known_fields[] = {
    {"index", 0, 0},
    {"uuid", "gpu_uuid", 0},
    {"name", "gpu_name", 0},
    {"count", 0, 0},
    {"memory.used", 0, "MiB"},
    {"memory.total", 0, "MiB"},
    {"memory.free", 0, "MiB"},
    {"utilization.gpu", 0, "%"},
    {"utilization.memory", 0, "%"},
    {"temperature.gpu", 0, 0},
    {"power.draw", 0, "W"},
    {"power.limit", 0, "W"},
    {"clocks.sm", "clocks.current.sm", "MHz"},
    {"clocks.max.sm", "clocks.max.sm", "MHz"},
    {"clocks_event_reasons.active", 0, 0}, // of drivers from 535 on, which know the old name too
    {"clocks_throttle_reasons.active", 0, 0},
    {"clocks_event_reasons.gpu_idle", 0, 0}, // and the seven behind it: the bits of the mask, in their order
    {"clocks_event_reasons.applications_clocks_setting", 0, 0},
    {"clocks_event_reasons.sw_power_cap", 0, 0},
    {"clocks_event_reasons.hw_slowdown", 0, 0},
    {"clocks_event_reasons.sync_boost", 0, 0},
    {"clocks_event_reasons.sw_thermal_slowdown", 0, 0},
    {"clocks_event_reasons.hw_thermal_slowdown", 0, 0},
    {"clocks_event_reasons.hw_power_brake_slowdown", 0, 0},
    {"driver_version", 0, 0},
    {"compute_mode", 0, 0},
    {"compute_cap", 0, 0},
    {"persistence_mode", 0, 0},
    {"pstate", 0, 0},
    {"mig.mode.current", 0, 0},
    {"pci.bus_id", "gpu_bus_id", 0},
    {"ecc.mode.current", 0, 0},
    {"ecc.errors.corrected.volatile.total", 0, 0},
    {"ecc.errors.uncorrected.volatile.total", 0, 0},
    {"ecc.errors.uncorrected.aggregate.total", 0, 0},
    {0, 0, 0},
};

// Of --query-remapped-rows.
static const struct field remap_fields[] = {
    {"gpu_uuid", 0, 0},
    {"gpu_bus_id", 0, 0},
    {"gpu_name", 0, 0},
    {"remapped_rows.correctable", 0, 0},
    {"remapped_rows.uncorrectable", 0, 0},
    {"remapped_rows.pending", 0, 0},
    {"remapped_rows.failure", 0, 0},
    {0, 0, 0},
};

struct gpu {
    int minor;
    char text[16384];
};

static struct gpu gpus[MAX_GPUS];
static int gpu_count;
static const char *dev = "/dev";

static int by_minor(const void *a, const void *b) {
    return ((const struct gpu *)a)->minor - ((const struct gpu *)b)->minor;
}

static void find_gpus(void) { // all that are there now
    DIR *folder = opendir(dev);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) && gpu_count < MAX_GPUS) {
        char rest, path[1024];
        struct gpu *gpu = &gpus[gpu_count];
        if (sscanf(entry->d_name, "nvidia%d%c", &gpu->minor, &rest) != 1) continue;
        snprintf(path, sizeof path, "%.600s/%s", dev, entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        gpu->text[fread(gpu->text, 1, sizeof gpu->text - 1, file)] = 0;
        fclose(file);
        gpu_count += !strstr(gpu->text, "\nremoved=yes");
    }
    if (folder) closedir(folder);
    qsort(gpus, gpu_count, sizeof *gpus, by_minor);
}

// The lines of a GPU's file that begin with `start`, one after the other: what follows that, or 0.
static const char *next_line(int index, const char *start, const char *after) {
    size_t length = strlen(start);
    const char *line = after ? strchr(after, '\n') : gpus[index].text;
    for (; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, start, length)) return line + length;
    }
    return 0;
}

static const char *value_of(int index, const char *field);

static int used_memory(int index, int stored) {
    const char *line = 0;
    int memory;
    while ((line = next_line(index, "process=", line)))
        if (sscanf(line, "%*s %d", &memory) == 1) stored += memory;
    return stored;
}

static int has_mig(int index) { return !strcmp(value_of(index, "mig.mode.current"), "Enabled"); }

// What the driver does not tell of a GPU in MIG mode; in a container not even its memory, unless that may monitor all.
static const char *hidden_by_mig(int index, const char *field) {
    if (strncmp(field, "utilization.", 12) && strncmp(field, "memory.", 7) && strncmp(field, "ecc.errors.", 11)) return 0;
    if (!has_mig(index) || strstr(field, ".aggregate.")) return 0;
    if (strncmp(field, "memory.", 7)) return "[N/A]";
    return access("/run/lab", F_OK) ? "[Insufficient Permissions]" : 0; // only the host has that folder
}

// The answer stays valid for the next 15 calls.
static const char *value_of(int index, const char *field) {
    static char answers[16][MAX_VALUE];
    static int turn;
    char *answer = answers[turn = (turn + 1) % 16];
    snprintf(answer, MAX_VALUE, "[N/A]");
    const char *hidden = hidden_by_mig(index, field);
    if (hidden) return hidden;
    if (!strcmp(field, "index")) snprintf(answer, MAX_VALUE, "%d", index);
    if (!strcmp(field, "count")) snprintf(answer, MAX_VALUE, "%d", gpu_count);
    if (!strcmp(field, "memory.free"))
        snprintf(answer, MAX_VALUE, "%d", atoi(value_of(index, "memory.total")) - atoi(value_of(index, "memory.used")));
    const struct field *reason = known_fields;
    while (strcmp(reason->name, "clocks_event_reasons.gpu_idle")) ++reason;
    for (int bit = 0; bit < 8; ++bit)
        if (!strcmp(field, reason[bit].name)) {
            long mask = strtol(value_of(index, "clocks_event_reasons.active"), 0, 16);
            snprintf(answer, MAX_VALUE, mask >> bit & 1 ? "Active" : "Not Active");
            return answer;
        }
    char start[MAX_VALUE];
    snprintf(start, sizeof start, "%s=", field);
    const char *line = 0;
    while ((line = next_line(index, start, line))) snprintf(answer, MAX_VALUE, "%.*s", (int)strcspn(line, "\n"), line);
    if (!strcmp(field, "memory.used")) snprintf(answer, MAX_VALUE, "%d", used_memory(index, atoi(answer)));
    return answer;
}

static int selected(int index, const char *ids) {
    if (!ids) return 1;
    char list[1024];
    snprintf(list, sizeof list, "%s", ids);
    for (char *id = strtok(list, ","); id; id = strtok(0, ","))
        if (!strcmp(id, value_of(index, "index")) || !strcmp(id, value_of(index, "uuid")) ||
            !strcasecmp(id, value_of(index, "pci.bus_id")))
            return 1;
    return 0;
}

// The name of a field in a GPU's file, where a query has another one for it.
static const char *stored_name(const char *name) {
    if (!strcmp(name, "gpu_uuid")) return "uuid";
    if (!strcmp(name, "gpu_bus_id")) return "pci.bus_id";
    if (!strcmp(name, "clocks_throttle_reasons.active")) return "clocks_event_reasons.active";
    return !strcmp(name, "gpu_name") ? "name" : name;
}

static int query(const struct field *known, char *names, char *format, const char *ids) {
    const struct field *fields[MAX_FIELDS];
    int count = 0, csv = 0, header = 1, units = 1;
    for (char *word = strtok(format, ", "); word; word = strtok(0, ", ")) {
        if (!strcmp(word, "csv")) csv = 1;
        else if (!strcmp(word, "noheader")) header = 0;
        else if (!strcmp(word, "nounits")) units = 0;
        else {
            printf("\"%s\" is not a valid format option.\n\n", word);
            return EXIT_INVALID_ARGUMENT;
        }
    }
    if (!csv) {
        printf("\"--format=\" switch is missing \"csv\". Please run 'nvidia-smi -h' for help.\n\n");
        return EXIT_INVALID_ARGUMENT;
    }
    for (char *name = strtok(names, ", "); name && count < MAX_FIELDS; name = strtok(0, ", ")) {
        const struct field *found = 0;
        for (const struct field *one = known; one->name; ++one)
            if (!strcmp(name, one->name) || (one->alias && !strcmp(name, one->alias))) found = one;
        if (found && !strcmp(name, "clocks_event_reasons.active") && atoi(value_of(0, "driver_version")) < 535) found = 0;
        if (!found) {
            printf("Field \"%s\" is not a valid field to query.\n\n", name);
            return EXIT_INVALID_ARGUMENT;
        }
        fields[count++] = found;
    }
    for (int f = 0; header && f < count; ++f) {
        printf("%s%s", f ? ", " : "", fields[f]->name);
        if (fields[f]->unit) printf(" [%s]", fields[f]->unit); // nounits or not
    }
    if (header) printf("\n");
    for (int gpu = 0; gpu < gpu_count; ++gpu) {
        if (!selected(gpu, ids)) continue;
        for (int f = 0; f < count; ++f) {
            const char *value = value_of(gpu, stored_name(fields[f]->name));
            printf("%s%s", f ? ", " : "", value);
            if (fields[f]->unit && units && *value != '[') printf(" %s", fields[f]->unit);
        }
        printf("\n");
    }
    return 0;
}

static int query_processes(char *names, const char *format, const char *ids) {
    const char *fields[MAX_FIELDS];
    int count = 0;
    if (!strstr(format, "noheader")) printf("%s\n", names);
    for (char *name = strtok(names, ", "); name && count < MAX_FIELDS; name = strtok(0, ", ")) fields[count++] = name;
    for (int gpu = 0; gpu < gpu_count; ++gpu) {
        if (!selected(gpu, ids)) continue;
        const char *line = 0;
        while ((line = next_line(gpu, "process=", line))) {
            char pid[16], memory[16], name[200];
            if (sscanf(line, "%15s %15s %199[^\n]", pid, memory, name) != 3) continue;
            for (int f = 0; f < count; ++f)
                printf("%s%s", f ? ", " : "",
                       !strcmp(fields[f], "gpu_uuid")       ? value_of(gpu, "uuid")
                       : !strcmp(fields[f], "pid")          ? pid
                       : !strcmp(fields[f], "process_name") ? name
                                                            : memory);
            printf("\n");
        }
    }
    return 0;
}

// A container that was given some instances only has a file with their UUIDs, from the hook, or one for each, by CDI.
static int sees_instance(const char *uuid) {
    char line[MAX_VALUE];
    snprintf(line, sizeof line, "/dev/nvidia-caps/instances.d/%.200s", uuid);
    if (!access("/dev/nvidia-caps/instances.d", F_OK)) return !access(line, F_OK);
    FILE *file = fopen("/dev/nvidia-caps/instances", "r");
    if (!file) return 1;
    int found = 0;
    while (!found && fgets(line, sizeof line, file)) found = !strncmp(line, uuid, strlen(uuid)) && line[strlen(uuid)] == '\n';
    fclose(file);
    return found;
}

static int list(const char *ids) {
    for (int gpu = 0; gpu < gpu_count; ++gpu) {
        if (!selected(gpu, ids)) continue;
        printf("GPU %d: %s (UUID: %s)\n", gpu, value_of(gpu, "name"), value_of(gpu, "uuid"));
        const char *line = 0;
        int device = 0;
        while (has_mig(gpu) && (line = next_line(gpu, "mig=", line))) {
            char uuid[128], profile[32];
            if (sscanf(line, "%127s %31s", uuid, profile) == 2 && sees_instance(uuid))
                printf("  MIG %-11s Device %2d: (UUID: %s)\n", profile, device++, uuid);
        }
    }
    return 0;
}

static const char *link_between(int one, int other) {
    static char link[16];
    for (int turn = 0; turn < 2; ++turn) {
        char field[16];
        snprintf(field, sizeof field, "topo.%d", gpus[turn ? one : other].minor);
        snprintf(link, sizeof link, "%.15s", value_of(turn ? other : one, field));
        if (*link != '[') return link;
    }
    return strcmp(value_of(one, "numa_node"), value_of(other, "numa_node")) ? "SYS" : "NODE";
}

// With the header underlined, as drivers do whether anybody looks on or not.
static int topology_matrix(void) {
    printf("\x1b[4m\t");
    for (int gpu = 0; gpu < gpu_count; ++gpu) printf("GPU%d\t", gpu);
    printf("CPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n");
    for (int gpu = 0; gpu < gpu_count; ++gpu) {
        printf("GPU%d\t", gpu);
        for (int other = 0; other < gpu_count; ++other) printf("%s\t", gpu == other ? " X " : link_between(gpu, other));
        printf("%s\t%s\t\tN/A\n", value_of(gpu, "cpu_affinity"), value_of(gpu, "numa_node"));
    }
    printf("\nLegend:\n\n  X    = Self\n"
           "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n"
           "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node\n"
           "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
           "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)\n"
           "  PIX  = Connection traversing at most a single PCIe bridge\n"
           "  NV#  = Connection traversing a bonded set of # NVLinks\n");
    return 0;
}

// What `nvidia-smi -q` says of the fabric, and of little else.
static int full_log(const char *ids) {
    static const char *const names[][2] = {{"State", "fabric.state"},
                                           {"Status", "fabric.status"},
                                           {"CliqueId", "fabric.cliqueId"},
                                           {"ClusterUUID", "fabric.clusterUuid"}};
    printf("\n==============NVSMI LOG==============\n\nDriver Version                            : %s\nAttached GPUs"
           "                             : %d\n",
           value_of(0, "driver_version"), gpu_count);
    for (int gpu = 0; gpu < gpu_count; ++gpu) {
        if (!selected(gpu, ids)) continue;
        const char *action = value_of(gpu, "recovery_action");
        printf("GPU %s\n    Product Name                          : %s\n    GPU UUID                              : %s\n"
               "    GPU Recovery Action                   : %s\n    Fabric\n",
               value_of(gpu, "pci.bus_id"), value_of(gpu, "name"), value_of(gpu, "uuid"), *action == '[' ? "None" : action);
        for (int i = 0; i < 4; ++i) {
            const char *value = value_of(gpu, names[i][1]);
            printf("        %-34s: %s\n", names[i][0], *value == '[' ? "N/A" : value);
        }
        printf("    Processes                             : None\n");
    }
    return 0;
}

// The same as XML, and what else the table and the queries tell.
static int full_xml(const char *ids) {
    static const char *const of_gpu[][2] = {{"<product_name>%s</product_name>", "name"},
                                            {"<serial>%s</serial>", "serial"},
                                            {"<uuid>%s</uuid>", "uuid"},
                                            {"<pci><pci_bus_id>%s</pci_bus_id></pci>", "pci.bus_id"},
                                            {"<mig_mode><current_mig>%s</current_mig></mig_mode>", "mig.mode.current"},
                                            {"<fb_memory_usage><total>%s MiB</total></fb_memory_usage>", "memory.total"}};
    static const char *const of_fabric[][2] = {{"<state>%s</state>", "fabric.state"},
                                               {"<status>%s</status>", "fabric.status"},
                                               {"<cliqueId>%s</cliqueId>", "fabric.cliqueId"},
                                               {"<clusterUuid>%s</clusterUuid>", "fabric.clusterUuid"}};
    printf("<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n\t<driver_version>%s"
           "</driver_version>\n\t<cuda_version>%s</cuda_version>\n\t<attached_gpus>%d</attached_gpus>\n",
           value_of(0, "driver_version"), value_of(0, "cuda_version"), gpu_count);
    for (int gpu = 0; gpu < gpu_count; ++gpu) {
        if (!selected(gpu, ids)) continue;
        printf("\t<gpu id=\"%s\">\n", value_of(gpu, "pci.bus_id"));
        for (int i = 0; i < 6 + 4; ++i) {
            const char *const *line = i < 6 ? of_gpu[i] : of_fabric[i - 6];
            const char *value = value_of(gpu, line[1]);
            printf(i == 6 ? "\t\t<fabric>\n\t\t" : "\t\t");
            printf(line[0], *value == '[' ? "N/A" : value);
            printf("\n");
        }
        printf("\t\t</fabric>\n\t</gpu>\n");
    }
    printf("</nvidia_smi_log>\n");
    return 0;
}

static int help_of_query(void) {
    printf("List of valid properties to query for the switch \"--query-gpu=\":\n\n");
    for (const struct field *one = known_fields; one->name; ++one)
        printf(one->alias ? "\"%s\" or \"%s\"\nWhat it is.\n\n" : "\"%s\"\nWhat it is.\n\n", one->name, one->alias);
    return 0;
}

static int table(const char *ids) {
    const char *line = "+-----------------------------------------------------------------------------------------+\n";
    const char *columns = "+-----------------------------------------+------------------------+----------------------+\n";
    time_t now = time(0);
    char cell[96], busy[16];
    printf("%.24s       \n%s", ctime(&now), line);
    printf("| NVIDIA-SMI %-22.22s Driver Version: %-14.14s CUDA Version: %-8.8s |\n", value_of(0, "driver_version"),
           value_of(0, "driver_version"), value_of(0, "cuda_version"));
    printf("|-----------------------------------------+------------------------+----------------------+\n"
           "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
           "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
           "|                                         |                        |               MIG M. |\n"
           "|=========================================+========================+======================|\n");
    for (int gpu = 0; gpu < gpu_count; ++gpu) {
        if (!selected(gpu, ids)) continue;
        int persistent = !strcmp(value_of(gpu, "persistence_mode"), "Enabled");
        printf("| %3d  %-23.23s %10s |   %-16.16s Off | %20.20s |\n", gpu, value_of(gpu, "name"), persistent ? "On" : "Off",
               value_of(gpu, "pci.bus_id"), value_of(gpu, "ecc.errors.uncorrected.volatile.total"));
        snprintf(cell, sizeof cell, "%dMiB / %6dMiB", atoi(value_of(gpu, "memory.used")),
                 atoi(value_of(gpu, "memory.total")));
        snprintf(busy, sizeof busy, has_mig(gpu) ? "N/A " : "%d%%", atoi(value_of(gpu, "utilization.gpu")));
        printf("| N/A  %3dC    %-4.4s          %5dW / %4dW | %22.22s | %7s  %11.11s |\n",
               atoi(value_of(gpu, "temperature.gpu")), value_of(gpu, "pstate"), atoi(value_of(gpu, "power.draw")),
               atoi(value_of(gpu, "power.limit")), cell, busy, value_of(gpu, "compute_mode"));
        printf("|                                         |                        | %20.20s |\n%s",
               value_of(gpu, "mig.mode.current"), columns);
    }
    printf("\n%s| Processes:                                                                              |\n"
           "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
           "|        ID   ID                                                               Usage      |\n"
           "|=========================================================================================|\n"
           "|  No running processes found                                                             |\n%s",
           line, line);
    return 0;
}

int main(int argc, char **argv) {
    char *names = 0, *remaps = 0, *processes = 0, *format = 0;
    const char *ids = 0;
    long loop_ms = 0;
    static char beside[4096];
    ssize_t length = readlink("/proc/self/exe", beside, sizeof beside - 5);
    if (length > 0 && access(strcat(beside, ".dev"), F_OK) == 0) dev = beside;
    if (getenv("SIMULATED_GPUS")) dev = getenv("SIMULATED_GPUS");
    int only_list = 0, log = 0, xml = 0, help = 0, matrix = argc == 3 && !strcmp(argv[1], "topo") && (!strcmp(argv[2], "-m") || !strcmp(argv[2], "--matrix"));
    for (int i = matrix ? argc : 1; i < argc; ++i) {
        if (!strcmp(argv[i], "-L") || !strcmp(argv[i], "--list-gpus")) only_list = 1;
        else if (!strcmp(argv[i], "-q")) log = 1;
        else if (!strcmp(argv[i], "-x")) xml = 1;
        else if (log && !strcmp(argv[i], "-d") && i + 1 < argc) ++i; // which sections of it: of those that are here, all
        else if (!strcmp(argv[i], "nvlink") && i + 1 < argc) only_list = *argv[++i] == '-';
        else if (!strcmp(argv[i], "--help-query-gpu")) help = 1;
        else if (!strncmp(argv[i], "--query-gpu=", 12)) names = argv[i] + 12;
        else if (!strncmp(argv[i], "--query-remapped-rows=", 22)) remaps = argv[i] + 22;
        else if (!strncmp(argv[i], "--query-compute-apps=", 21)) processes = argv[i] + 21;
        else if (!strncmp(argv[i], "--format=", 9)) format = argv[i] + 9;
        else if (!strncmp(argv[i], "--id=", 5)) ids = argv[i] + 5;
        else if (!strcmp(argv[i], "-i") && i + 1 < argc) ids = argv[++i];
        else if (!strcmp(argv[i], "-lms") && i + 1 < argc) loop_ms = atol(argv[++i]);
        else {
            printf("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n");
            return EXIT_INVALID_ARGUMENT;
        }
    }
    if (help) return help_of_query();
    // What a container says after the host's `systemctl daemon-reload` took its GPUs away; a test makes this file.
    if (!access("/run/lab-gpus-vanished", F_OK)) {
        printf("Failed to initialize NVML: Unknown Error\n");
        return EXIT_UNKNOWN;
    }
    char control[1024];
    snprintf(control, sizeof control, "%.600s/nvidiactl", dev);
    if (access(control, F_OK)) {
        printf("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
               "NVIDIA driver is installed and running.\n\n");
        return EXIT_NO_DRIVER;
    }
    if ((names || remaps || processes) && !format) {
        printf("Missing required \"--format=\" switch. Please run 'nvidia-smi -h' for help.\n\n");
        return EXIT_INVALID_ARGUMENT;
    }
    find_gpus();
    int any = 0;
    for (int gpu = 0; gpu < gpu_count; ++gpu) any |= selected(gpu, ids);
    if (!any) {
        printf("No devices were found\n");
        return EXIT_NOT_FOUND;
    }
    if (matrix) return topology_matrix();
    if (processes) return query_processes(processes, format, ids);
    if (remaps) return query(remap_fields, remaps, format, ids);
    while (names && loop_ms > 0) {
        char round_names[4096], round_format[256]; // query() takes them apart
        snprintf(round_names, sizeof round_names, "%s", names);
        snprintf(round_format, sizeof round_format, "%s", format);
        int code = query(known_fields, round_names, round_format, ids);
        if (code) return code;
        if (fflush(stdout)) return EXIT_UNKNOWN;
        usleep(loop_ms * 1000);
        gpu_count = 0;
        find_gpus();
    }
    if (names) return query(known_fields, names, format, ids);
    if (log) return xml ? full_xml(ids) : full_log(ids);
    return only_list ? list(ids) : table(ids);
}
