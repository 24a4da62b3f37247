/* Where the first blocks of the heap lie in their pages: what was allocated and freed before changes that. */
#include "robust.h"

int main(void)
{
    static const size_t sizes[] = {16, 16, 16, 16, 40, 64, 100, 200, 500, 1000, 16, 24};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        printf("%zu: %lx\n", sizes[i], (unsigned long)malloc(sizes[i]) & 0xfff);
    return 0;
}
