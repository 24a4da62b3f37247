#ifndef NEIGHBOURS_H
#define NEIGHBOURS_H

#ifdef FIX
#define LINE _Alignas(64)
#else
#define LINE
#endif

extern LINE long received;
extern LINE long sent;
void *send_all(void *unused);

#endif
