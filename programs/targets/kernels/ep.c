/* Gaussian deviates by pairs (as NAS EP), a control with almost no coherence traffic: nothing is shared but the sums at the end.
 */
#include "kernels.h"

enum { PAIRS = 1 << 18, RINGS = 10 };

int main(int argc, char **argv)
{
    int rounds = rounds_of(argc, argv, 8);
    long in_ring[RINGS] = {0}, pairs = 0;
    double sum = 0, squares = 0;
    for (int round = 0; round < rounds; round++) {
#pragma omp parallel reduction(+ : sum, squares, pairs)
        {
            long own[RINGS] = {0};
            unsigned long long state = 1 + round * 1000003ULL + omp_get_thread_num() * 7919ULL;
#pragma omp for schedule(static)
            for (int i = 0; i < PAIRS; i++) {
                /* The polar method (Marsaglia and Bray, 1964). */
                double x = 2 * next_random(&state) - 1, y = 2 * next_random(&state) - 1, t = x * x + y * y;
                if (t > 1 || t == 0)
                    continue;
                double factor = sqrt(-2 * log(t) / t);
                x *= factor, y *= factor;
                int ring = (int)fmax(fabs(x), fabs(y));
                own[ring < RINGS ? ring : RINGS - 1]++;
                sum += x + y, squares += x * x + y * y, pairs++;
            }
#pragma omp critical
            for (int ring = 0; ring < RINGS; ring++)
                in_ring[ring] += own[ring];
        }
    }
    long all = 0;
    for (int ring = 0; ring < RINGS; ring++)
        all += in_ring[ring];
    /* The mean is 0 and the variance 1; six standard errors are allowed. */
    double numbers = 2.0 * pairs, error = fabs(sum) / sqrt(numbers) + fabs(squares - numbers) / sqrt(2 * numbers);
    return verified("ep", error + labs(all - pairs), 6);
}
