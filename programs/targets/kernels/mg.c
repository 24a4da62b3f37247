/* Multigrid (as NAS MG): V-cycles for Poisson's equation on grids of 34 to 4 points in each direction. Threads have planes of
 * their own, and read the planes beside them; coarse grids have few planes for each.
 */
#include "kernels.h"

enum { LEVELS = 5, N = 34 };

static double u[LEVELS][N][N][N], f[LEVELS][N][N][N], r[LEVELS][N][N][N];

static int points(int level)
{
    return ((N - 2) >> level) + 2;
}

static double neighbours(double (*grid)[N][N], int z, int y, int x)
{
    return grid[z - 1][y][x] + grid[z + 1][y][x] + grid[z][y - 1][x] + grid[z][y + 1][x] + grid[z][y][x - 1] + grid[z][y][x + 1];
}

/* Red-black Gauss-Seidel. `h2`: the square of the distance of points. */
static void smooth(int level, double h2)
{
    int n = points(level);
    for (int colour = 0; colour < 2; colour++)
#pragma omp parallel for schedule(static)
        for (int z = 1; z < n - 1; z++)
            for (int y = 1; y < n - 1; y++)
                for (int x = 1 + (z + y + colour) % 2; x < n - 1; x += 2)
                    u[level][z][y][x] = (neighbours(u[level], z, y, x) + h2 * f[level][z][y][x]) / 6;
}

static void residual(int level, double h2)
{
    int n = points(level);
#pragma omp parallel for schedule(static)
    for (int z = 1; z < n - 1; z++)
        for (int y = 1; y < n - 1; y++)
            for (int x = 1; x < n - 1; x++)
                r[level][z][y][x] = f[level][z][y][x] + (neighbours(u[level], z, y, x) - 6 * u[level][z][y][x]) / h2;
}

/* Each coarse cell has eight fine ones. */
static void restrict_to(int level)
{
    int n = points(level);
#pragma omp parallel for schedule(static)
    for (int z = 1; z < n - 1; z++)
        for (int y = 1; y < n - 1; y++)
            for (int x = 1; x < n - 1; x++) {
                double sum = 0;
                for (int part = 0; part < 8; part++)
                    sum += r[level - 1][2 * z - 1 + part / 4][2 * y - 1 + part / 2 % 2][2 * x - 1 + part % 2];
                f[level][z][y][x] = sum / 8;
                u[level][z][y][x] = 0;
            }
}

static void prolong_from(int level)
{
    int n = points(level - 1);
#pragma omp parallel for schedule(static)
    for (int z = 1; z < n - 1; z++)
        for (int y = 1; y < n - 1; y++)
            for (int x = 1; x < n - 1; x++)
                u[level - 1][z][y][x] += u[level][(z + 1) / 2][(y + 1) / 2][(x + 1) / 2];
}

static void cycle(int level, double h2)
{
    int sweeps = level == LEVELS - 1 ? 20 : 3;
    for (int sweep = 0; sweep < sweeps; sweep++)
        smooth(level, h2);
    if (level == LEVELS - 1)
        return;
    residual(level, h2);
    restrict_to(level + 1);
    cycle(level + 1, 4 * h2);
    prolong_from(level + 1);
    for (int sweep = 0; sweep < sweeps; sweep++)
        smooth(level, h2);
}

static double largest_residual(double h2)
{
    residual(0, h2);
    double most = 0;
    for (int i = 0; i < N * N * N; i++)
        most = fmax(most, fabs((&r[0][0][0][0])[i]));
    return most;
}

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 8);
    double h2 = 1.0 / ((N - 2) * (N - 2));
    for (int z = 1; z < N - 1; z++)
        for (int y = 1; y < N - 1; y++)
            for (int x = 1; x < N - 1; x++)
                f[0][z][y][x] = sin(0.2 * z) * cos(0.3 * y) + (x == z);
    double begin = largest_residual(h2);
    for (int round = 0; round < rounds; round++)
        cycle(0, h2);
    /* Each cycle makes the residual smaller at least by half. */
    return verified("mg", largest_residual(h2) / begin, fmax(pow(0.5, rounds), 1e-12));
}
