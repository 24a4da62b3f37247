// Takes 64 MiB in steps of 1 MiB and 5 ms, then rests for 400 ms. Ends with status 3.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void rest(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

int main(void) {
  for (int i = 0; i < 64; i++) {
    char *step = malloc(1 << 20);
    if (!step) return 1;
    memset(step, i + 1, 1 << 20);
    rest(5);
  }
  rest(400);
  puts("done");
  return 3;
}
