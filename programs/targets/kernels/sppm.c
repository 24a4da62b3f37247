/* A piecewise-parabolic stencil (as sPPM): five densities are carried along x, then along y, each cell as a parabola (Colella and
 * Woodward, Journal of Computational Physics 54, 1984, sections 1 and 2). Threads divide every row, wherever in a cache line that
 * is: of the lines that they take from each other about three in four are falsely shared.
 */
#include "kernels.h"

enum { N = 35, FIELDS = 5, BORDER = 3, WIDE = N + 2 * BORDER };

static double now[FIELDS][WIDE][WIDE], next[FIELDS][WIDE][WIDE];

/* The value at the border of two neighbours, between theirs. */
static double border(const double *low, long step)
{
    double value = (7 * (low[0] + low[step]) - low[-step] - low[2 * step]) / 12;
    return fmin(fmax(value, fmin(low[0], low[step])), fmax(low[0], low[step]));
}

/* What flows over the right border of a cell in one step, at this speed in cells: the mean of its parabola there. `at` is the
 * cell, `step` the distance of neighbours.
 */
static double flux(const double *at, long step, double speed)
{
    double left = border(at - step, step), middle = at[0], right = border(at, step);
    if ((right - middle) * (middle - left) <= 0)
        left = right = middle;
    else if ((right - left) * (middle - (left + right) / 2) > (right - left) * (right - left) / 6)
        left = 3 * middle - 2 * right;
    else if ((right - left) * (middle - (left + right) / 2) < -(right - left) * (right - left) / 6)
        right = 3 * middle - 2 * left;
    double curve = 6 * (middle - (left + right) / 2);
    return speed * (right - speed / 2 * (right - left - (1 - 2 * speed / 3) * curve));
}

/* Beyond a border are the cells of the other side: of every row before a sweep along x, or of every column. */
static void wrap_rows(void)
{
#pragma omp parallel for schedule(static)
    for (int j = BORDER; j < N + BORDER; j++)
        for (int field = 0; field < FIELDS; field++)
            for (int i = 0; i < BORDER; i++) {
                now[field][j][i] = now[field][j][N + i];
                now[field][j][N + BORDER + i] = now[field][j][BORDER + i];
            }
}

static void wrap_columns(void)
{
#pragma omp parallel for schedule(static)
    for (int i = BORDER; i < N + BORDER; i++)
        for (int field = 0; field < FIELDS; field++)
            for (int j = 0; j < BORDER; j++) {
                now[field][j][i] = now[field][N + j][i];
                now[field][N + BORDER + j][i] = now[field][BORDER + j][i];
            }
}

static void sweep(long step, double speed)
{
#pragma omp parallel for schedule(static)
    for (int i = BORDER; i < N + BORDER; i++)
        for (int field = 0; field < FIELDS; field++)
            for (int j = BORDER; j < N + BORDER; j++) {
                const double *at = &now[field][j][i];
                next[field][j][i] = *at + flux(at - step, step, speed) - flux(at, step, speed);
            }
#pragma omp parallel for schedule(static)
    for (int i = BORDER; i < N + BORDER; i++)
        for (int field = 0; field < FIELDS; field++)
            for (int j = BORDER; j < N + BORDER; j++)
                now[field][j][i] = next[field][j][i];
}

static double mass(int field)
{
    double sum = 0;
    for (int j = BORDER; j < N + BORDER; j++)
        for (int i = BORDER; i < N + BORDER; i++)
            sum += now[field][j][i];
    return sum;
}

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 20);
    double before[FIELDS];
    for (int field = 0; field < FIELDS; field++) {
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                now[field][BORDER + j][BORDER + i] = (i - 9) * (i - 9) + (j - 20) * (j - 20) < 36 ? field + 2 : 1;
        before[field] = mass(field);
    }
    for (int round = 0; round < rounds; round++) {
        wrap_rows();
        sweep(1, 0.3);
        wrap_columns();
        sweep(WIDE, 0.2);
    }
    /* Nothing is lost, and nothing is larger than before. */
    double error = 0;
    for (int field = 0; field < FIELDS; field++) {
        error = fmax(error, fabs(mass(field) - before[field]) / before[field]);
        for (int j = BORDER; j < N + BORDER; j++)
            for (int i = BORDER; i < N + BORDER; i++)
                error = fmax(error, now[field][j][i] - (field + 2));
    }
    return verified("sppm", error, 1e-9);
}
