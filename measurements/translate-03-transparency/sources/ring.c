/* Ranks pass growing messages round a ring and reduce a checksum. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 1 << 16, ROUNDS = 300 };

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned *out = malloc(LARGEST * sizeof *out), *in = malloc(LARGEST * sizeof *in);
    unsigned long long sum = 0, total = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int words = 1 << round % 17;
        for (int i = 0; i < words; i++)
            out[i] = (unsigned)(round * 2654435761u) ^ (unsigned)(i * (rank + 1));
        MPI_Sendrecv(out, words, MPI_UNSIGNED, (rank + 1) % ranks, 0, in, words, MPI_UNSIGNED,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < words; i++)
            sum += in[i];
    }
    MPI_Reduce(&sum, &total, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%llu\n", total);
    MPI_Finalize();
    return 0;
}
