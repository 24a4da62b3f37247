/* Semicoarsening multigrid (as SMG2000): Poisson's equation on a small grid that is made coarser along z alone, with every column
 * along z solved at once. Threads divide the rows of a plane, which are shorter than two cache lines: of the lines that they take
 * from each other about three in four are falsely shared.
 */
#include "kernels.h"

enum { N = 10, LEVELS = 3, DEEP = 16 };

/* With a border of zeros. */
static double u[LEVELS][DEEP + 2][N + 2][N + 2], f[LEVELS][DEEP + 2][N + 2][N + 2], r[LEVELS][DEEP + 2][N + 2][N + 2];

static int depth(int level)
{
    return DEEP >> level;
}

static double beside(double (*grid)[N + 2][N + 2], int z, int y, int x)
{
    return grid[z][y - 1][x] + grid[z][y + 1][x] + grid[z][y][x - 1] + grid[z][y][x + 1];
}

/* Solves the columns of each colour (Thomas). `h2`: the square of the distance of points along z, where that along x and y is 1. */
static void smooth(int level, double h2)
{
    int n = depth(level);
    for (int colour = 0; colour < 2; colour++)
#pragma omp parallel for schedule(static)
        for (int x = 1; x <= N; x++)
            for (int y = 1 + (x + colour) % 2; y <= N; y += 2) {
                double ratio[DEEP + 2], right[DEEP + 2], diagonal = 4 + 2 / h2;
                ratio[0] = right[0] = 0;
                for (int z = 1; z <= n; z++) {
                    double pivot = diagonal - ratio[z - 1] / h2;
                    ratio[z] = 1 / h2 / pivot;
                    right[z] = (f[level][z][y][x] + beside(u[level], z, y, x) + right[z - 1] / h2) / pivot;
                }
                u[level][n][y][x] = right[n];
                for (int z = n - 1; z >= 1; z--)
                    u[level][z][y][x] = right[z] + ratio[z] * u[level][z + 1][y][x];
            }
}

static void residual(int level, double h2)
{
#pragma omp parallel for schedule(static)
    for (int x = 1; x <= N; x++)
        for (int y = 1; y <= N; y++)
            for (int z = 1; z <= depth(level); z++) {
                double along = u[level][z - 1][y][x] + u[level][z + 1][y][x] - 2 * u[level][z][y][x];
                r[level][z][y][x] =
                    f[level][z][y][x] + beside(u[level], z, y, x) - 4 * u[level][z][y][x] + along / h2;
            }
}

static void coarsen(int level)
{
#pragma omp parallel for schedule(static)
    for (int x = 1; x <= N; x++)
        for (int y = 1; y <= N; y++)
            for (int z = 1; z <= depth(level); z++) {
                f[level][z][y][x] = (r[level - 1][2 * z - 1][y][x] + r[level - 1][2 * z][y][x]) / 2;
                u[level][z][y][x] = 0;
            }
}

static void refine(int level)
{
#pragma omp parallel for schedule(static)
    for (int x = 1; x <= N; x++)
        for (int y = 1; y <= N; y++)
            for (int z = 1; z <= depth(level - 1); z++)
                u[level - 1][z][y][x] += u[level][(z + 1) / 2][y][x];
}

static void cycle(int level, double h2)
{
    smooth(level, h2);
    if (level < LEVELS - 1) {
        residual(level, h2);
        coarsen(level + 1);
        cycle(level + 1, 4 * h2);
        refine(level + 1);
    }
    smooth(level, h2);
}

static double largest_residual(double h2)
{
    residual(0, h2);
    double most = 0;
    for (int i = 0; i < (DEEP + 2) * (N + 2) * (N + 2); i++)
        most = fmax(most, fabs((&r[0][0][0][0])[i]));
    return most;
}

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 20);
    double h2 = 0.5;
    for (int z = 1; z <= DEEP; z++)
        for (int y = 1; y <= N; y++)
            for (int x = 1; x <= N; x++)
                f[0][z][y][x] = sin(0.2 * z) * cos(0.3 * y) + (x == z);
    double begin = largest_residual(h2);
    for (int round = 0; round < rounds; round++)
        cycle(0, h2);
    /* Each cycle makes the residual smaller at least by two fifths, until rounding is all that is left. */
    return verified("smg", largest_residual(h2) / begin, fmax(pow(0.6, rounds), 1e-12));
}
