// DynamoRIO's cache simulator, fed with accesses as `carom trace --print` writes them.
//
// drcachesim TEXT CORES L1-SIZE L1-WAYS LL-SIZE LL-WAYS: each thread has a core of its own, caches are kept coherent. Prints how
// many accesses were simulated in how many seconds, reading left out, and then the simulator's own report.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cache_simulator.h"
#include "memref.h"

using namespace dynamorio::drmemtrace;

static std::vector<memref_t> read(FILE *text) {
    std::vector<memref_t> accesses;
    char line[256], kind[16];
    unsigned long thread, width;
    uint64_t addr, pc;
    while (fgets(line, sizeof line, text)) {
        if (sscanf(line, "%lu %15s %lu @%" SCNx64 " %" SCNx64, &thread, kind, &width, &addr, &pc) != 5)
            continue; // A mark of synchronisation.
        memref_t access = {};
        access.data.pid = 1;
        access.data.tid = thread + 1;
        access.data.addr = addr;
        access.data.size = width;
        access.data.pc = pc;
        if (strcmp(kind, "store") != 0) {
            access.data.type = TRACE_TYPE_READ;
            accesses.push_back(access);
        }
        if (strcmp(kind, "load") != 0) {
            access.data.type = TRACE_TYPE_WRITE;
            accesses.push_back(access);
        }
    }
    return accesses;
}

int main(int argc, char **argv) {
    FILE *text = argc == 7 ? fopen(argv[1], "r") : nullptr;
    if (!text) {
        fprintf(stderr, "drcachesim TEXT CORES L1-SIZE L1-WAYS LL-SIZE LL-WAYS\n");
        return 2;
    }
    std::vector<memref_t> accesses = read(text);
    cache_simulator_knobs_t knobs;
    knobs.num_cores = atoi(argv[2]);
    knobs.L1D_size = atoll(argv[3]);
    knobs.L1D_assoc = atoi(argv[4]);
    knobs.LL_size = atoll(argv[5]);
    knobs.LL_assoc = atoi(argv[6]);
    knobs.model_coherence = true;
    knobs.data_prefetcher = "none";
    cache_simulator_t simulator(knobs, nullptr);
    simulator.initialize_stream(nullptr);
    auto begin = std::chrono::steady_clock::now();
    for (const memref_t &access : accesses)
        if (!simulator.process_memref(access)) {
            fprintf(stderr, "%s\n", simulator.get_error_string().c_str());
            return 1;
        }
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    printf("%zu accesses in %.6f s\n", accesses.size(), seconds.count());
    fflush(stdout);
    simulator.print_results();
    return 0;
}
