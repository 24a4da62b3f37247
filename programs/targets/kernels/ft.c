/* 3-D Fourier transform (as NAS FT): along x and y each thread has planes of its own; along z it needs a part of all planes, and
 * stores the real part of a number before the imaginary one.
 */
#include "kernels.h"

enum { LOG = 5, N = 1 << LOG };

struct complex {
    double re, im;
};

static struct complex data[N][N][N], given[N][N][N], roots[N];

/* In place, of N numbers: decimation in time (Cooley and Tukey, 1965). `sign` 1: the inverse, not divided by N. */
static void transform(struct complex *line, int sign)
{
    for (int i = 0, j = 0; i < N; i++) {
        if (i < j) {
            struct complex other = line[i];
            line[i] = line[j];
            line[j] = other;
        }
        for (int bit = N / 2; bit > 0 && ((j ^= bit) & bit) == 0; bit /= 2)
            ;
    }
    for (int half = 1; half < N; half *= 2)
        for (int begin = 0; begin < N; begin += 2 * half)
            for (int k = 0; k < half; k++) {
                struct complex *low = &line[begin + k], *high = low + half, root = roots[k * (N / 2 / half)];
                double im = sign * root.im;
                struct complex product = {root.re * high->re - im * high->im, root.re * high->im + im * high->re};
                *high = (struct complex){low->re - product.re, low->im - product.im};
                *low = (struct complex){low->re + product.re, low->im + product.im};
            }
}

static void along_x(int sign)
{
#pragma omp parallel for schedule(static)
    for (int z = 0; z < N; z++)
        for (int y = 0; y < N; y++)
            transform(data[z][y], sign);
}

static void along_y(int sign)
{
#pragma omp parallel for schedule(static)
    for (int z = 0; z < N; z++)
        for (int x = 0; x < N; x++) {
            struct complex line[N];
            for (int y = 0; y < N; y++)
                line[y] = data[z][y][x];
            transform(line, sign);
            for (int y = 0; y < N; y++) {
                data[z][y][x].re = line[y].re;
                data[z][y][x].im = line[y].im;
            }
        }
}

static void along_z(int sign)
{
#pragma omp parallel for schedule(static)
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
            struct complex line[N];
            for (int z = 0; z < N; z++)
                line[z] = data[z][y][x];
            transform(line, sign);
            for (int z = 0; z < N; z++) {
                data[z][y][x].re = line[z].re;
                data[z][y][x].im = line[z].im;
            }
        }
}

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 4);
    for (int k = 0; k < N; k++)
        roots[k] = (struct complex){cos(2 * M_PI * k / N), sin(2 * M_PI * k / N)};
    unsigned long long state = 1;
    for (int i = 0; i < N * N * N; i++) {
        double re = next_random(&state);
        (&given[0][0][0])[i] = (&data[0][0][0])[i] = (struct complex){re, next_random(&state)};
    }
    for (int round = 0; round < rounds; round++) {
        along_x(-1), along_y(-1), along_z(-1);
        along_z(1), along_y(1), along_x(1);
#pragma omp parallel for schedule(static)
        for (int z = 0; z < N; z++)
            for (int i = 0; i < N * N; i++) {
                (&data[z][0][0])[i].re /= N * N * N;
                (&data[z][0][0])[i].im /= N * N * N;
            }
    }
    double error = 0;
    for (int i = 0; i < N * N * N; i++) {
        struct complex found = (&data[0][0][0])[i], wanted = (&given[0][0][0])[i];
        error = fmax(error, fabs(found.re - wanted.re) + fabs(found.im - wanted.im));
    }
    return verified("ft", error, 1e-10);
}
