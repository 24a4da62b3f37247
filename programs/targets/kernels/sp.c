/* Scalar pentadiagonal sweeps (as NAS SP): five systems along x, y and z of a small grid. A thread has a part of every row in the
 * sweeps along y and z, and rows are not multiples of a cache line: most lines that threads take from each other are falsely
 * shared.
 */
#include "kernels.h"

enum { N = 12, SYSTEMS = 5, BANDS = 5 };

static double exact[SYSTEMS][N][N][N], rhs[SYSTEMS][N][N][N];
static double lhs[BANDS][N][N][N];

/* Cell `at` of the line (a, b) along an axis; `b` is the direction of neighbouring bytes where there is a choice. */
#define ALONG(array, axis, a, b, at) \
    ((axis) == 0 ? &(array)[a][b][at] : (axis) == 1 ? &(array)[a][at][b] : &(array)[at][a][b])

static double band(int distance, int at)
{
    int from = at + distance;
    if (from < 0 || from >= N)
        return 0;
    return distance == 0 ? 3 + 0.01 * at : distance * distance == 1 ? -0.8 : 0.1;
}

static void fill(int axis)
{
#pragma omp parallel for schedule(static)
    for (int b = 0; b < N; b++)
        for (int a = 0; a < N; a++)
            for (int at = 0; at < N; at++)
                for (int k = 0; k < BANDS; k++)
                    *ALONG(lhs[k], axis, a, b, at) = band(k - 2, at);
}

static void multiply(int axis)
{
#pragma omp parallel for schedule(static)
    for (int a = 0; a < N; a++)
        for (int s = 0; s < SYSTEMS; s++)
            for (int b = 0; b < N; b++)
                for (int at = 0; at < N; at++) {
                    double sum = 0;
                    for (int k = at < 2 ? 2 - at : 0; k < BANDS && at + k - 2 < N; k++)
                        sum += band(k - 2, at) * *ALONG(exact[s], axis, a, b, at + k - 2);
                    *ALONG(rhs[s], axis, a, b, at) = sum;
                }
}

/* Subtracts a row, times what it takes to make band `k` of the other one zero. */
static void eliminate(int axis, int a, int b, int row, int from, int k)
{
    double factor = *ALONG(lhs[k], axis, a, b, row) / *ALONG(lhs[2], axis, a, b, from);
    *ALONG(lhs[k], axis, a, b, row) = 0;
    *ALONG(lhs[k + 1], axis, a, b, row) -= factor * *ALONG(lhs[3], axis, a, b, from);
    *ALONG(lhs[k + 2], axis, a, b, row) -= factor * *ALONG(lhs[4], axis, a, b, from);
    for (int s = 0; s < SYSTEMS; s++)
        *ALONG(rhs[s], axis, a, b, row) -= factor * *ALONG(rhs[s], axis, a, b, from);
}

static void solve(int axis)
{
#pragma omp parallel for schedule(static)
    for (int b = 0; b < N; b++)
        for (int a = 0; a < N; a++) {
            for (int at = 0; at < N - 1; at++) {
                eliminate(axis, a, b, at + 1, at, 1);
                if (at + 2 < N)
                    eliminate(axis, a, b, at + 2, at, 0);
            }
            for (int s = 0; s < SYSTEMS; s++)
                for (int at = N - 1; at >= 0; at--) {
                    double value = *ALONG(rhs[s], axis, a, b, at);
                    if (at + 1 < N)
                        value -= *ALONG(lhs[3], axis, a, b, at) * *ALONG(rhs[s], axis, a, b, at + 1);
                    if (at + 2 < N)
                        value -= *ALONG(lhs[4], axis, a, b, at) * *ALONG(rhs[s], axis, a, b, at + 2);
                    *ALONG(rhs[s], axis, a, b, at) = value / *ALONG(lhs[2], axis, a, b, at);
                }
        }
}

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 60);
    for (int i = 0; i < SYSTEMS * N * N * N; i++)
        (&exact[0][0][0][0])[i] = sin(0.3 * i);
    double error = 0;
    for (int round = 0; round < rounds; round++)
        for (int axis = 0; axis < 3; axis++) {
            fill(axis);
            multiply(axis);
            solve(axis);
            for (int i = 0; i < SYSTEMS * N * N * N; i++)
                error = fmax(error, fabs((&rhs[0][0][0][0])[i] - (&exact[0][0][0][0])[i]));
        }
    return verified("sp", error, 1e-9);
}
