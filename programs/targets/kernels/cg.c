/* Conjugate gradient (as NAS CG): a sparse symmetric matrix with entries at random. Every thread reads the search direction
 * wherever a row leads it, also what the other threads wrote in the last iteration.
 */
#include "kernels.h"

enum { N = 1400, PER_ROW = 8, MOST = N * (4 * PER_ROW + 1), STEPS = 25 };

static int first[N + 1], column[MOST];
static double entry[MOST], x[N], b[N], r[N], p[N], q[N];

/* Pairs of rows are drawn at random, and each pair's two entries are equal; the diagonal outweighs the rest of its row. */
static void make_matrix(void)
{
    static int partners[N][4 * PER_ROW], count[N];
    unsigned long long state = 1;
    for (int row = 0; row < N; row++)
        for (int k = 0; k < PER_ROW; k++) {
            int other = (int)(N * next_random(&state));
            if (other != row && count[row] < 4 * PER_ROW && count[other] < 4 * PER_ROW) {
                partners[row][count[row]++] = other;
                partners[other][count[other]++] = row;
            }
        }
    int at = 0;
    for (int row = 0; row < N; row++) {
        first[row] = at;
        column[at] = row;
        entry[at++] = count[row] + 0.5;
        for (int k = 0; k < count[row]; k++) {
            column[at] = partners[row][k];
            entry[at++] = -1;
        }
    }
    first[N] = at;
}

static void multiply(const double *from, double *to)
{
#pragma omp parallel for schedule(static)
    for (int row = 0; row < N; row++) {
        double sum = 0;
        for (int at = first[row]; at < first[row + 1]; at++)
            sum += entry[at] * from[column[at]];
        to[row] = sum;
    }
}

static double product(const double *one, const double *other)
{
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int row = 0; row < N; row++)
        sum += one[row] * other[row];
    return sum;
}

/* Solves for x from 0. */
static void solve(void)
{
#pragma omp parallel for schedule(static)
    for (int row = 0; row < N; row++) {
        x[row] = 0;
        r[row] = p[row] = b[row];
    }
    double rho = product(r, r);
    for (int step = 0; step < STEPS; step++) {
        multiply(p, q);
        double alpha = rho / product(p, q);
#pragma omp parallel for schedule(static)
        for (int row = 0; row < N; row++) {
            x[row] += alpha * p[row];
            r[row] -= alpha * q[row];
        }
        double before = rho;
        rho = product(r, r);
#pragma omp parallel for schedule(static)
        for (int row = 0; row < N; row++)
            p[row] = r[row] + rho / before * p[row];
    }
}

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 15);
    make_matrix();
    for (int row = 0; row < N; row++)
        b[row] = 1 + sin(row);
    for (int round = 0; round < rounds; round++)
        solve();
    multiply(x, q);
    double error = 0;
    for (int row = 0; row < N; row++)
        error = fmax(error, fabs(q[row] - b[row]));
    return verified("cg", error, 1e-6);
}
