/* lost: computes for a while. From time to time it has the agent lead it out of translated code, if there is an agent
 * that can. */
#include "robust.h"
#include <dlfcn.h>

int main(void)
{
    void (*lose)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "carom_test_lose_thread");
    for (int round = 0; round < 20; round++) {
        if (lose)
            lose();
        burn(25);
    }
    puts("done");
    return 0;
}
