/* Marks the parts of a program that `carom trace --marked` records. Without carom, both calls do nothing.
 *
 *     #include <carom.h>
 *     carom_start();  ... what is to be recorded, in all threads ...  carom_stop();
 *
 * The program needs no library: the functions are found where carom has loaded its own into the process. A program that is
 * statically linked finds none.
 */
#ifndef CAROM_H
#define CAROM_H

#ifdef __cplusplus
extern "C" {
#endif

extern void carom_observe_start(void) __attribute__((weak));
extern void carom_observe_stop(void) __attribute__((weak));

static inline void carom_start(void)
{
    if (carom_observe_start)
        carom_observe_start();
}

static inline void carom_stop(void)
{
    if (carom_observe_stop)
        carom_observe_stop();
}

#ifdef __cplusplus
}
#endif

#endif
