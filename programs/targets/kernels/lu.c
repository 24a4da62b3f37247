/* A wavefront (as NAS LU): sweeps in which each cell needs its neighbours of the same sweep. All cells of a diagonal plane are
 * independent; threads divide each plane, and read what others wrote in the one before.
 */
#include "kernels.h"

enum { N = 34, M = 5 };

static double cells[N][N][N][M], alone[N][N][N][M];

/* Symmetric Gauss-Seidel for each of M coupled values. */
static void relax(double (*grid)[N][N][M], int z, int y, int x)
{
    for (int m = 0; m < M; m++) {
        double sum = grid[z - 1][y][x][m] + grid[z + 1][y][x][m] + grid[z][y - 1][x][m] + grid[z][y + 1][x][m] +
                     grid[z][y][x - 1][m] + grid[z][y][x + 1][m];
        grid[z][y][x][m] = (sum + 0.1 * grid[z][y][x][(m + 1) % M] + 0.01 * (m + 1)) / 6.2;
    }
}

static void plane(int sum)
{
#pragma omp parallel for schedule(static)
    for (int z = 1; z < N - 1; z++)
        for (int y = 1; y < N - 1; y++) {
            int x = sum - z - y;
            if (x >= 1 && x < N - 1)
                relax(cells, z, y, x);
        }
}

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 12);
    for (int round = 0; round < rounds; round++) {
        for (int sum = 3; sum <= 3 * (N - 2); sum++)
            plane(sum);
        for (int sum = 3 * (N - 2); sum >= 3; sum--)
            plane(sum);
    }
    /* The same in the order of a program without threads: its results are equal, bit by bit. */
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < N * N * N; i++) {
            int z = i / (N * N), y = i / N % N, x = i % N;
            if (z % (N - 1) && y % (N - 1) && x % (N - 1))
                relax(alone, z, y, x);
        }
        for (int i = N * N * N - 1; i >= 0; i--) {
            int z = i / (N * N), y = i / N % N, x = i % N;
            if (z % (N - 1) && y % (N - 1) && x % (N - 1))
                relax(alone, z, y, x);
        }
    }
    double error = 0;
    for (int i = 0; i < N * N * N * M; i++)
        error = fmax(error, fabs((&cells[0][0][0][0])[i] - (&alone[0][0][0][0])[i]));
    return verified("lu", error, 0);
}
