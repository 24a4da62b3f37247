// Relaxation of a grid by threads that are started anew for each round; each adds up its residual in an element of a vector.
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

constexpr int N = 512, THREADS = 4, ROUNDS = 400;

int main() {
    std::vector<double> now(N * N, 1.0), then(N * N, 0.0);
    std::vector<double> residuals(THREADS);
    auto relax = [&](int part) {
        const int first = 1 + part * (N - 2) / THREADS, end = 1 + (part + 1) * (N - 2) / THREADS;
#ifdef FIX
        double residual = 0;
#else
        double &residual = residuals[part];
        residual = 0;
#endif
        for (int i = first; i < end; i++) {
            for (int j = 1; j < N - 1; j++) {
                const double *at = &now[i * N + j];
                const double value = 0.25 * (at[-N] + at[N] + at[-1] + at[1]);
                residual += std::fabs(value - *at);
                then[i * N + j] = value;
            }
        }
#ifdef FIX
        residuals[part] = residual;
#endif
    };
    for (int round = 0; round < ROUNDS; round++) {
        std::vector<std::thread> threads;
        for (int part = 0; part < THREADS; part++) threads.emplace_back(relax, part);
        for (auto &thread : threads) thread.join();
        now.swap(then);
    }
    std::printf("%g\n", residuals[0]);
}
