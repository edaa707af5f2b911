// The probe is linked against a new C library and must start with an old one, of whatever image it is put
// into: 2.17 is asked for at most, which `objdump -T` shows and tests/probe looks after. What came later is
// replaced here, by ld's --wrap, which turns calls of f() in every object, libstdc++'s too, into calls of
// __wrap_f():
// - functions that moved into libc.so.6 with 2.34 are asked for as they were before. libdl.so.2 and
// libpthread.so.0, where
//   an old C library has them, are named as needed by the link (CMakeLists.txt); new ones still bring these
//   files
// - __libc_start_main: 2.34's calls constructors itself, an older one leaves it to a function that the
// program gives it
// - _dl_find_object (2.35), by which libgcc finds how to unwind an exception: done with dl_iterate_phdr, as
// before
// - __libc_single_threaded (2.32), which libstdc++ asks: never
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <link.h>
#include <pthread.h>

#if defined(__x86_64__)
#define DOCKDIST_OLDEST "GLIBC_2.2.5"
#define DOCKDIST_DLINFO "GLIBC_2.3.3"
#elif defined(__aarch64__)
#define DOCKDIST_OLDEST "GLIBC_2.17"
#define DOCKDIST_DLINFO "GLIBC_2.17"
#else
#error "which version of these symbols is this machine's oldest? See the C library's libc.so.6.symbols"
#endif

#define DOCKDIST_OLD(name, version) __asm__(".symver old_" #name "," #name "@" version)

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

using Main = int (*)(int, char**, char**);
using Constructor = void (*)(int, char**, char**);

DOCKDIST_OLD(dlopen, DOCKDIST_OLDEST);
DOCKDIST_OLD(dlsym, DOCKDIST_OLDEST);
DOCKDIST_OLD(dlerror, DOCKDIST_OLDEST);
DOCKDIST_OLD(dlinfo, DOCKDIST_DLINFO);
DOCKDIST_OLD(pthread_create, DOCKDIST_OLDEST);
DOCKDIST_OLD(pthread_detach, DOCKDIST_OLDEST);
DOCKDIST_OLD(pthread_once, DOCKDIST_OLDEST);
DOCKDIST_OLD(__pthread_key_create, DOCKDIST_OLDEST);
DOCKDIST_OLD(__libc_start_main, DOCKDIST_OLDEST);

void* old_dlopen(const char* path, int flags);
void* old_dlsym(void* handle, const char* name);
char* old_dlerror();
int old_dlinfo(void* handle, int request, void* info);
int old_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                       void* argument);
int old_pthread_detach(pthread_t thread);
int old_pthread_once(pthread_once_t* once, void (*call)());
int old___pthread_key_create(pthread_key_t* key, void (*destroy)(void*));
int old___libc_start_main(Main main, int argc, char** argv, Constructor init, void (*fini)(),
                          void (*rtld_fini)(), void* stack);

void* __wrap_dlopen(const char* path, int flags) {
    return old_dlopen(path, flags);
}
void* __wrap_dlsym(void* handle, const char* name) {
    return old_dlsym(handle, name);
}
char* __wrap_dlerror() {
    return old_dlerror();
}
int __wrap_dlinfo(void* handle, int request, void* info) {
    return old_dlinfo(handle, request, info);
}
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                          void* argument) {
    return old_pthread_create(thread, attributes, start, argument);
}
int __wrap_pthread_detach(pthread_t thread) {
    return old_pthread_detach(thread);
}
int __wrap_pthread_once(pthread_once_t* once, void (*call)()) {
    return old_pthread_once(once, call);
}
int __wrap___pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) {
    return old___pthread_key_create(key, destroy);
}

extern __attribute__((visibility("hidden"))) Constructor __preinit_array_start[];
extern __attribute__((visibility("hidden"))) Constructor __preinit_array_end[];
extern __attribute__((visibility("hidden"))) Constructor __init_array_start[];
extern __attribute__((visibility("hidden"))) Constructor __init_array_end[];

static void construct(int argc, char** argv, char** environment) {
    for (auto* call = __preinit_array_start; call != __preinit_array_end; ++call) {
        (*call)(argc, argv, environment);
    }
    for (auto* call = __init_array_start; call != __init_array_end; ++call) {
        (*call)(argc, argv, environment);
    }
}

// A new C library calls `init` in place of the constructors where it is given one, as programs linked long
// ago do.
int __wrap___libc_start_main(Main main, int argc, char** argv, Constructor, void (*fini)(),
                             void (*rtld_fini)(), void* stack) {
    return old___libc_start_main(main, argc, argv, construct, fini, rtld_fini, stack);
}

char __libc_single_threaded = 0;

// struct dl_find_object of <dlfcn.h> 2.35, as on machines without DLFO_STRUCT_HAS_EH_DBASE.
struct FoundObject {
    unsigned long long flags;
    void* map_start;
    void* map_end;
    link_map* map;
    void* eh_frame;
    unsigned long long reserved[7];
};

struct Search {
    std::uintptr_t address;
    FoundObject* found;
};

static int look(dl_phdr_info* info, std::size_t, void* data) {
    const auto& search = *static_cast<Search*>(data);
    bool holds = false;
    void* eh_frame = nullptr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& part = info->dlpi_phdr[i];
        const auto start = info->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_GNU_EH_FRAME) {
            eh_frame = reinterpret_cast<void*>(start); // NOLINT(performance-no-int-to-ptr)
        } else if (part.p_type == PT_LOAD && search.address >= start &&
                   search.address < start + part.p_memsz) {
            holds = true;
            search.found->map_start = reinterpret_cast<void*>(start); // NOLINT(performance-no-int-to-ptr)
            search.found->map_end =
                reinterpret_cast<void*>(start + part.p_memsz); // NOLINT(performance-no-int-to-ptr)
        }
    }
    if (!holds || eh_frame == nullptr) {
        return 0;
    }
    search.found->eh_frame = eh_frame;
    return 1;
}

int __wrap__dl_find_object(void* address, FoundObject* found) {
    std::memset(found, 0, sizeof *found);
    Search search{.address = reinterpret_cast<std::uintptr_t>(address), .found = found};
    return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

} // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
