/* Block-tridiagonal sweeps (as NAS BT): systems of 5x5 blocks along x, y and z of a grid, one after the other. The matrices lie
 * in one array, of which each sweep gives each thread another part: most lines that it lacks are those that it writes to.
 */
#include "kernels.h"

enum { N = 12, B = 5 };

static double exact[N][N][N][B], rhs[N][N][N][B];
/* For each cell: the block before the diagonal, on it, and behind it. */
static double lhs[N][N][N][3][B][B];

/* Cell `at` of the line (a, b) along an axis. */
#define ALONG(array, axis, a, b, at) \
    ((axis) == 0 ? (array)[a][b][at] : (axis) == 1 ? (array)[a][at][b] : (array)[at][a][b])

static void fill(double (*cell)[B][B], int at)
{
    for (int m = 0; m < B; m++)
        for (int n = 0; n < B; n++) {
            cell[0][m][n] = at > 0 ? -0.1 / (1 + m + n) : 0;
            cell[1][m][n] = m == n ? 2.0 + 0.01 * at : 0.05 * (m - n);
            cell[2][m][n] = at < N - 1 ? -0.1 / (2 + m + n) : 0;
        }
}

/* rhs = what the matrices of this axis make of `exact`. */
static void multiply(int axis)
{
#pragma omp parallel for schedule(static)
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            for (int at = 0; at < N; at++) {
                double (*cell)[B][B] = ALONG(lhs, axis, a, b, at), *right = ALONG(rhs, axis, a, b, at);
                fill(cell, at);
                for (int m = 0; m < B; m++) {
                    double sum = 0;
                    for (int block = 0; block < 3; block++) {
                        int from = at + block - 1;
                        if (from < 0 || from >= N)
                            continue;
                        const double *value = ALONG(exact, axis, a, b, from);
                        for (int n = 0; n < B; n++)
                            sum += cell[block][m][n] * value[n];
                    }
                    right[m] = sum;
                }
            }
}

/* own = own - factor * other, for blocks; and the same for right-hand sides. */
static void subtract(double (*own)[B], double *own_right, double (*factor)[B], double (*other)[B], const double *other_right)
{
    for (int m = 0; m < B; m++)
        for (int k = 0; k < B; k++) {
            own_right[m] -= factor[m][k] * other_right[k];
            for (int n = 0; n < B; n++)
                own[m][n] -= factor[m][k] * other[k][n];
        }
}

/* Gauss-Jordan: makes `diagonal` the identity, and `behind` and `right` what belongs to that. */
static void divide(double (*diagonal)[B], double (*behind)[B], double *right)
{
    for (int p = 0; p < B; p++) {
        double pivot = 1 / diagonal[p][p];
        for (int n = p; n < B; n++)
            diagonal[p][n] *= pivot;
        for (int n = 0; n < B; n++)
            behind[p][n] *= pivot;
        right[p] *= pivot;
        for (int m = 0; m < B; m++) {
            if (m == p)
                continue;
            double factor = diagonal[m][p];
            for (int n = p; n < B; n++)
                diagonal[m][n] -= factor * diagonal[p][n];
            for (int n = 0; n < B; n++)
                behind[m][n] -= factor * behind[p][n];
            right[m] -= factor * right[p];
        }
    }
}

static void solve(int axis)
{
#pragma omp parallel for schedule(static)
    for (int b = 0; b < N; b++)
        for (int a = 0; a < N; a++) {
            for (int at = 0; at < N; at++) {
                double (*cell)[B][B] = ALONG(lhs, axis, a, b, at), *right = ALONG(rhs, axis, a, b, at);
                if (at > 0) {
                    double (*before)[B][B] = ALONG(lhs, axis, a, b, at - 1);
                    subtract(cell[1], right, cell[0], before[2], ALONG(rhs, axis, a, b, at - 1));
                }
                divide(cell[1], cell[2], right);
            }
            for (int at = N - 2; at >= 0; at--) {
                double (*cell)[B][B] = ALONG(lhs, axis, a, b, at);
                double *right = ALONG(rhs, axis, a, b, at), *next = ALONG(rhs, axis, a, b, at + 1);
                for (int m = 0; m < B; m++)
                    for (int n = 0; n < B; n++)
                        right[m] -= cell[2][m][n] * next[n];
            }
        }
}

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 20);
    for (int i = 0; i < N * N * N * B; i++)
        (&exact[0][0][0][0])[i] = sin(0.3 * i);
    double error = 0;
    for (int round = 0; round < rounds; round++)
        for (int axis = 0; axis < 3; axis++) {
            multiply(axis);
            solve(axis);
            for (int i = 0; i < N * N * N * B; i++)
                error = fmax(error, fabs((&rhs[0][0][0][0])[i] - (&exact[0][0][0][0])[i]));
        }
    return verified("bt", error, 1e-9);
}
