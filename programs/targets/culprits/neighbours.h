#ifndef NEIGHBOURS_H
#define NEIGHBOURS_H

extern long received, sent;
void *send_all(void *unused);

#endif
