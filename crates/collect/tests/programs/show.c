// Prints its arguments and its environment, one per line.
#include <stdio.h>

int main(int argc, char **argv, char **envp) {
    for (int i = 0; i < argc; i++) printf("arg %s\n", argv[i]);
    for (char **entry = envp; *entry; entry++) printf("env %s\n", *entry);
    fprintf(stderr, "shown\n");
    return 7;
}
